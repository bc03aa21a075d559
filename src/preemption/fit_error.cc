// SPDX-License-Identifier: Apache-2.0
// Implementation of fit_error.h.
#include "preemption/fit_error.h"

#include <algorithm>
#include <utility>

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
  for (const std::string& reason : status.reasons()) counts_[reason] += nodes;
  if (status.IsError()) errors_.push_back(status.message());
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
  if (counted_ < all) counts_[std::string(kNotHelpful)] += all - counted_;
  std::vector<std::string> texts;
  for (const auto& [reason, count] : counts_) texts.push_back(absl::StrCat(count, " ", reason));
  std::sort(texts.begin(), texts.end());
  std::string text = absl::StrCat("0/", all, " nodes are available:");
  if (!texts.empty()) absl::StrAppend(&text, " ", absl::StrJoin(texts, ", "), ".");
  return Status::Unschedulable(std::move(text));
}

// As Kubernetes prints a list of errors: each once, and in brackets if there are several.
std::string FitError::ErrorText() {
  std::vector<std::string> different;
  for (std::string& error : errors_) {
    if (std::find(different.begin(), different.end(), error) == different.end()) {
      different.push_back(std::move(error));
    }
  }
  if (different.size() == 1) return different.front();
  std::sort(different.begin(), different.end());  // whichever node was looked at first
  return absl::StrCat("[", absl::StrJoin(different, ", "), "]");
}

}  // namespace berth
