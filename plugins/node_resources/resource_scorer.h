// SPDX-License-Identifier: Apache-2.0
// The three scoring strategies of NodeResourcesFit.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SCORER_H_
#define BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SCORER_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/columns/node_table.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "plugins/node_resources/node_resources_fit_args.h"

namespace berth {

// A weighted mean of each resource's score, 0 to 100. As kube-scheduler v1.35 noderesources
// resource_allocation.go, {least,most}_allocated.go and requested_to_capacity_ratio.go. Immutable.
class ResourceScorer {
 public:
  enum class Type : uint8_t { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };

  // `strategy` has passed the checks of its Fields().
  explicit ResourceScorer(const ScoringStrategy& strategy);

  // With DRAExtendedResource, `classes` says which devices count as capacity of a resource that a
  // node does not have by itself; null without.
  int64_t Score(const PodInfo& pod, const NodeInfo& node,
                const ExtendedResourceClasses* classes = nullptr) const;
  void ScoreNodes(const PodInfo& pod, const NodeTable& nodes, absl::Span<const NodeRow> rows,
                  absl::Span<int64_t> scores,
                  const ExtendedResourceClasses* classes = nullptr) const;

 private:
  // A resource that counts for this pod.
  struct Term {
    ResourceId resource;
    int64_t weight;
    int64_t pod_request;
  };
  using Terms = absl::InlinedVector<Term, 4>;
  static bool AreAnyBacked(const Terms& terms, const ExtendedResourceClasses* classes);
  // Collects the resources of one node; defined in the source for each type.
  template <Type type>
  class Mean;

  Terms TermsOf(const PodInfo& pod) const;
  template <Type type>
  int64_t ScoreAs(const Terms& terms, const NodeInfo& node,
                  const ExtendedResourceClasses* classes) const;
  template <Type type>
  void ScoreNodesAs(const Terms& terms, const NodeTable& nodes, absl::Span<const NodeRow> rows,
                    absl::Span<int64_t> scores) const;
  struct Columns;  // of a term
  template <Type type>
  bool ScoreBlock(absl::Span<const Columns> columns, absl::Span<const NodeRow> rows,
                  absl::Span<int64_t> scores) const;

  struct Resource {
    ResourceId id;
    int64_t weight;
    bool is_scalar;  // counts only for pods that request it
  };
  Type type_;
  std::vector<Resource> resources_;
  std::array<int64_t, 101> score_at_{};  // of RequestedToCapacityRatio, by utilization in percent
};

// Requests that NodeInfo::nonzero_requested() defaults are taken from there, others from
// requested().
inline bool HasNonzeroDefault(ResourceId resource) {
  return resource == kCpu || resource == kMemory;
}

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_RESOURCE_SCORER_H_
