// SPDX-License-Identifier: Apache-2.0
// What nominated pods are charged in a tree of quotas, so that no other pod takes what they wait
// for.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_PROMISES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_PROMISES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "berth/api/identity.h"
#include "berth/api/identity_map.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/claim_charges.h"
#include "plugins/capacity_scheduling/pod_quotas.h"
#include "plugins/capacity_scheduling/quota_charge.h"
#include "plugins/capacity_scheduling/quota_requests.h"

namespace berth {

// Of one nominated pod.
struct QuotaPromise {
  std::shared_ptr<const PodInfo> pod;
  QuotaCharge charge;
  uint64_t order = 0;  // Nominator::OrderOf()
};

// Follows the nominator, node by node. The tree and the claims are charged for each nominated pod,
// as if it ran on its node. Scheduling thread.
class QuotaPromises {
 public:
  // All outlive this.
  struct Parts {
    const Handle& handle;
    QuotaTree& tree;
    ClaimCharges& claims;
    const PodQuotas& pod_quotas;
    const QuotaRequests& requests;
  };
  explicit QuotaPromises(const Parts& parts)
      : handle_(parts.handle),
        tree_(parts.tree),
        claims_(parts.claims),
        pod_quotas_(parts.pod_quotas),
        requests_(parts.requests) {}

  // The tree is another one, in which nothing is charged.
  void ReadTree();
  // What pods ask for is counted otherwise: Follow() charges all anew.
  void LookAtAll() { nominator_version_.reset(); }
  // Returns whether nominations changed.
  bool Follow();

  const QuotaPromise* Find(UidRef pod) const { return promised_.Find(pod); }
  bool Contains(UidRef pod) const { return promised_.Contains(pod); }
  // Calls visit(promise) for each, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    promised_.ForEach([&](const Identity&, const QuotaPromise& promise) { visit(promise); });
  }
  // Whether pods of other quotas are nominated.
  bool AnyBeside(QuotaId quota) const {
    return promised_.size() > static_cast<size_t>(absl::c_accumulate(
                                  priorities_[quota], 0, [](int sum, const auto& of_priority) {
                                    return sum + of_priority.second;
                                  }));
  }
  // The lowest priority of those of the quota itself; absent if there are none.
  std::optional<int32_t> LeastPriority(QuotaId quota) const {
    const std::map<int32_t, int>& of_quota = priorities_[quota];
    return of_quota.empty() ? std::nullopt : std::optional<int32_t>(of_quota.begin()->first);
  }
  // What they are charged, by quota and line, without those that are left out.
  ClaimCharges::Sums Sums() const;
  // The shortage, with what they are promised of what is used.
  QuotaTree::Shortage WithNominated(QuotaTree::Shortage shortage) const;

  // The promise is charged no more, until PutBack(). False if it is left out already.
  bool LeaveOut(const QuotaPromise& promise);
  void PutBack(const QuotaPromise& promise);

 private:
  void FollowAll();
  void Promise(const std::shared_ptr<const PodInfo>& pod, Symbol node_name);
  void Move(const QuotaPromise& promise, int sign);

  const Handle& handle_;
  QuotaTree& tree_;
  ClaimCharges& claims_;
  const PodQuotas& pod_quotas_;
  const QuotaRequests& requests_;
  IdentityMap<QuotaPromise, ByUid> promised_;
  std::vector<std::map<int32_t, int>> priorities_;  // by quota: how many, by priority
  // What they are promised without claims, at and below a quota, by line.
  absl::flat_hash_map<std::pair<QuotaId, int>, __int128> amounts_;
  absl::flat_hash_set<const QuotaPromise*> left_out_;
  absl::flat_hash_map<Symbol, std::vector<IdentityPtr>> on_node_;
  std::optional<uint64_t> nominator_version_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_PROMISES_H_
