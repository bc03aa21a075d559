// SPDX-License-Identifier: Apache-2.0
// Implementation of expected_pods.h.
#include "plugins/capacity_scheduling/expected_pods.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace berth {
namespace {

bool IsExact(const ResourceVector& sums) {
  bool is_exact = true;
  sums.ForEach(
      [&](ResourceId, int64_t sum) { is_exact &= sum < std::numeric_limits<int64_t>::max(); });
  return is_exact;
}

}  // namespace

void ExpectedPods::Refresh(const NodeTable& nodes, const Nominator& nominator) {
  const auto changes = nodes.ChangesSince(version_);
  const auto nominations = nominator.ChangesSince(nominations_version_);
  if (table_ != nodes.id() || !changes.has_value() || !nominations.has_value()) {
    RecountAll(nodes, nominator);
  } else {
    for (const RowChange& change : *changes) {
      const uint64_t generation = nodes.node(change.row).generation();
      if (rows_[change.row].generation != generation) Recount(nodes, nominator, change.row);
    }
    for (const Symbol name : *nominations) {
      const NodeRow row = nodes.FindRow(name);
      if (row >= 0) Recount(nodes, nominator, row);
    }
  }
  table_ = nodes.id();
  version_ = nodes.version();
  nominations_version_ = nominator.version();
}

void ExpectedPods::RecountAll(const NodeTable& nodes, const Nominator& nominator) {
  rows_.assign(nodes.size(), OnRow());
  for (NodeRow row = 0; row < nodes.size(); ++row) Recount(nodes, nominator, row);
  first_recount_ = recounts() + 1;
  recounted_.clear();
}

std::optional<absl::Span<const NodeRow>> ExpectedPods::RecountedSince(uint64_t recounts) const {
  if (recounts < first_recount_) return std::nullopt;
  return absl::MakeConstSpan(recounted_).subspan(recounts - first_recount_);
}

void ExpectedPods::Recount(const NodeTable& nodes, const Nominator& nominator, NodeRow at) {
  const NodeInfo& node = nodes.node(at);
  OnRow& row = rows_[at];
  if (recounted_.size() > rows_.size() + 1024) {  // to read them is no cheaper than all rows
    first_recount_ = recounts();
    recounted_.clear();
  }
  recounted_.push_back(at);
  row = OnRow();
  row.generation = node.generation();
  ResourceVector leaving;
  for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
    if (!pod->deletion_time().has_value()) continue;
    leaving.Add(pod->requests());
    ++row.leaving_pods;
  }
  for (const std::shared_ptr<const PodInfo>& pod : nominator.NominatedPods(node.name())) {
    row.more.Add(pod->requests());
    ++row.coming_pods;
    row.lowest_priority = std::min(row.lowest_priority, pod->priority());
  }
  row.is_exact = IsExact(leaving) && IsExact(row.more);
  row.more.Subtract(leaving);
}

}  // namespace berth
