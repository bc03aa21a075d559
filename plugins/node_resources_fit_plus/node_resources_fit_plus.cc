// SPDX-License-Identifier: Apache-2.0
// The rule of NodeResourcesFitPlus, once for both forms, and its arguments.
#include "plugins/node_resources_fit_plus/node_resources_fit_plus.h"

#include <algorithm>

#include "berth/api/amounts.h"
#include "berth/columns/node_table.h"

namespace berth {
namespace {

// As NodeInfo counts them: cpu and memory of containers that request none at a default.
const ResourceVector& RequestedFor(ResourceId id, const NodeInfo& node) {
  return id == kCpu || id == kMemory ? node.nonzero_requested() : node.requested();
}

// The mean of one node's scores; 100 where nothing counts.
class Mean {
 public:
  void Add(int64_t score, int64_t weight) {
    sum_ += __int128{score} * weight;
    weights_ += weight;
  }
  int64_t Result() const {
    if (weights_ == 0) return kMaxNodeScore;
    // The usual case: 64 bits hold the sum.
    if (weights_ < (int64_t{1} << 31)) {
      return static_cast<int64_t>(sum_) / static_cast<int64_t>(weights_);
    }
    return static_cast<int64_t>(sum_ / weights_);
  }

 private:
  __int128 sum_ = 0, weights_ = 0;
};

}  // namespace

const FieldTable& ResourcesType::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<ResourcesType>("ResourcesType", "How one resource is scored.")
          .Field("type", &ResourcesType::type,
                 "LeastAllocated prefers nodes with much of it left, MostAllocated nodes with "
                 "little.",
                 OneOf({"LeastAllocated", "MostAllocated"}))
          .Field("weight", &ResourcesType::weight,
                 "Weight of the resource among the others; 0 leaves it out.", AtLeast(0)));
  return table;
}

const FieldTable& NodeResourcesFitPlusArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<NodeResourcesFitPlusArgs>("NodeResourcesFitPlusArgs",
                                               "Arguments of NodeResourcesFitPlus.")
          .Field("resources", &NodeResourcesFitPlusArgs::resources,
                 "Each resource that counts, by name, with its strategy and weight.")
          .Check([](const NodeResourcesFitPlusArgs& args, FieldProblems& problems) {
            if (args.resources.empty()) {
              problems.AddWarning("resources",
                                  "names none; the plugin ranks no node before another");
            }
          }));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> NodeResourcesFitPlus::Create(const PluginArgs& args,
                                                                     Handle&) {
  return std::make_unique<NodeResourcesFitPlus>(args.As<NodeResourcesFitPlusArgs>());
}

NodeResourcesFitPlus::NodeResourcesFitPlus(const NodeResourcesFitPlusArgs& args) {
  for (const auto& [name, how] : args.resources) {
    const ResourceId id = ResourceIdOf(name);
    if (id > kEphemeralStorage && !IsScalarResourceName(name)) continue;  // it is not accounted for
    resources_.push_back(
        {id, how.type == "MostAllocated" ? Type::kMostAllocated : Type::kLeastAllocated,
         how.weight});
  }
}

// Koordinator: requested * 100 / capacity or (capacity - requested) * 100 / capacity,
// truncated; 0 for a node without the resource.
int64_t NodeResourcesFitPlus::ScoreOf(Type type, int64_t requested, int64_t capacity) {
  if (capacity == 0) return 0;
  requested = std::min(requested, capacity);
  return PercentOf(
      type == Type::kMostAllocated ? requested : SaturatingSubtract(capacity, requested), capacity);
}

absl::StatusOr<int64_t> NodeResourcesFitPlus::Score(const CycleState&, const PodInfo& pod,
                                                    const NodeInfo& node) const {
  Mean mean;
  for (const Resource& r : ResourcesOf(pod)) {
    const int64_t requested =
        SaturatingAdd(RequestedFor(r.id, node).Get(r.id), pod.nonzero_scoring_requests().Get(r.id));
    mean.Add(ScoreOf(r.type, requested, node.allocatable().Get(r.id)), r.weight);
  }
  return mean.Result();
}

absl::Status NodeResourcesFitPlus::ScoreNodes(const CycleState&, const PodInfo& pod,
                                              const NodeTable& nodes,
                                              absl::Span<const NodeRow> rows,
                                              absl::Span<int64_t> scores) const {
  struct Columns {
    Resource resource;
    int64_t pod_request;
    const int64_t* requested;
    const int64_t* allocatable;
  };
  absl::InlinedVector<Columns, 4> columns;
  for (const Resource& r : ResourcesOf(pod)) {
    const absl::Span<const int64_t> requested =
        r.id == kCpu || r.id == kMemory ? nodes.nonzero_requested(r.id) : nodes.requested(r.id);
    columns.push_back({r, pod.nonzero_scoring_requests().Get(r.id), requested.data(),
                       nodes.allocatable(r.id).data()});
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    Mean mean;
    for (const Columns& c : columns) {
      mean.Add(ScoreOf(c.resource.type, SaturatingAdd(c.requested[rows[i]], c.pod_request),
                       c.allocatable[rows[i]]),
               c.resource.weight);
    }
    scores[i] = mean.Result();
  }
  return absl::OkStatus();
}

Status NodeResourcesFitPlus::SignPod(const PodInfo& pod, PodSignature& signature) const {
  for (const Resource& resource : resources_) {
    signature.Add(int64_t{pod.requests().Get(resource.id) > 0});
    signature.Add(pod.nonzero_scoring_requests().Get(resource.id));
  }
  return Status::Success();
}

absl::InlinedVector<NodeResourcesFitPlus::Resource, 4> NodeResourcesFitPlus::ResourcesOf(
    const PodInfo& pod) const {
  absl::InlinedVector<Resource, 4> resources;
  for (const Resource& resource : resources_) {
    if (pod.requests().Get(resource.id) > 0) resources.push_back(resource);
  }
  return resources;
}

}  // namespace berth
