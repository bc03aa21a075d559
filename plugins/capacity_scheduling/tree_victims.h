// SPDX-License-Identifier: Apache-2.0
// Whom a pod may evict by a tree of quotas, found in the order that the books keep: what a plan
// does not look at costs nothing. QuotaTrial::Units() is the plain form.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_VICTIMS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_VICTIMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/framework/handle.h"
#include "plugins/capacity_scheduling/quota_book.h"
#include "plugins/capacity_scheduling/victim_list.h"

namespace berth {

class TreeVictims final : public VictimList {
 public:
  // The pods of QuotaTrial::VictimQuotas(), in this order: `quotas` is called when somebody is
  // looked for, which a plan that only has to wait does not. What is passed by reference outlives
  // this.
  TreeVictims(const QuotaBook& book, const Handle& handle,
              std::function<std::vector<QuotaId>()> quotas);

  int At(int position) override;
  const VictimUnit& unit(int number) const override { return units_[number].unit; }
  bool Before(int a, int b) const override;
  const std::vector<int>& OnRow(NodeRow row) override;
  std::vector<int> OfGang(int number) override;
  int32_t LeastPriorityFrom(int position) const override;
  int64_t MostRequested(ResourceId resource) override;

 private:
  struct Ranked {
    VictimUnit unit;
    int quota;  // its place in quotas_
    VictimRank rank;
    bool is_next = false;  // in next_, if it is a gang
    bool is_in_order = false;
    int gang_begin = 0, gang_end = 0;  // the numbers of its gang's units, if it is of one
  };
  // Somebody of the quota at next_quota_ who may be the next in order: a whole gang, or the charges
  // of one priority and weight, by the first of them.
  struct Next {
    VictimRank rank;
    int gang = -1;  // the number of its unit
    QuotaBook::Charges::const_iterator charge;
    friend bool operator<(const Next& a, const Next& b) { return b.rank < a.rank; }
  };
  void FindQuotas();
  void BeginQuota();
  void AddPriority();
  // The next unit of the quota at next_quota_; -1 if there are no more.
  int NextOfQuota();
  // The number of the unit that the pod goes with; -1 if it does not run any more. `pod`: that of
  // the charge, or null where it is still to be looked for.
  int UnitOf(const QuotaCharge& charge, std::shared_ptr<const PodInfo> pod);
  void AddGang(const QuotaCharge& charge, const std::string& group);
  // Returns its number; it has no pod yet.
  int AddUnit(const QuotaCharge& first, const std::string& group);
  void AddPod(const QuotaCharge& charge, std::shared_ptr<const PodInfo> pod, int to);
  std::shared_ptr<const PodInfo> PodOf(const QuotaCharge& charge) const;

  const QuotaBook& book_;
  const Handle& handle_;
  const absl::Time now_;
  std::function<std::vector<QuotaId>()> find_quotas_;  // null: they are known
  std::vector<QuotaId> quotas_;
  std::vector<int> place_of_;            // in these, by quota; -1 if it is none of them
  std::vector<int32_t> least_priority_;  // of the quota at that place and those behind it

  std::vector<Ranked> units_;
  absl::flat_hash_map<const QuotaCharge*, int> unit_of_;
  absl::flat_hash_map<NodeRow, std::vector<int>> on_row_;
  std::vector<int> order_;  // as far as it was asked for
  int next_quota_ = 0;      // where it goes on
  std::priority_queue<Next> next_;
  QuotaBook::Charges::const_iterator later_;  // of the quota, of higher priorities than in next_
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_VICTIMS_H_
