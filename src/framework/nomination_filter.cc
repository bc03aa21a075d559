// SPDX-License-Identifier: Apache-2.0
// Implementation of nomination_filter.h.
#include "framework/nomination_filter.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "framework/capacity_beside_nominated.h"
#include "framework/nominated_rows.h"
#include "simd/vector_clones.h"
#include "table/prefetch_nodes.h"

namespace berth {
namespace {

// Whether pods are nominated to each row: 1 or 0. Returns to how many.
BERTH_VECTOR_CLONES size_t FindNominations(absl::Span<const NodeRow> rows, bool consecutive,
                                           const NominatedRows& nominated, int32_t* are_nominated) {
  int32_t found = 0;
  const size_t size = rows.size();
  const NodeRow first = rows.front();
  for (size_t i = 0; i < size; ++i) {
    const NodeRow row = consecutive ? first + static_cast<NodeRow>(i) : rows[i];
    are_nominated[i] = nominated.contains(row) ? 1 : 0;
    found += are_nominated[i];
  }
  return static_cast<size_t>(found);
}

}  // namespace

// A node as if pods that are nominated to it ran there.
struct NominationFilter::NominatedNode {
  uint64_t generation;  // of the node without them
  PodList nominated;
  NodeInfo node;
};

NominationFilter::NominationFilter(const ProfilePlugins& plugins, const FilterRunner& filters,
                                   const VerdictDependencies& dependencies, const PodSigner& signer)
    : plugins_(plugins), filters_(filters), dependencies_(dependencies), signer_(signer) {}

NominationFilter::~NominationFilter() = default;

// The node with `nominated`. Kept until another node or other pods take its place, one by one: many
// cycles ask for the same.
const NodeInfo& NominationFilter::WithNominatedPods(const NodeInfo& node, PodList nominated) const {
  constexpr size_t kMostKept = 8192;
  if (nominated_nodes_.empty()) nominated_nodes_.resize(kMostKept);
  std::unique_ptr<NominatedNode>& kept = nominated_nodes_[node.name().id() % kMostKept];
  if (kept != nullptr && kept->generation == node.generation() && kept->nominated == nominated) {
    return kept->node;
  }
  kept.reset(new NominatedNode{node.generation(), std::move(nominated), node});
  for (const std::shared_ptr<const PodInfo>& pod : kept->nominated) kept->node.AddPod(pod);
  return kept->node;
}

// The filters with `nominated` on the node, after AddPod of the plugins whose state follows pods.
Status NominationFilter::RunFilterWith(const PodList& nominated, const CycleState& state,
                                       const PodInfo& pod, const NodeInfo& node) const {
  if (!filters_.HasPreFilterExtensions(state)) {
    return filters_.RunFilter(state, pod, WithNominatedPods(node, nominated));
  }
  CycleState with_nominated = state.Clone();
  if (nominated.size() == 1) {
    const NodeInfo& with_one = WithNominatedPods(node, nominated);
    Status status = filters_.RunPreFilterAddPod(with_nominated, pod, *nominated.front(), with_one);
    return status.ok() ? filters_.RunFilter(with_nominated, pod, with_one) : status;
  }
  NodeInfo so_far = node;
  for (const std::shared_ptr<const PodInfo>& added : nominated) {
    so_far.AddPod(added);
    Status status = filters_.RunPreFilterAddPod(with_nominated, pod, *added, so_far);
    if (!status.ok()) return status;
  }
  return filters_.RunFilter(with_nominated, pod, so_far);
}

// The pass with the nominated pods keeps their room free; the pass without them makes sure that the
// pod does not depend on pods that may never come.
template <class Counts>
Status NominationFilter::RunFilterBeside(const Counts& counts, const CycleState& state,
                                         const PodInfo& pod, const NodeInfo& node) const {
  PodList nominated;
  for (const auto& candidate : plugins_.handle.nominator().NominatedPods(node.name())) {
    if (counts(*candidate, pod)) nominated.push_back(candidate);
  }
  if (!nominated.empty()) {
    Status status = RunFilterWith(nominated, state, pod, node);
    if (!status.ok()) return status;
  }
  return filters_.RunFilter(state, pod, node);
}

Status NominationFilter::RunFilterWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                                    const NodeInfo& node) const {
  const auto counts = [](const PodInfo& nominated, const PodInfo& of) {
    return CountsFor(nominated, of);
  };
  return RunFilterBeside(counts, state, pod, node);
}

Status NominationFilter::RunFilterByNominationRules(const CycleState& state, const PodInfo& pod,
                                                    const NodeInfo& node) const {
  const auto counts = [this](const PodInfo& nominated, const PodInfo& of) {
    return CountsByRules(nominated, of);
  };
  return RunFilterBeside(counts, state, pod, node);
}

bool NominationFilter::CountsByRules(const PodInfo& nominated, const PodInfo& pod) const {
  if (nominated.uid() == pod.uid()) return false;
  for (const Hook<const NominationRules>& hook : plugins_.nomination_rules) {
    std::optional<bool> counts;  // as if it said nothing, where it throws
    plugins_.calls.GuardedVoid("NominationCountsFor", hook.name,
                               [&] { counts = hook.plugin->NominationCountsFor(nominated, pod); });
    if (counts.has_value()) return *counts;
  }
  return CountsFor(nominated, pod);
}

NominationFilter::RowsByNomination NominationFilter::SplitByNomination(
    const PodInfo& pod, const NodeTable& nodes, absl::Span<const NodeRow> rows) const {
  if (Nominated(nodes).rows().empty()) return {{}, rows};
  const NodeRow own_row = NominatedRow(plugins_.handle.nominator(), nodes, pod);
  const bool counts_on_own_row =
      own_row >= 0 && nominated_rows_.contains(own_row) &&
      absl::c_any_of(nominated_rows_.at(own_row).pods,
                     [&](const auto& nominated) { return CountsFor(*nominated, pod); });
  const absl::Span<const int32_t> highest_priority = nominated_rows_.highest_priority();
  const int32_t priority = pod.priority();
  if (rows_with_nominations_.size() < rows.size()) {
    rows_with_nominations_.resize(rows.size());
    rows_without_nominations_.resize(rows.size());
  }
  NodeRow* with = rows_with_nominations_.data();
  NodeRow* without = rows_without_nominations_.data();
  const bool all_count = own_row < 0 && *absl::c_min_element(highest_priority) >= priority;
  constexpr size_t kBlock = 64;
  int32_t counts[kBlock];
  for (size_t from = 0; from < rows.size(); from += kBlock) {
    const absl::Span<const NodeRow> block = rows.subspan(from, kBlock);
    size_t found = FindNominations(block, AreConsecutive(block), nominated_rows_, counts);
    for (size_t i = 0; !all_count && found > 0 && i < block.size(); ++i) {
      if (counts[i] == 0) continue;
      const bool counts_here = block[i] == own_row
                                   ? counts_on_own_row
                                   : highest_priority[nominated_rows_.slot(block[i])] >= priority;
      found -= counts_here ? 0 : 1;
      counts[i] = counts_here ? 1 : 0;
    }
    if (found == 0) {
      without = std::copy(block.begin(), block.end(), without);
    } else if (found == block.size()) {
      with = std::copy(block.begin(), block.end(), with);
    } else {
      for (size_t i = 0; i < block.size(); ++i) {  // no branch: it cannot be foretold
        *with = *without = block[i];
        with += counts[i];
        without += 1 - counts[i];
      }
    }
  }
  const size_t count = with - rows_with_nominations_.data();
  return {absl::MakeConstSpan(rows_with_nominations_).subspan(0, count),
          absl::MakeConstSpan(rows_without_nominations_).subspan(0, rows.size() - count)};
}

// A ResourceFilter before which only filters run that depend on the Node object alone.
struct NominationFilter::FirstResourceFilter {
  uint8_t index;       // in ProfilePlugins::filter
  PluginMask earlier;  // the filters before it
  CapacityBesideNominated capacity;
};

std::optional<NominationFilter::FirstResourceFilter> NominationFilter::FindFirstResourceFilter(
    const CycleState& state, const PodInfo& pod, const NodeTable& nodes) const {
  if (filters_.HasPreFilterExtensions(state)) return std::nullopt;
  const auto needed = dependencies_.FindNeededResources(state, pod);
  if (!needed.has_value() || needed->needed.requests.size() > CapacityBesideNominated::kMostNeeds) {
    return std::nullopt;
  }
  const uint8_t index = plugins_.FilterIndex(needed->plugin);
  PluginMask earlier = 0;
  for (size_t i = 0; i < index; ++i) {
    if (state.skips().filter & MaskOf(plugins_.filter[i])) continue;
    if ((signer_.DependenciesOfFilter(i) & ~Aspects{Aspect::kOfNodeObject}) != 0) {
      return std::nullopt;
    }
    earlier |= MaskOf(plugins_.filter[i]);
  }
  return FirstResourceFilter{index, earlier, CapacityBesideNominated(needed->needed, nodes)};
}

Status NominationFilter::FilterRowsWithNominations(const CycleState& state, const PodInfo& pod,
                                                   const NodeTable& nodes,
                                                   absl::Span<const NodeRow> rows,
                                                   NodeVerdicts& verdicts) const {
  const std::optional<FirstResourceFilter> first = FindFirstResourceFilter(state, pod, nodes);
  // With no plugin this only makes `rows` the candidates.
  Status status = filters_.RunFilterNodes(state, pod, nodes, rows, verdicts,
                                          first.has_value() ? first->earlier : 0);
  if (!status.ok()) return status;
  return FilterOneOfEachShortage(state, pod, nodes, first, verdicts);
}

// By row: what it is short of beside the nominated pods that count for `pod`; all 0 without
// `first`.
std::vector<uint32_t> NominationFilter::ShortagesOf(const PodInfo& pod, const NodeTable& nodes,
                                                    const std::optional<FirstResourceFilter>& first,
                                                    absl::Span<const NodeRow> rows) const {
  std::vector<uint32_t> shortages(rows.size());
  if (!first.has_value() || rows.empty()) return shortages;
  const auto beside_those_that_count = [&](NodeRow row) {
    const NominatedPodsOfRow& on_row = nominated_rows_.at(row);
    size_t pods = 0;
    ResourceVector requests;
    for (const auto& nominated : on_row.pods) {
      if (!CountsFor(*nominated, pod)) continue;
      ++pods;
      requests.Add(nominated->requests());
    }
    on_row.requests.ForEach([&](ResourceId id, int64_t sum) {  // as its message counts all of them
      if (sum < 0) requests.Set(id, sum);
    });
    return first->capacity.ShortageFor(row, pods, requests);
  };
  first->capacity.ShortagesOf(rows, nominated_rows_, absl::MakeSpan(shortages));
  const absl::Span<const int32_t> lowest_priority = nominated_rows_.lowest_priority();
  const NodeRow own_row = NominatedRow(plugins_.handle.nominator(), nodes, pod);
  if (own_row < 0 && *absl::c_min_element(lowest_priority) >= pod.priority()) return shortages;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool all_count =
        rows[i] != own_row && lowest_priority[nominated_rows_.slot(rows[i])] >= pod.priority();
    if (!all_count) shortages[i] = beside_those_that_count(rows[i]);
  }
  return shortages;
}

// Filters the candidates of `verdicts` one by one. For those that have the same shortage beside
// their nominated pods one is filtered for all.
Status NominationFilter::FilterOneOfEachShortage(const CycleState& state, const PodInfo& pod,
                                                 const NodeTable& nodes,
                                                 const std::optional<FirstResourceFilter>& first,
                                                 NodeVerdicts& verdicts) const {
  // By other plugins than `first`, whose rejections are set at once.
  std::vector<std::vector<std::pair<NodeRow, Status>>> by_others(plugins_.filter.size());
  absl::flat_hash_map<uint32_t, uint8_t> reason_of;  // by shortage
  uint32_t last_shortage = 0;
  std::optional<uint8_t> reason_of_last;
  const absl::Span<const NodeRow> left = verdicts.candidates();
  const std::vector<uint32_t> shortages = ShortagesOf(pod, nodes, first, left);
  for (size_t i = 0; i < left.size(); ++i) {
    const NodeRow row = left[i];
    const uint32_t shortage = shortages[i];
    if (shortage != last_shortage) {  // mostly it is as with the row before
      const auto known = reason_of.find(shortage);
      reason_of_last = known == reason_of.end() ? std::nullopt : std::optional(known->second);
      last_shortage = shortage;
    }
    if (reason_of_last.has_value()) {
      verdicts.Set(row, Code::kUnschedulable, *reason_of_last);
      continue;
    }
    Status status = RunFilterWithNominatedPods(state, pod, nodes.node(row));
    if (status.IsError()) return status;
    if (status.ok()) continue;
    const uint8_t rejector = plugins_.FilterIndex(status.plugin_symbol());
    if (!first.has_value() || rejector != first->index) {
      by_others[rejector].emplace_back(row, std::move(status));
      continue;
    }
    verdicts.Set(row, status);
    if (shortage == 0 || status.code() != Code::kUnschedulable) continue;
    reason_of_last = verdicts.reason_id(row);
    reason_of.emplace(shortage, *reason_of_last);
  }
  if (first.has_value()) verdicts.EndPlugin(first->index);
  for (size_t plugin = 0; plugin < by_others.size(); ++plugin) {
    if (by_others[plugin].empty()) continue;
    for (const auto& [row, status] : by_others[plugin]) verdicts.Set(row, status);
    verdicts.EndPlugin(static_cast<uint8_t>(plugin));
  }
  return Status::Success();
}

Status NominationFilter::RunFilterNodesWithNominatedPods(const CycleState& state,
                                                         const PodInfo& pod, const NodeTable& nodes,
                                                         absl::Span<const NodeRow> rows,
                                                         NodeVerdicts& verdicts,
                                                         PluginMask only) const {
  const RowsByNomination parted = SplitByNomination(pod, nodes, rows);
  if (!parted.with_nominations.empty()) {
    Status status = FilterRowsWithNominations(state, pod, nodes, parted.with_nominations, verdicts);
    if (!status.ok()) return status;
  }
  return filters_.RunFilterNodes(state, pod, nodes, parted.others, verdicts, only);
}

}  // namespace berth
