// SPDX-License-Identifier: Apache-2.0
// NodeSets: the nodes of scopes that pods are counted in, kept in step with the table.
#ifndef BERTH_SRC_TABLE_NODE_SETS_H_
#define BERTH_SRC_TABLE_NODE_SETS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/columns/node_scope.h"
#include "berth/columns/node_table.h"
#include "berth/columns/pod_counts.h"

namespace berth {

// The nodes of one scope, by slot. Scheduling thread.
class NodeSet {
 public:
  // `has` is by slot: 1 for those in the set.
  NodeSet(const NodeSlots& slots, std::vector<uint8_t> has) : slots_(slots), has_(std::move(has)) {}

  bool Has(int slot) const { return slot < static_cast<int>(has_.size()) && has_[slot] != 0; }
  // How many nodes of the set are in each topology domain, by index in `column`. Counted along once
  // asked for. Valid until the table changes.
  absl::Span<const int> of_domains(const LabelColumn& column) const;

  // It is in the set from now on, or not any more.
  void Flip(int slot);

 private:
  struct Domains {
    const LabelColumn* column;
    uint64_t version;  // of the column
    std::vector<int> nodes;
  };

  const NodeSlots& slots_;
  std::vector<uint8_t> has_;
  mutable std::vector<Domains> domains_;  // of the columns that were asked for
};

// Scheduling thread.
class NodeSets {
 public:
  NodeSets(const NodeTable& nodes, const NodeSlots& slots) : nodes_(nodes), slots_(slots) {}

  // A new one evaluates all nodes, after those that no other holds any more were dropped.
  std::shared_ptr<const NodeSet> Find(const NodeScope& scope);

  // The sets that the node of `slot` has to come to or to leave, as its object is `node` now; null
  // if it is gone.
  using Sets = absl::InlinedVector<NodeSet*, 4>;
  Sets ToFlip(int slot, const NodeSpec* node) const;

 private:
  std::shared_ptr<NodeSet> Make(const NodeScope& scope) const;

  const NodeTable& nodes_;
  const NodeSlots& slots_;
  absl::flat_hash_map<NodeScope, std::shared_ptr<NodeSet>> sets_;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_NODE_SETS_H_
