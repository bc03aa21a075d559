// Implementation of diagnosis.h.
#include "engine/diagnosis.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {

Status CycleStatuses::status(NodeRow row) const {
  if (verdicts_.rejector(row) == NodeVerdicts::kNotJudged) return left_out_;
  if (verdicts_.rejector(row) == NodeVerdicts::kNobody) return Status::Success();
  return framework_.RunFilterWithNominatedPods(state_, pod_, nodes_.node(row));
}

std::vector<NodeRow> CycleStatuses::RowsWith(Code code) const {
  return berth::RowsWith(verdicts_, code);
}

std::vector<NodeRow> RowsWith(const NodeVerdicts& verdicts, Code code) {
  std::vector<NodeRow> rows(verdicts.rows());
  size_t count = 0;
  for (NodeRow row = 0; row < verdicts.rows(); ++row) {
    rows[count] = row;
    count += verdicts.code(row) == code;
  }
  rows.resize(count);
  return rows;
}

std::vector<NodeRow> UniformStatuses::RowsWith(Code code) const {
  std::vector<NodeRow> rows;
  if (code != status_.code()) return rows;
  rows.resize(rows_);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

ReasonCounts CountReasons(const NodeStatuses& statuses, int rows) {
  ReasonCounts counts;
  for (NodeRow row = 0; row < rows; ++row) {
    const Status status = statuses.status(row);
    for (const std::string& reason : status.reasons()) {
      ReasonCount& count = counts[reason];
      if (++count.nodes == 1) count.plugin = status.plugin_symbol();
      count.resolvable |= status.code() == Code::kUnschedulable;
    }
  }
  return counts;
}

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

}  // namespace berth
