// SPDX-License-Identifier: Apache-2.0
// Implementation of group_shortage.h: what a cycle would say, without one.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/api/amounts.h"
#include "berth/api/resources.h"
#include "engine/filtered_nodes.h"
#include "engine/group_shortage.h"
#include "search/room.h"

namespace berth {
namespace {

// What is left on the nodes once all members that have room are there.
class FilledNodes {
 public:
  FilledNodes(const GroupShortage& shortage, const NodeTable& nodes)
      : shortage_(shortage), nodes_(nodes) {
    RoomByRow(shortage.needed, nodes, room_);
    for (const auto& [resource, amount] : shortage.needed.requests) {
      if (columns_.size() == 62) break;  // a bit each
      columns_.push_back(
          {resource, amount, nodes.allocatable(resource), nodes.requested(resource)});
    }
  }

  int64_t room(NodeRow row) const {
    constexpr double kMost = 1e15;
    return static_cast<int64_t>(std::min(room_[row], kMost));
  }
  // Adds why the node rejects the next one. False if it does not.
  bool AddReasons(const Framework& framework, const CycleState& state, NodeRow row,
                  ReasonCounts& reasons) {
    const int64_t room = this->room(row);
    uint64_t lacks = nodes_.pod_count()[row] + room >= nodes_.allowed_pods()[row] ? 1 : 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      const int64_t free = column.has[row] - column.used[row];
      const int64_t left = free - room * column.amount;
      if (left >= column.amount) continue;
      if (room > 0) column.all_free = SaturatingAdd(column.all_free, free);
      lacks |= uint64_t{2} << i;
      column.most_left = std::max(column.most_left, left);
    }
    bool is_new = false;
    if (last_ == nullptr || lacks != last_lacks_) {  // most nodes lack what the one before lacks
      const auto found = kind_of_.try_emplace(lacks);
      is_new = found.second;
      last_ = &found.first->second;
      last_lacks_ = lacks;
    }
    Kind& kind = *last_;
    if (is_new) {
      kind.status = Ask(framework, state, row, room);
      for (const std::string& reason : kind.status.reasons()) {
        ReasonCount& count = reasons[reason];
        if (count.nodes == 0) count.plugin = kind.status.plugin_symbol();
        count.resolvable |= kind.status.code() == Code::kUnschedulable;
        kind.counts.push_back(&count);
      }
    }
    if (kind.status.ok()) return false;
    for (ReasonCount* const count : kind.counts) ++count->nodes;
    return true;
  }
  // Adds what is free of the resource on the nodes so far that are short of it then: before they
  // are filled, and the most that is left on one.
  void AddFree(ResourceId resource, WaitingFor& told) const {
    for (const Column& column : columns_) {
      if (column.resource != resource) continue;
      told.most_free = std::max(told.most_free, column.most_left);
      told.all_free = SaturatingAdd(told.all_free, column.all_free);
    }
  }

 private:
  static constexpr int64_t kMostCopies = 4096;

  struct Column {
    ResourceId resource;
    int64_t amount;
    absl::Span<const int64_t> has, used;
    int64_t most_left = 0, all_free = 0;
  };
  // Nodes that lack the same.
  struct Kind {
    Status status;
    std::vector<ReasonCount*> counts;
  };

  Status Ask(const Framework& framework, const CycleState& state, NodeRow row, int64_t room) const {
    if (room > kMostCopies) return Status::Success();
    NodeInfo filled = nodes_.node(row);
    for (int64_t i = 0; i < room; ++i) filled.AddPod(shortage_.pod);
    return framework.filters().RunFilter(state, *shortage_.pod, filled);
  }

  const GroupShortage& shortage_;
  const NodeTable& nodes_;
  std::vector<double> room_;
  std::vector<Column> columns_;
  absl::flat_hash_map<uint64_t, Kind> kind_of_;  // by what is lacking
  Kind* last_ = nullptr;                         // of kind_of_
  uint64_t last_lacks_ = 0;
};

}  // namespace

std::optional<PodFailure> ExplainShortage(const AttemptRequest& request,
                                          const GroupShortage& shortage,
                                          const ClusterState& cluster) {
  const Framework& framework = *request.framework;
  const PodInfo& pod = *shortage.pod;
  const NodeTable& nodes = cluster.nodes();
  FilteredNodes filtered(framework, pod, nodes, request.placement);
  if (!filtered.status.ok()) return std::nullopt;
  const CycleState& state = filtered.state;
  PreFilterOutcome& pre_filter = filtered.pre_filter;
  NodeVerdicts& verdicts = filtered.verdicts;
  ReasonCounts reasons = CountReasons(
      VerdictStatuses(framework, state, pod, nodes, verdicts, pre_filter.excluded), nodes.size());
  FilledNodes filled(shortage, nodes);
  int64_t fitting = 0;
  const uint8_t rejector = framework.plugins().FilterIndex(shortage.plugin);
  for (const NodeRow row : filtered.feasible()) {
    fitting += filled.room(row);
    if (!filled.AddReasons(framework, state, row, reasons)) return std::nullopt;
    verdicts.Reject(row, Code::kUnschedulable, rejector);
  }
  // Where other filters reject nodes that have room, or siblings would be in each other's way, it
  // is less: only cycles tell.
  if (fitting != shortage.room) return std::nullopt;

  PodFailure failure{shortage.pod, Status::Unschedulable("")};
  failure.rejecting_plugins = std::move(pre_filter.narrowing_plugins);
  for (size_t i = 0; i < framework.plugins().filter.size(); ++i) {
    const Symbol name = framework.plugins().filter[i].name;
    if (!HasRejector(verdicts, static_cast<uint8_t>(i))) continue;
    if (std::find(failure.rejecting_plugins.begin(), failure.rejecting_plugins.end(), name) ==
        failure.rejecting_plugins.end()) {
      failure.rejecting_plugins.push_back(name);
    }
  }
  if (!failure.rejecting_plugins.empty()) {
    failure.status.SetPlugin(failure.rejecting_plugins.front());
  }
  failure.message = FilterFailureMessage(nodes.size(), reasons, "");
  VerdictDiagnosis diagnosis(framework, state, pod, nodes, verdicts, pre_filter.excluded);
  const WaitingPtr waiting = WhyNoNodeFits(
      framework, pod, nodes, {diagnosis, reasons, failure.status.plugin_symbol(), {}});
  auto told = std::make_shared<WaitingFor>(*waiting);
  if (told->reason == WaitingReason::kInsufficientResources && !told->resource.empty() &&
      told->resource != kPodsResource) {
    filled.AddFree(ResourceIdOf(told->resource), *told);
  }
  failure.waiting = std::move(told);
  return failure;
}

}  // namespace berth
