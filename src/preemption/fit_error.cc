// SPDX-License-Identifier: Apache-2.0
// Implementation of fit_error.h.
#include "preemption/fit_error.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "preemption/dry_run_node.h"

namespace berth {
namespace {

constexpr absl::string_view kNotHelpful = "Preemption is not helpful for scheduling";

}  // namespace

void FitError::Add(const Status& status, int nodes) {
  if (nodes == 0) return;
  counted_ += nodes;
  for (const std::string& reason : status.reasons()) counts_[reason].nodes += nodes;
  if (status.IsError()) errors_.insert(status.message());
}

void FitError::AddWithoutVictims(NodeRow row) {
  ++without_victims_;
  if (without_victims_ <= kMostNamed) named_without_victims_.push_back(row);
}

void FitError::AddAllWithoutVictims(const NodeStatuses& statuses, int count) {
  without_victims_ = count;
  if (count > kMostNamed || !NamesNodesWithoutVictims()) return;
  named_without_victims_ = statuses.RowsWith(Code::kUnschedulable);
}

// The rules say the same of every node, or something else of each.
bool FitError::NamesNodesWithoutVictims() const {
  return nodes_.size() > 0 && rules_.NoVictimsReason(&nodes_.node(0), preemptor_) !=
                                  rules_.NoVictimsReason(nullptr, preemptor_);
}

Status FitError::ToStatus() && {
  if (without_victims_ > kMostNamed || !NamesNodesWithoutVictims()) {
    Add(NoVictims(rules_, nullptr, preemptor_), without_victims_);
  } else {
    for (const NodeRow row : named_without_victims_) {
      Add(NoVictims(rules_, &nodes_.node(row), preemptor_));
    }
  }
  if (!errors_.empty()) return Status::Error(ErrorText());
  const int all = nodes_.size();
  if (counted_ < all) counts_[std::string(kNotHelpful)].nodes += all - counted_;
  return Status::Unschedulable(FilterFailureMessage(all, counts_, ""));
}

// As Kubernetes prints a list of errors: each once, and in brackets if there are several.
std::string FitError::ErrorText() const {
  if (errors_.size() == 1) return *errors_.begin();
  return absl::StrCat("[", absl::StrJoin(errors_, ", "), "]");
}

}  // namespace berth
