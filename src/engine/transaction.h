// SPDX-License-Identifier: Apache-2.0
// Transaction: what an attempt changes of the cluster state, so that it can be taken back.
#ifndef BERTH_SRC_ENGINE_TRANSACTION_H_
#define BERTH_SRC_ENGINE_TRANSACTION_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/postfilter.h"
#include "engine/binder.h"
#include "engine/cluster_state.h"

namespace berth {

// The members of a group are tried in one attempt. What is decided for one of them is made true of
// the cluster state at once, so that the next members, and every plugin, see it; the journal says
// how to take it back. Nothing is copied: a savepoint is two numbers, and what a roll-back costs is
// what it takes back. Devices and quotas follow, since plugins claim them in Reserve or count
// assigned pods. Belongs to the scheduling thread.
class Transaction {
 public:
  // `placed` are the placements, in order; both outlive this.
  Transaction(ClusterState& cluster, Binder::Members& placed)
      : cluster_(cluster), placed_(placed) {}
  // Takes back all but the placements, which are the attempt's result.
  ~Transaction() { RollBackChanges(0); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  struct Savepoint {
    size_t placed = 0;
    size_t changes = 0;
  };
  Savepoint Save() const { return {placed_.size(), changes_.size()}; }
  // Takes back what was done since, placements first: in reverse order, Unreserve included.
  void RollBackTo(const Savepoint& savepoint);
  void RollBack() { RollBackTo({}); }
  // Takes back what was done since but the placements: they are the attempt's result.
  void RollBackChanges(size_t savepoint = 0);

  // Takes back one placement, of that position; the others keep their order.
  void TakeBack(size_t position);

  // The pod is nominated to that node; "": to none, e.g. because it was placed.
  void Nominate(const std::shared_ptr<const PodInfo>& pod, absl::string_view node_name);
  // The pod preempts: it is nominated, nominations of lower priority to its node end, and its
  // victims count as terminating: they are there until they have gone. Budgets count them. Those
  // that are only nominated are so no more.
  void Preempt(const std::shared_ptr<const PodInfo>& preemptor, const PostFilterResult& plan,
               absl::Time now);
  // Takes the pods off their nodes, as if they had gone. Evict: as if they had been evicted, which
  // PodDisruptionBudgets count.
  void TakeOff(absl::Span<const std::shared_ptr<const PodInfo>> leaving) {
    TakeOff(leaving, Reason::kTheyEnd);
  }
  void Evict(absl::Span<const std::shared_ptr<const PodInfo>> victims) {
    TakeOff(victims, Reason::kEvicted);
  }
  // One of them stays after all.
  void Spare(const PodInfo& victim);

  // Undoes a placement that was not, or is not any more, in the journal.
  static void Undo(ClusterState& cluster, AssumedPod& placement);

 private:
  struct Change {
    enum class Kind : uint8_t { kNominated, kTerminating, kEvicted };
    Kind kind;
    std::shared_ptr<const PodInfo> pod;  // null: was taken back already
    Nominations::Place nomination = {};  // kNominated: before
    CachedPod evicted = {};
    bool spends_budgets = false;
  };
  enum class Reason : uint8_t { kTheyEnd, kEvicted };
  void TakeOff(absl::Span<const std::shared_ptr<const PodInfo>> pods, Reason reason);

  ClusterState& cluster_;
  Binder::Members& placed_;
  std::vector<Change> changes_;
  absl::flat_hash_map<absl::string_view, size_t> evicted_at_;  // in changes_, by uid
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_TRANSACTION_H_
