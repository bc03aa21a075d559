// SPDX-License-Identifier: Apache-2.0
// Packing: proofs that nodes do not hold pods of several kinds together, though they have room for
// those of each kind.
#ifndef BERTH_SRC_SEARCH_PACKING_H_
#define BERTH_SRC_SEARCH_PACKING_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/member_choices.h"
#include "berth/incremental/resource_filter.h"

namespace berth {

// Pods that need the same.
struct PodsOfKind {
  NeededResources needed;
  int64_t pods = 0;
  std::vector<int64_t> counted = {};  // by sort, as CountedNeeds; or empty
};

// Each kind of pods is given a weight, and of each node it is found out how much weight it holds at
// most. If that is less on all nodes together than the pods weigh, they have no room. Several
// weights are tried: one for each pod, what it takes of a resource, and its share of a node on
// which there are only pods of its kind.
class PackingBound {
 public:
  // `others`: so many pods more of which it is not known what they need. `counted`: what else they
  // need, or null.
  PackingBound(const std::vector<PodsOfKind>& kinds, int64_t others,
               std::shared_ptr<const CountedNeeds> counted = nullptr);
  bool has_counted() const { return counted_ != nullptr; }

  struct Verdict {
    bool is_proof = false;  // fewer than were wanted have room
    int64_t most = 0;       // so many have, at most
  };
  static constexpr int32_t kNobody = std::numeric_limits<int32_t>::min();
  // Whether `wanted` of the pods have room on these rows (null: on all nodes), beside the pods that
  // are there but for those of a lower priority than `gone_below`. Looks at no more nodes than it
  // takes to see that nothing is proven.
  Verdict Check(const NodeTable& nodes, const std::vector<NodeRow>* rows, int64_t wanted,
                int32_t gone_below = kNobody) const;

 private:
  // Of places, of each resource, and of each sort of what is counted.
  using Amounts = absl::InlinedVector<int64_t, 6>;
  struct Kind {
    Amounts needed;
    int64_t pods;
  };
  struct Measure {
    Amounts weights;  // by kind
    int64_t wanted = 0;
    int64_t sum = 0;  // on the nodes so far
  };
  template <class FreeOf>
  std::vector<Measure> Measures(int64_t wanted, int nodes, FreeOf free_of) const;
  Amounts FreeOn(const NodeTable& nodes, NodeRow row, int32_t gone_below) const;
  static int64_t Fitting(const Kind& kind, const Amounts& free);
  Amounts FittingAlone(const Amounts& free) const;
  void AddMeasure(Amounts weights, int64_t wanted, std::vector<Measure>& measures) const;
  int64_t Heaviest(const Amounts& weights, size_t kind, Amounts& free, int64_t& steps) const;
  int64_t HeaviestInParts(const Amounts& weights, const Amounts& free) const;

  std::vector<ResourceId> resources_;
  std::vector<Kind> kinds_;
  int64_t others_;
  std::shared_ptr<const CountedNeeds> counted_;
};

}  // namespace berth

#endif  // BERTH_SRC_SEARCH_PACKING_H_
