// SPDX-License-Identifier: Apache-2.0
// The rule of NodeResourcesAllocatable in both forms, and its arguments.
#include "plugins/node_resources/node_resources_allocatable.h"

#include <algorithm>
#include <limits>

#include "absl/container/btree_map.h"
#include "absl/strings/str_format.h"
#include "berth/api/amounts.h"
#include "berth/columns/node_table.h"

namespace berth {
namespace {

void CheckResources(const NodeResourcesAllocatableArgs& args, FieldProblems& problems) {
  for (size_t i = 0; i < args.resources.size(); ++i) {
    const ResourceSpec& resource = args.resources[i];
    if (resource.weight > 0) continue;
    problems.Invalid(absl::StrFormat("resources[%d].weight", i),
                     static_cast<double>(resource.weight),
                     absl::StrFormat("resource weight of %s should be a positive value, got :%d",
                                     resource.name, resource.weight));
  }
}

}  // namespace

const FieldTable& NodeResourcesAllocatableArgs::Fields() {
  using Args = NodeResourcesAllocatableArgs;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<Args>("NodeResourcesAllocatableArgs", "Arguments of NodeResourcesAllocatable.")
          .Field("mode", &Args::mode, "Least prefers small nodes, Most large ones.",
                 OneOf({"Least", "Most"}))
          .Field("resources", &Args::resources,
                 "The resources that count. The unit is a thousandth of a CPU, a byte of memory; "
                 "the default makes a milli-CPU worth a MiB. Empty: the default.")
          .Complete([](Args& args) {
            if (args.resources.empty()) args.resources = Args().resources;
          })
          .Check(CheckResources));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> NodeResourcesAllocatable::Create(const PluginArgs& args,
                                                                         Handle&) {
  return std::make_unique<NodeResourcesAllocatable>(args.As<NodeResourcesAllocatableArgs>());
}

NodeResourcesAllocatable::NodeResourcesAllocatable(const NodeResourcesAllocatableArgs& args) {
  absl::btree_map<ResourceId, int64_t> weights;  // the last of two entries for a resource counts
  for (const ResourceSpec& spec : args.resources) weights[ResourceIdOf(spec.name)] = spec.weight;
  for (const auto& [id, weight] : weights) {
    weight_sum_ = SaturatingAdd(weight_sum_, weight);
    // A resource that is not accounted for still has its weight in the sum, as upstream.
    if (id > kEphemeralStorage && !IsScalarResourceName(ResourceName(id))) continue;
    weights_.emplace_back(id, args.mode == "Least" ? -weight : weight);
  }
}

template <class Amount>
int64_t NodeResourcesAllocatable::MeanOf(Amount amount) const {
  using Limits = std::numeric_limits<int64_t>;
  __int128 sum = 0;
  for (const auto& [id, weight] : weights_) {
    const __int128 part = __int128{amount(id)} * weight;
    // What does not even fit here is beyond all scores, however it ends.
    if (__builtin_add_overflow(sum, part, &sum)) return part > 0 ? Limits::max() : Limits::min();
  }
  if (sum == static_cast<int64_t>(sum)) return static_cast<int64_t>(sum) / weight_sum_;
  return static_cast<int64_t>(
      std::clamp<__int128>(sum / weight_sum_, Limits::min(), Limits::max()));
}

// scheduler-plugins allocatable.go: the sum of ±allocatable * weight, by the sum of the weights,
// truncated towards 0.
absl::StatusOr<int64_t> NodeResourcesAllocatable::Score(const CycleState&, const PodInfo&,
                                                        const NodeInfo& node) const {
  return MeanOf([&](ResourceId id) { return node.allocatable().Get(id); });
}

absl::Status NodeResourcesAllocatable::ScoreNodes(const CycleState&, const PodInfo&,
                                                  const NodeTable& nodes,
                                                  absl::Span<const NodeRow> rows,
                                                  absl::Span<int64_t> scores) const {
  std::vector<const int64_t*> columns;  // by ResourceId
  for (ResourceId id = 0; weights_.size() > 0 && id <= weights_.back().first; ++id) {
    columns.push_back(nodes.allocatable(id).data());
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    scores[i] = MeanOf([&](ResourceId id) { return columns[id][rows[i]]; });
  }
  return absl::OkStatus();
}

absl::Status NodeResourcesAllocatable::NormalizeScores(const CycleState&, const PodInfo&,
                                                       absl::Span<const NodeRow>,
                                                       absl::Span<int64_t> scores) const {
  if (scores.empty()) return absl::OkStatus();
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  const int64_t lowest = *low, range = SaturatingSubtract(*high, *low);
  for (int64_t& score : scores) {
    score = range == 0 ? kMinNodeScore : PercentOf(SaturatingSubtract(score, lowest), range);
  }
  return absl::OkStatus();
}

}  // namespace berth
