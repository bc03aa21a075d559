// SPDX-License-Identifier: Apache-2.0
// The cluster as the scheduler believes it to be: nodes, the pods on them, and those it has just
// placed there.
#ifndef BERTH_SRC_CACHE_CACHE_H_
#define BERTH_SRC_CACHE_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/prefetch.h"
#include "berth/api/identity_map.h"
#include "berth/api/segmented_map.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/observer.h"
#include "berth/framework/node_info.h"
#include "cache/node_tree.h"

namespace berth {

// A pod with a node. Of those the scheduler placed itself, the watch has not confirmed it yet;
// they stay until it does, or until they are forgotten or deleted.
struct CachedPod {
  enum class State : uint8_t {
    kAssumed,  // placed by the scheduler, not bound yet
    kBinding,  // bound by the scheduler, not seen in the watch yet
    kBound,    // seen in the watch
  };
  std::shared_ptr<const PodInfo> pod;
  Symbol node_name;
  State state = State::kBound;
  // Orders the pods of a node. Given by the cache when the pod comes to a node: 0 before.
  uint64_t arrival = 0;

  bool assumed() const { return state != State::kBound; }
};

// Owns the NodeInfos and the table made of them. Takes every sequence of calls, however odd: what
// was said last counts. Belongs to the scheduling thread.
class Cache {
 public:
  Cache();
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // --- From the watch ---

  // The node is there, new or changed. Pods that were seen on it before are on it now.
  void SetNode(std::shared_ptr<const NodeSpec> spec);
  // The Node object is gone. Pods that are still on it stay with a NodeInfo that is in no table.
  // Returns whether it was there.
  bool RemoveNode(Symbol name);

  // What SetPod() did.
  enum class PodChange : uint8_t {
    kNone,       // nothing changed: not assigned, or assumed and not yet confirmed
    kAdded,      // a pod with a node that was not known
    kConfirmed,  // it was assumed; where it is now is what the watch says
    kUpdated,    // it was bound already
    kRemoved,    // it is terminal, or has no node any more
  };
  // The pod is there, new or changed, with or without a node. An assumed pod stays where it is
  // assumed until the watch shows it with a node or terminal.
  PodChange SetPod(std::shared_ptr<const PodInfo> pod);
  // The pod is gone, assumed or not. Returns whether it was on a node.
  bool RemovePod(UidRef pod);

  // --- From the scheduler ---

  // Puts the pod on the node. AlreadyExists if it is on a node already, NotFound if there is no
  // such node, FailedPrecondition if the pod is terminal.
  absl::Status AssumePod(std::shared_ptr<const PodInfo> pod, Symbol node_name);
  // Takes an assumed pod back. Returns false, and does nothing, if it is not assumed.
  bool ForgetPod(UidRef pod);
  // A pod that was taken away by RemovePod(), as FindPod() had it before: it is where it was among
  // the pods of its node. It is on no node.
  void PutBack(CachedPod pod) { Put(std::move(pod)); }
  // The same pod is seen differently: it stays where it is, assumed or not. Nothing if it is on no
  // node.
  void ReplacePod(std::shared_ptr<const PodInfo> pod);
  // The cluster accepted the binding; the watch will show it.
  void FinishBinding(UidRef pod);

  // --- Pods as the watch shows them, wherever they are ---

  struct Tracked {
    bool is_new = false;                // it was not known before
    const CachedPod* placed = nullptr;  // as FindPod()
  };
  // This is the last that was seen of the pod, which may have no node. Changes nothing about where
  // it is counted.
  Tracked TrackPod(const std::shared_ptr<const PodInfo>& pod);
  void UntrackPod(UidRef pod);
  bool Tracks(UidRef pod) const {
    const Record* const record = pods_.Find(pod);
    return record != nullptr && record->last_seen != nullptr;
  }
  // Prefetches what is known of the pod while other work goes on.
  void Prefetch(UidRef pod, Fetch what) const { MapPrefetcher::Prefetch(pods_, pod, what); }
  // Null if it is not known.
  std::shared_ptr<const PodInfo> LastSeen(UidRef pod) const {
    const Record* const record = pods_.Find(pod);
    return record == nullptr ? nullptr : record->last_seen;
  }

  // --- Reading ---

  // Brings the table up to date. Costs what changed since the last call; rows move only if nodes
  // came, went or moved to another zone.
  void Refresh();
  // As of the last Refresh().
  const NodeTable& table() const { return table_; }

  // As of now; null if there is no such pod. FindNode: also nodes that have only pods.
  const CachedPod* FindPod(UidRef pod) const {
    const Record* const record = pods_.Find(pod);
    return record == nullptr || record->placed.pod == nullptr ? nullptr : &record->placed;
  }
  const NodeInfo* FindNode(Symbol name) const;
  // Nodes with a Node object in snapshot order, then those without, by name.
  void ForEachNode(const std::function<void(const NodeInfo&)>& visit) const;

  int node_count() const { return tree_.size(); }
  int pod_count() const { return placed_count_; }  // with a node
  int assumed_count() const { return assumed_count_; }

  // --- Observers ---

  // Announces the pods that are there, then calls it for every change. It must be removed before
  // it dies, or outlive the cache.
  void AddObserver(AssignmentObserver* observer);
  void RemoveObserver(AssignmentObserver* observer);

  // For tests: InvalidArgument with the first inconsistency found.
  absl::Status CheckInvariants() const;

 private:
  struct NodeEntry {
    std::unique_ptr<NodeInfo> info;
    NodeRow row = -1;  // where it was last seen in the table
    bool changed = false;
  };

  // One for each pod that is known or placed, so that a pod is looked up in one place.
  struct Record {
    std::shared_ptr<const PodInfo> last_seen;
    CachedPod placed;  // no pod: on no node
  };

  NodeEntry& EntryOf(Symbol name);
  void MarkChanged(Symbol name, NodeEntry& node);
  void Put(CachedPod pod);
  void PutInto(Record& record, CachedPod pod);
  size_t PositionOf(uint64_t arrival, const NodeInfo& node) const;
  void Take(UidRef who);
  bool ReplaceInPlace(CachedPod& known, const std::shared_ptr<const PodInfo>& pod);
  void EraseIfUnused(Symbol name);
  std::vector<OrderChange>* OrderChanges() { return reorder_ ? nullptr : &order_changes_; }
  void NoteOrderChanges(size_t known);
  void DeferFree(std::shared_ptr<const NodeSpec> spec);
  void FreeDeferred();
  bool MoveRows();

  SegmentedMap<Symbol, NodeEntry> nodes_;
  NodeTree tree_;
  IdentityMap<Record, ByUid> pods_;
  uint64_t arrivals_ = 0;
  int placed_count_ = 0;
  int assumed_count_ = 0;
  std::vector<AssignmentObserver*> observers_;

  NodeTable table_;
  // What became of the order since the last Refresh(), unless it is so much that the rows are
  // better rearranged all at once.
  std::vector<OrderChange> order_changes_;
  size_t rows_to_move_ = 0;
  bool reorder_ = false;
  std::vector<Symbol> changed_;  // nodes whose row is to be refreshed
  std::vector<NodeRow> rows_;    // scratch of Refresh()
  // What the table may still have: after a Refresh() it has nothing of this any more. Freed a few
  // at a time, since an object takes a microsecond.
  std::vector<std::unique_ptr<NodeInfo>> retired_;
  std::vector<std::shared_ptr<const NodeSpec>> former_specs_;
};

}  // namespace berth

#endif  // BERTH_SRC_CACHE_CACHE_H_
