// Implementation of fit_error.h.
#include "preemption/fit_error.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {
namespace {

constexpr absl::string_view kNotHelpful = "Preemption is not helpful for scheduling";

}  // namespace

void Failures::Add(const Status& status, int nodes) {
  if (nodes == 0) return;
  nodes_ += nodes;
  for (const std::string& reason : status.reasons()) counts_[reason] += nodes;
  if (status.IsError()) errors_.push_back(status.message());
}

Status Failures::ToStatus(int all_nodes) && {
  if (!errors_.empty()) return Status::Error(ErrorText());
  if (nodes_ < all_nodes) counts_[std::string(kNotHelpful)] += all_nodes - nodes_;
  std::vector<std::string> texts;
  for (const auto& [reason, count] : counts_) texts.push_back(absl::StrCat(count, " ", reason));
  std::sort(texts.begin(), texts.end());
  std::string text = absl::StrCat("0/", all_nodes, " nodes are available:");
  if (!texts.empty()) absl::StrAppend(&text, " ", absl::StrJoin(texts, ", "), ".");
  return Status::Unschedulable(std::move(text));
}

// As Kubernetes prints a list of errors: each once, and in brackets if there are several.
std::string Failures::ErrorText() {
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
