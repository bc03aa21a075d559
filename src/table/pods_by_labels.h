// SPDX-License-Identifier: Apache-2.0
// PodsByLabels: pods on nodes by what label selectors see of them, and the selectors that were
// asked for, with what they select.
#ifndef BERTH_SRC_TABLE_PODS_BY_LABELS_H_
#define BERTH_SRC_TABLE_PODS_BY_LABELS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/columns/pod_counts.h"
#include "berth/columns/pod_table.h"
#include "table/label_index.h"

namespace berth {

// Pods of one namespace with the same labels are one class, and those of them that are being
// deleted another. A selector selects all pods of a class or none.
class PodsByLabels {
 public:
  explicit PodsByLabels(const NodeSlots& slots) : slots_(slots) {}

  // Pods come to the node of that slot, or go.
  void Add(int slot, const PodInfo& pod, int64_t difference);

  // What `selector` selects, on the nodes in `nodes`, or, if null, on all; counted along until it
  // was not asked for in a long time.
  std::shared_ptr<const PodCounts> Count(const PodSelector& selector,
                                         std::shared_ptr<const NodeSet> nodes);

  // Adds to `counts` what `selector` selects, on all nodes. Keeps nothing.
  void CountOnce(const PodSelector& selector, SlotCounts& counts) const;

  // The node of that slot, which has no pods here, has come to these sets or left them.
  void UpdateCountedNode(int slot, absl::Span<NodeSet* const> sets);
  // As Add(), in counts on nodes of these sets only.
  void AddTo(absl::Span<NodeSet* const> sets, int slot, const PodInfo& pod, int64_t difference);

 private:
  // A selector that was asked for, for some nodes or for all.
  struct Tracked {
    PodSelector selector;
    const NodeSet* nodes;  // null: all
    std::shared_ptr<PodCounts> counts;
    uint64_t last_asked = 0;
  };
  // Points into it.
  struct TrackedKey {
    const PodSelector* selector;
    const NodeSet* nodes;
    friend bool operator==(const TrackedKey& a, const TrackedKey& b) {
      return a.nodes == b.nodes && *a.selector == *b.selector;
    }
    template <class H>
    friend H AbslHashValue(H h, const TrackedKey& key) {
      return H::combine(std::move(h), *key.selector, key.nodes);
    }
  };

  struct LabelClass {
    Symbol namespace_name;
    LabelSet labels;
    bool terminating;
    SlotCounts pods;
    std::vector<Tracked*> selected_by;
  };
  // Points into the class.
  struct LabelClassKey {
    Symbol namespace_name;
    const LabelSet* labels;
    bool terminating;
    friend bool operator==(const LabelClassKey& a, const LabelClassKey& b) {
      return a.namespace_name == b.namespace_name && a.terminating == b.terminating &&
             *a.labels == *b.labels;
    }
    template <class H>
    friend H AbslHashValue(H h, const LabelClassKey& key) {
      return H::combine(std::move(h), key.namespace_name, *key.labels, key.terminating);
    }
  };

  LabelClass& FindOrAddClass(const PodInfo& pod);
  void DropEmptyClasses();
  std::unique_ptr<Tracked> Track(const PodSelector& selector, std::shared_ptr<const NodeSet> nodes);
  static bool Selects(const PodSelector& selector, const LabelClass& label_class);
  // Calls visit(label_class) for the classes that `selector` selects.
  template <class Visit>
  void ForEachSelected(const PodSelector& selector, Visit visit) const;
  void StopTrackingSome();

  const NodeSlots& slots_;
  absl::flat_hash_map<LabelClassKey, std::unique_ptr<LabelClass>> classes_;
  size_t classes_in_use_ = 0;  // those that have pods
  absl::flat_hash_map<Symbol, LabelledItems<LabelClass*>> namespaces_;
  absl::flat_hash_map<TrackedKey, std::unique_ptr<Tracked>> tracked_;
  LabelIndex<Tracked*> selectors_;
  // Not counted along any more. They take much memory, and are freed one by one.
  std::vector<std::shared_ptr<PodCounts>> dropped_;
  uint64_t asked_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_PODS_BY_LABELS_H_
