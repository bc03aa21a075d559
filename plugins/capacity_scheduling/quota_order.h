// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among quotas in a tree: `order` and `queueing` of docs/quota.md.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_ORDER_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_ORDER_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "berth/extensions/queue_order.h"
#include "berth/framework/handle.h"
#include "berth/quota/tournament.h"
#include "plugins/capacity_scheduling/quota_book.h"

namespace berth {

// The tournament of the quotas of a book. A line is a quota; that of the cluster has the pods of no
// quota, and all pods while there is no tree. Charges decide, those of nominated pods included.
class QuotaContest final : public QueueContest {
 public:
  // Both outlive this.
  QuotaContest(const QuotaBook& book, const Handle& handle)
      : book_(book), handle_(handle), version_(book.tree_version()), tournament_(book.tree()) {}

  void SetHead(int line, const QueuedPodInfo* head) override;
  int Next() override;

 private:
  LineAmounts RequestOf(const QueuedPodInfo& head) const;
  void Enter(int line, const QueuedPodInfo* head);
  // The tree is another one: the queue is about to line up anew.
  bool IsOver() const { return book_.tree_version() != version_; }

  const QuotaBook& book_;
  const Handle& handle_;
  const uint64_t version_;
  Tournament tournament_;
  // Heads that the tournament has not seen: a gang that grows member by member is added up once.
  absl::flat_hash_map<int, const QueuedPodInfo*> new_heads_;
};

// In a quota with an `order` of its own: by what of it tells pods apart.
int ComparePods(const QuotaSpec& spec, const QueuedPodInfo& a, const QueuedPodInfo& b);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_ORDER_H_
