// SPDX-License-Identifier: Apache-2.0
// NodeValues: what a plugin keeps for each node from cycle to cycle.
#ifndef BERTH_COLUMNS_NODE_VALUES_H_
#define BERTH_COLUMNS_NODE_VALUES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "berth/api/segmented_map.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/framework/node_info.h"

namespace berth {

// The part of NodeValues that is the same for all types.
class NodeValuesBase {
 protected:
  struct Kept {
    virtual ~Kept() = default;
    Symbol node;
  };

  NodeValuesBase() = default;
  ~NodeValuesBase() = default;
  void CatchUp(const NodeTable& nodes, absl::FunctionRef<std::unique_ptr<Kept>()> make,
               absl::FunctionRef<void(Kept&)> on_change, absl::FunctionRef<void(Kept&)> on_remove,
               absl::FunctionRef<void(Kept&, NodeRow)> on_add);
  void Clear();
  Kept* Find(Symbol node) const {
    const std::unique_ptr<Kept>* const kept = by_node_.Find(node);
    return kept == nullptr ? nullptr : kept->get();
  }

  SegmentedMap<Symbol, std::unique_ptr<Kept>> by_node_;
  std::vector<Kept*> rows_;  // null: came, and was not added yet

 private:
  void Remove(Kept& kept, absl::FunctionRef<void(Kept&)> on_remove);
  void FindRows(const NodeTable& nodes, absl::FunctionRef<void(Kept&)> on_change,
                absl::FunctionRef<void(Kept&)> on_remove);

  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
};

// A T for each node of a table. It belongs to the node, not to the row: it stays when rows are
// numbered again, until the node is deleted. Threads: the scheduling thread; reading may go on in
// several between two calls of CatchUp().
template <class T>
class NodeValues : private NodeValuesBase {
 public:
  // Follows the table up to now; costs what changed. Calls, of the nodes as they are now:
  //   on_remove(T&)        of a node that was deleted, before the T goes;
  //   on_change(T&)        of a node that changed, or may have; perhaps more than once;
  //   on_add(T&, NodeRow)  of a node that was added, after all others; the T is as T() makes it.
  // A node that was deleted and added again has either a new T or a change.
  template <class OnChange, class OnRemove, class OnAdd>
  void CatchUp(const NodeTable& nodes, OnChange on_change, OnRemove on_remove, OnAdd on_add) {
    NodeValuesBase::CatchUp(
        nodes, [] { return std::make_unique<Value>(); },
        [&](Kept& kept) { on_change(static_cast<Value&>(kept).value); },
        [&](Kept& kept) { on_remove(static_cast<Value&>(kept).value); },
        [&](Kept& kept, NodeRow row) { on_add(static_cast<Value&>(kept).value, row); });
  }
  // Forgets everything: the next CatchUp() adds all nodes.
  void Clear() { NodeValuesBase::Clear(); }

  // As of the last CatchUp().
  int size() const { return static_cast<int>(rows_.size()); }
  T& at(NodeRow row) { return static_cast<Value*>(rows_[row])->value; }
  const T& at(NodeRow row) const { return static_cast<const Value*>(rows_[row])->value; }
  // Null if there is no node of that name.
  T* Find(Symbol node) {
    Kept* const kept = NodeValuesBase::Find(node);
    return kept == nullptr ? nullptr : &static_cast<Value*>(kept)->value;
  }
  const T* Find(Symbol node) const { return const_cast<NodeValues*>(this)->Find(node); }

 private:
  struct Value final : Kept {
    T value{};
  };
};

}  // namespace berth

#endif  // BERTH_COLUMNS_NODE_VALUES_H_
