// SPDX-License-Identifier: Apache-2.0
// DryRun (berth/preemption/preemption.h): a node as it would be without some of its pods.
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/columns/node_table.h"
#include "berth/preemption/preemption.h"
#include "preemption/dry_run_sums.h"

namespace berth {
namespace {

// An extension that fails, in whatever way, ends the run.
Status AsError(const Status& status) {
  return status.ok() ? Status::Success() : Status::Error(status.message());
}

}  // namespace

DryRun::DryRun(Handle& handle, const CycleState& state, const PodInfo& pod, const NodeInfo& node)
    : handle_(handle), original_state_(state), pod_(pod), original_node_(node) {}

DryRun::~DryRun() = default;

const NodeInfo& DryRun::node() const {
  if (sums_ != nullptr) return sums_->node();
  return node_.has_value() ? *node_ : original_node_;
}

// No plugin's state follows pods: that of a run by sums is as it was.
void DryRun::LeaveSums() {
  node_ = sums_->node();
  state_ = original_state_.Clone();
  sums_.reset();
}

Status DryRun::Filter() {
  if (sums_ != nullptr && sums_->HasRoom()) return sums_->others();
  original_state_.work_budget().Spend(kStepsOfFilter);
  return handle_.RunFilterPluginsWithNominatedPods(state(), pod_, node());
}

bool DryRun::Fits() {
  if (sums_ == nullptr) return Filter().ok();
  return sums_->HasRoom() && sums_->others().ok();
}

void DryRun::Copy() {
  if (node_.has_value()) return;
  node_ = original_node_;
  state_ = original_state_.Clone();
}

void DryRun::SetElsewhere(std::vector<VictimUnit> units) {
  elsewhere_ = std::move(units);
  other_node_of_.clear();
  for (const VictimUnit& unit : elsewhere_) {
    for (size_t i = 0; i < unit.pods.size(); ++i) {
      if (unit.nodes[i] == original_node_.name()) continue;
      other_node_of_.emplace(unit.pods[i]->uid(), unit.nodes[i]);
    }
  }
}

NodeInfo* DryRun::OtherNodeOf(const PodInfo& pod) {
  if (other_node_of_.empty()) return nullptr;
  const auto found = other_node_of_.find(pod.uid());
  if (found == other_node_of_.end()) return nullptr;
  const NodeTable& nodes = handle_.nodes();
  const NodeRow row = nodes.FindRow(found->second);
  if (row < 0) return nullptr;
  return &other_nodes_.try_emplace(found->second, nodes.node(row)).first->second;
}

Status DryRun::Remove(const PodInfo& victim) {
  if (sums_ != nullptr) {
    if (sums_->Remove(victim)) return Status::Success();
    LeaveSums();
  }
  original_state_.work_budget().Spend(kStepsOfMove);
  Copy();
  if (NodeInfo* const other = OtherNodeOf(victim); other != nullptr) {
    other->RemovePod(victim);
    return AsError(handle_.RunPreFilterExtensionRemovePod(*state_, pod_, victim, *other));
  }
  if (!node_->RemovePod(victim)) {
    return Status::Error(absl::StrCat("no corresponding pod ", victim.key(), " in pods of node ",
                                      node_->name().view()));
  }
  return AsError(handle_.RunPreFilterExtensionRemovePod(*state_, pod_, victim, *node_));
}

Status DryRun::Add(const std::shared_ptr<const PodInfo>& victim) {
  if (sums_ != nullptr) {
    if (sums_->Add(*victim)) return Status::Success();
    LeaveSums();
  }
  original_state_.work_budget().Spend(kStepsOfMove);
  Copy();
  if (NodeInfo* const other = OtherNodeOf(*victim); other != nullptr) {
    other->AddPod(victim);
    return AsError(handle_.RunPreFilterExtensionAddPod(*state_, pod_, *victim, *other));
  }
  node_->AddPod(victim);
  return AsError(handle_.RunPreFilterExtensionAddPod(*state_, pod_, *victim, *node_));
}

}  // namespace berth
