// SPDX-License-Identifier: Apache-2.0
// Implementation of failure_messages.h.
#include "framework/failure_messages.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {
namespace {

std::string Available(int node_count) {
  return absl::StrCat("0/", node_count, " nodes are available:");
}

void AppendPostFilter(absl::string_view message, std::string& text) {
  if (!message.empty()) absl::StrAppend(&text, " ", message);
}

}  // namespace

std::string PreFilterFailureMessage(int node_count, absl::string_view pre_filter_message,
                                    absl::string_view post_filter_message) {
  std::string text = absl::StrCat(Available(node_count), " ", pre_filter_message, ".");
  AppendPostFilter(post_filter_message, text);
  return text;
}

std::string RefusalMessage(const Status& status) {
  ReasonCounts reasons;
  for (const std::string& reason : status.reasons()) ++reasons[reason].nodes;
  return FilterFailureMessage(1, reasons, "");
}

std::string FilterFailureMessage(int node_count, const ReasonCounts& reasons,
                                 absl::string_view post_filter_message) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons)
    parts.push_back(absl::StrCat(count.nodes, " ", reason));
  std::sort(parts.begin(), parts.end());
  std::string text = Available(node_count);
  if (!parts.empty()) absl::StrAppend(&text, " ", absl::StrJoin(parts, ", "), ".");
  AppendPostFilter(post_filter_message, text);
  return text;
}

std::string AmountText(absl::string_view resource, int64_t amount) {
  if (resource == kPodsResource) return absl::StrCat(amount);
  return QuantityOf(ResourceIdOf(resource), amount).ToString();
}

}  // namespace berth
