// SPDX-License-Identifier: Apache-2.0
// DryRun (berth/preemption/preemption.h): a node as it would be without some of its pods.
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/preemption/preemption.h"

namespace berth {
namespace {

// An extension that fails, in whatever way, ends the run.
Status AsError(const Status& status) {
  return status.ok() ? Status::Success() : Status::Error(status.message());
}

}  // namespace

void DryRun::Copy() {
  if (node_.has_value()) return;
  node_ = original_node_;
  state_ = original_state_.Clone();
}

Status DryRun::Remove(const PodInfo& victim) {
  original_state_.work_budget().Spend(kStepsOfMove);
  Copy();
  if (!node_->RemovePod(victim)) {
    return Status::Error(absl::StrCat("no corresponding pod ", victim.key(), " in pods of node ",
                                      node_->name().view()));
  }
  return AsError(handle_.RunPreFilterExtensionRemovePod(*state_, pod_, victim, *node_));
}

Status DryRun::Add(const std::shared_ptr<const PodInfo>& victim) {
  original_state_.work_budget().Spend(kStepsOfMove);
  Copy();
  node_->AddPod(victim);
  return AsError(handle_.RunPreFilterExtensionAddPod(*state_, pod_, *victim, *node_));
}

}  // namespace berth
