// SPDX-License-Identifier: Apache-2.0
// The rule of NodeResourcesBalancedAllocation, once for both forms, and its arguments.
#include "plugins/node_resources/node_resources_balanced_allocation.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_format.h"
#include "berth/api/amounts.h"
#include "plugins/node_resources/requests.h"
#include "plugins/node_resources/row_block.h"
#include "src/simd/vector_clones.h"

namespace berth {
namespace {

// The fractions of one node that are requested, in the order of the arguments.
class Fractions {
 public:
  // `requested` includes the pod's own request. A node without the resource is evaluated by the
  // others alone.
  void Add(int64_t requested, int64_t capacity) {
    if (capacity == 0) return;
    fractions_.push_back(
        std::min(1.0, static_cast<double>(requested) / static_cast<double>(capacity)));
  }

  // (1 - standard deviation) * 100, truncated. Two fractions have an exact short form, which
  // upstream uses as well: the other would round differently.
  int64_t Score() const {
    // Negative requests could come to anything.
    return static_cast<int64_t>(
        std::max((1 - Deviation()) * static_cast<double>(kMaxNodeScore), -1e9));
  }

 private:
  double Deviation() const {
    const double count = static_cast<double>(fractions_.size());
    if (fractions_.size() < 2) return 0;
    if (fractions_.size() == 2) return std::abs((fractions_[0] - fractions_[1]) / 2);
    double total = 0;
    for (const double fraction : fractions_) total += fraction;
    const double mean = total / count;
    double squares = 0;
    for (const double fraction : fractions_) squares += (fraction - mean) * (fraction - mean);
    return std::sqrt(squares / count);
  }

  absl::InlinedVector<double, 6> fractions_;
};

struct Columns {
  int64_t pod_request;
  const int64_t* requested;
  const int64_t* allocatable;

  bool exact() const { return pod_request >= 0 && pod_request < kExactAmounts; }
};

// min(1, requested / capacity)
inline double FractionOf(int64_t requested, double pod_request, int64_t capacity) {
  const double most = ToDouble(capacity);
  return (most - Free(most, ToDouble(requested) + pod_request)) / most;
}

// Returns whether all amounts are exact; otherwise the scores are worth nothing.
BERTH_VECTOR_CLONES bool ScoreTwo(const BlockAmounts& a, double request_a, const BlockAmounts& b,
                                  double request_b, size_t rows, int64_t* scores) {
  const int64_t* const requested_a = a.requested();
  const int64_t* const requested_b = b.requested();
  const int64_t* const capacity_a = a.capacity();
  const int64_t* const capacity_b = b.capacity();
  uint64_t bits = 0;
  for (size_t i = 0; i < rows; ++i) {
    bits |= AmountBits(requested_a[i], capacity_a[i]) | AmountBits(requested_b[i], capacity_b[i]);
    const double difference = FractionOf(requested_a[i], request_a, capacity_a[i]) -
                              FractionOf(requested_b[i], request_b, capacity_b[i]);
    scores[i] = Truncated((1 - std::abs(difference / 2)) * static_cast<double>(kMaxNodeScore));
  }
  return IsExact(bits);
}

// What Fractions makes of two resources on the rows of a block, with the same operations in the
// same order. False, and the scores are worth nothing, unless every node has both and all amounts
// are exact as doubles.
bool ScoreBlock(const Columns& first, const Columns& second, absl::Span<const NodeRow> rows,
                absl::Span<int64_t> scores) {
  if (!first.exact() || !second.exact()) return false;
  const RowBlock block(rows);
  const BlockAmounts a(block, first.requested, first.allocatable);
  const BlockAmounts b(block, second.requested, second.allocatable);
  const double request_a = static_cast<double>(first.pod_request);
  const double request_b = static_cast<double>(second.pod_request);
  BlockScores out(block, scores);
  return ScoreTwo(a, request_a, b, request_b, block.size(), out.values());
}

void CheckResources(const NodeResourcesBalancedAllocationArgs& args, FieldProblems& problems) {
  absl::flat_hash_set<absl::string_view> seen;
  for (size_t i = 0; i < args.resources.size(); ++i) {
    const ResourceSpec& resource = args.resources[i];
    if (!seen.insert(resource.name).second) {
      problems.Duplicate(absl::StrFormat("resources[%d].name", i), resource.name);
    }
    if (resource.weight != 1) {
      problems.Invalid(absl::StrFormat("resources[%d].weight", i),
                       static_cast<double>(resource.weight), "must be 1");
    }
  }
}

}  // namespace

const FieldTable& NodeResourcesBalancedAllocationArgs::Fields() {
  using Args = NodeResourcesBalancedAllocationArgs;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<Args>("NodeResourcesBalancedAllocationArgs",
                           "Arguments of NodeResourcesBalancedAllocation.")
          .Field("resources", &Args::resources,
                 "The resources that should fill up evenly; the weights must be 1 or left out. "
                 "Empty: cpu and memory.")
          .Complete([](Args& args) { ApplyDefaults(args.resources); })
          .Check(CheckResources));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> NodeResourcesBalancedAllocation::Create(
    const PluginArgs& args, Handle& handle) {
  return std::make_unique<NodeResourcesBalancedAllocation>(
      args.As<NodeResourcesBalancedAllocationArgs>(), &handle);
}

NodeResourcesBalancedAllocation::NodeResourcesBalancedAllocation(
    const NodeResourcesBalancedAllocationArgs& args, Handle* handle)
    : handle_(handle),
      classes_(handle == nullptr ? nullptr : handle->Shared<ExtendedResourceClasses>()) {
  for (const ResourceSpec& spec : args.resources) {
    const ResourceId id = ResourceIdOf(spec.name);
    requested_.push_back(id);
    if (id <= kEphemeralStorage || IsScalarResourceName(spec.name)) scored_.push_back(id);
  }
}

// Without it, pods that request nothing would all go to the same, best balanced node.
Status NodeResourcesBalancedAllocation::PreScore(CycleState&, const PodInfo& pod, const NodeTable&,
                                                 absl::Span<const NodeRow>) {
  return RequestsNothing(pod) ? Status::Skip() : Status::Success();
}

absl::StatusOr<int64_t> NodeResourcesBalancedAllocation::Score(const CycleState&,
                                                               const PodInfo& pod,
                                                               const NodeInfo& node) const {
  if (RequestsNothing(pod)) return 0;
  Fractions fractions;
  const ExtendedResourceClasses* const classes = Classes();
  for (const ResourceId id : ResourcesFor(pod)) {
    const ResourceUse use = UseOf(id, node.requested(), node, classes);
    fractions.Add(SaturatingAdd(use.requested, pod.requests().Get(id)), use.capacity);
  }
  return fractions.Score();
}

const ExtendedResourceClasses* NodeResourcesBalancedAllocation::Classes() const {
  return handle_ == nullptr ? nullptr : UpToDate(classes_.get(), *handle_);
}

absl::Status NodeResourcesBalancedAllocation::ScoreNodes(const CycleState& state,
                                                         const PodInfo& pod, const NodeTable& nodes,
                                                         absl::Span<const NodeRow> rows,
                                                         absl::Span<int64_t> scores) const {
  if (RequestsNothing(pod)) {
    std::fill(scores.begin(), scores.end(), 0);
    return absl::OkStatus();
  }
  const ExtendedResourceClasses* const classes = Classes();
  const Resources resources = ResourcesFor(pod);
  if (classes != nullptr && std::any_of(resources.begin(), resources.end(), [&](ResourceId id) {
        return classes->ClassOf(id) != nullptr;
      })) {  // there are no columns of devices
    for (size_t i = 0; i < rows.size(); ++i) {
      const absl::StatusOr<int64_t> score = Score(state, pod, nodes.node(rows[i]));
      if (!score.ok()) return score.status();
      scores[i] = *score;
    }
    return absl::OkStatus();
  }
  absl::InlinedVector<Columns, 4> columns;
  for (const ResourceId id : resources) {
    columns.push_back(
        {pod.requests().Get(id), nodes.requested(id).data(), nodes.allocatable(id).data()});
  }
  ForEachBlock(rows, scores, [&](absl::Span<const NodeRow> rows, absl::Span<int64_t> scores) {
    if (rows.size() >= kFewRows && columns.size() == 2 &&
        ScoreBlock(columns[0], columns[1], rows, scores)) {
      return;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      Fractions fractions;
      for (const Columns& c : columns) {
        fractions.Add(SaturatingAdd(c.requested[rows[i]], c.pod_request), c.allocatable[rows[i]]);
      }
      scores[i] = fractions.Score();
    }
  });
  return absl::OkStatus();
}

Status NodeResourcesBalancedAllocation::SignPod(const PodInfo& pod, PodSignature& signature) const {
  SignResources(pod.requests(), signature);
  return Status::Success();
}

bool NodeResourcesBalancedAllocation::RequestsNothing(const PodInfo& pod) const {
  return std::all_of(requested_.begin(), requested_.end(),
                     [&](ResourceId id) { return pod.requests().Get(id) == 0; });
}

// Extended resources count only for pods that request them.
NodeResourcesBalancedAllocation::Resources NodeResourcesBalancedAllocation::ResourcesFor(
    const PodInfo& pod) const {
  Resources resources;
  for (const ResourceId id : scored_) {
    if (id <= kEphemeralStorage || pod.requests().Get(id) != 0) resources.push_back(id);
  }
  return resources;
}

}  // namespace berth
