// SPDX-License-Identifier: Apache-2.0
// PodTable: the pods on the nodes of a NodeTable, counted, so that no cycle walks them.
#ifndef BERTH_COLUMNS_POD_TABLE_H_
#define BERTH_COLUMNS_POD_TABLE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/columns/node_scope.h"
#include "berth/columns/pod_counts.h"
#include "berth/framework/pod_info.h"

namespace berth {

class NodeSets;
class PodTerms;
class PodsByLabels;

// Which pods to count.
struct PodSelector {
  bool any_namespace = false;
  std::vector<Symbol> namespaces;  // if not any; by id, each once
  LabelSelector labels;
  bool counts_terminating = true;  // those that are being deleted as well

  bool Matches(const PodInfo& pod) const {
    return Matches(pod.namespace_name(), pod.labels(), pod.deletion_time().has_value());
  }
  bool Matches(Symbol namespace_name, const LabelSet& pod_labels, bool terminating) const;
  // Leaves only pods that `other` selects too.
  void Narrow(const PodSelector& other);

  friend bool operator==(const PodSelector&, const PodSelector&) = default;
  // A namespaceSelector may select very many namespaces: some are enough for a hash.
  template <class H>
  friend H AbslHashValue(H h, const PodSelector& s) {
    constexpr size_t kHashed = 16;
    const size_t step = s.namespaces.size() / kHashed + 1;
    for (size_t i = 0; i < s.namespaces.size(); i += step) {
      h = H::combine(std::move(h), s.namespaces[i]);
    }
    return H::combine(std::move(h), s.any_namespace, s.namespaces.size(), s.labels,
                      s.counts_terminating);
  }
};

using TermKinds = uint8_t;
struct TermKind {
  static constexpr TermKinds kRequiredAffinity = 1u << 0;
  static constexpr TermKinds kRequiredAntiAffinity = 1u << 1;
  static constexpr TermKinds kPreferredAffinity = 1u << 2;
  static constexpr TermKinds kPreferredAntiAffinity = 1u << 3;
};

// An (anti-)affinity term that pods on nodes have.
struct PodTerm {
  TermKinds kind;      // one of them
  int64_t weight = 0;  // of preferred terms
  AffinityTerm term;
  PodCounts counts;  // of the pods that have it; one that has it twice counts twice
};

// Belongs to a NodeTable, which keeps it in step: pods that are bound and pods that are assumed,
// on nodes that are in the table. Threads: the scheduling thread.
class PodTable {
 public:
  explicit PodTable(const NodeTable& nodes);
  ~PodTable();

  // The pods that `selector` selects. The first call looks at the distinct label sets that have a
  // label which the selector requires; further ones find what was counted along since. What was not
  // asked for in a long time is not counted any more.
  std::shared_ptr<const PodCounts> Count(const PodSelector& selector) const;
  // Those on nodes in `scope`. The first call for a scope that not all nodes are in evaluates them
  // all; from then on a node is evaluated when its labels or taints are others.
  std::shared_ptr<const PodCounts> Count(const PodSelector& selector, const NodeScope& scope) const;

  // The rows with pods that `selector` selects, and how many; in no particular order. Keeps
  // nothing: for what is asked once.
  std::vector<std::pair<NodeRow, int64_t>> CountOnce(const PodSelector& selector) const;

  // The terms of these kinds that apply to `pod`. Looks only at terms that require no label, or one
  // that the pod has. `namespace_labels` are those of its namespace; null counts as none. Valid
  // until the table changes.
  absl::InlinedVector<const PodTerm*, 8> TermsAbout(const PodInfo& pod,
                                                    const LabelSet* namespace_labels,
                                                    TermKinds kinds) const;

 private:
  friend class NodeTable;

  // The rows are other nodes, or in another order.
  void SetOrder();
  // The table did that.
  void Move(const RowMove& move);
  // Pods came to the node of `row`, or went, or its object is another one.
  void RefreshRow(NodeRow row);

  using PodPtr = std::shared_ptr<const PodInfo>;
  // As of the last refresh.
  struct NodePods {
    uint64_t generation = 0;
    std::shared_ptr<const NodeSpec> spec;
    std::vector<PodPtr> pods;
  };

  int TakeSlot();
  void FreeSlot(int slot);
  void Flip(int slot, const NodeSpec* node);
  void Replace(int slot, size_t same, absl::Span<const PodPtr> pods);
  void Add(int slot, const PodInfo& pod, int64_t difference);

  const NodeTable& nodes_;
  NodeSlots slots_;
  std::vector<int> free_slots_;
  std::vector<NodePods> pods_;  // by slot
  std::unique_ptr<NodeSets> sets_;
  std::unique_ptr<PodsByLabels> by_labels_;
  std::unique_ptr<PodTerms> terms_;
};

}  // namespace berth

#endif  // BERTH_COLUMNS_POD_TABLE_H_
