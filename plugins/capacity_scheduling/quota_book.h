// SPDX-License-Identifier: Apache-2.0
// The books of a tree of quotas: which pod is charged where, what is promised and what is wanted.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_BOOK_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_BOOK_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/identity.h"
#include "berth/api/identity_map.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/devices/device_limits.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/gone_in_plan.h"
#include "berth/preemption/lost_work.h"
#include "berth/quota/quota_devices.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/claim_charges.h"
#include "plugins/capacity_scheduling/claimed_devices.h"

namespace berth {

// By what the charged pods of a quota are kept. Of one priority and weight, who loses the least
// work comes first at any time, then who was charged later: whatever VictimRank() says as time
// passes.
struct VictimKey {
  int32_t priority = 0;
  int64_t weight = 1;     // WorkWeight()
  absl::Time saved_at;    // WorkSavedAt()
  uint64_t sequence = 0;  // of all charges: later ones are higher

  friend bool operator<(const VictimKey& a, const VictimKey& b) {
    return std::tie(a.priority, a.weight, b.saved_at, b.sequence) <
           std::tie(b.priority, b.weight, a.saved_at, a.sequence);
  }
};

// The order in which units of a quota go: lower priority first, then who loses the least work, then
// who was charged later. Of pods that go together the highest priority counts, all their work, and
// the first charge.
struct VictimRank {
  int32_t priority = 0;
  LostWork lost = 0;
  uint64_t sequence = 0;

  VictimRank(const VictimKey& key, absl::Time now)
      : priority(key.priority),
        lost(LostSince(key.saved_at, key.weight, now)),
        sequence(key.sequence) {}
  void Add(const VictimRank& other) {
    priority = std::max(priority, other.priority);
    lost += other.lost;
    sequence = std::min(sequence, other.sequence);
  }
  friend bool operator<(const VictimRank& a, const VictimRank& b) {
    return std::tie(a.priority, a.lost, b.sequence) < std::tie(b.priority, b.lost, a.sequence);
  }
};

// What a pod that runs was charged when it came: that is released when it goes, whatever it or its
// node says by then.
struct QuotaCharge {
  IdentityPtr pod;
  Symbol node;
  QuotaId quota = QuotaTree::kCluster;
  LineAmounts amounts;              // without claims
  std::vector<ClaimCharge> claims;  // which it may share with others: see ClaimCharges
  VictimKey key;
  bool leaving = false;     // it is being deleted
  bool preemptible = true;  // as far as its label says
};

// What a nominated pod is charged, so that no other pod takes what it waits for.
struct QuotaPromise {
  std::shared_ptr<const PodInfo> pod;
  QuotaCharge charge;
  uint64_t order = 0;  // Nominator::OrderOf()
};

// Follows quotas, pods, nominations and nodes. As long as no quota is marked for a tree there is
// none, and nothing is charged. Scheduling thread.
class QuotaBook {
 public:
  explicit QuotaBook(Handle& handle)
      : handle_(handle), behind_resources_(handle), gone_in_plan_(handle.Shared<GoneInPlan>()) {}

  // Brings the tree up to date: with quotas that changed, nodes and nominations.
  void Refresh();
  // Nominations alone: also between attempts, when Handle's nodes may be older.
  void RefreshNominations() {
    if (has_tree_) FollowNominations();
  }
  // Whether quotas are a tree: there is a ClusterQuota, or an ElasticQuota with a mark of one.
  bool has_tree() const { return has_tree_; }
  const QuotaTree& tree() const { return tree_; }
  // Changes when the tree is built anew, or when pods may belong to other quotas.
  uint64_t tree_version() const { return tree_version_; }
  // For what-if changes, which are all taken back.
  QuotaTree& mutable_tree() { return tree_; }
  // Changes with whatever is charged, promised, wanted or given: what follows from the tree's
  // figures is the same while this is, at moments without a what-if, and where usage does not
  // decay.
  uint64_t version() const { return version_; }
  // What lives while the tree has what-if changes.
  class WhatIf {
   public:
    explicit WhatIf(QuotaBook& book) : book_(book) { ++book_.what_ifs_; }
    ~WhatIf() { --book_.what_ifs_; }
    WhatIf(const WhatIf&) = delete;
    WhatIf& operator=(const WhatIf&) = delete;

   private:
    QuotaBook& book_;
  };
  // So many do.
  int what_ifs() const { return what_ifs_; }

  // Whether devices stand for the resource on nodes that list none of it.
  bool IsOfDevices(ResourceId resource) const { return behind_resources_.Back(resource); }

  // The quota the pod belongs to; absent if none.
  std::optional<QuotaId> QuotaOf(const PodInfo& pod) const;
  // What the pod asks for, with claims as far as they count. Valid until the next call.
  const PodAmounts& RequestOf(const PodInfo& pod, CountsClaim counts) const;
  // With those that are charged for no other pod.
  const PodAmounts& RequestOf(const PodInfo& pod) const {
    return RequestOf(pod, [&](const std::string& claim) { return !IsUsedBeside(pod, claim); });
  }
  // What its claims are charged that have no devices yet, of those that count. Which of several
  // sorts they are given keeps to DeviceLimitsOf(): what is possible of it is avoidable.
  PodAmounts OpenClaimsOf(const PodInfo& pod, CountsClaim counts) const;
  PodAmounts OpenClaimsOf(const PodInfo& pod) const {
    return OpenClaimsOf(pod, [&](const std::string& claim) { return !IsUsedBeside(pod, claim); });
  }
  // What quotas leave of devices that these claims may be given. Null if enough for all.
  std::shared_ptr<const DeviceLimitsOfPod> DeviceLimitsOf(const PodInfo& pod) const;
  // Whether another pod runs, or is nominated, that uses the claim.
  bool IsUsedBeside(const PodInfo& pod, absl::string_view claim) const {
    return claims_.FirstUser(claim, [&](const ClaimUser& user) {
      return user.pod->uid() != pod.uid();
    }) != nullptr;
  }
  // What pods ask for on a node that no line is limited to, each claim once.
  LineAmounts RequestOfAll(absl::Span<const PodInfo* const> pods) const;
  // Whether that is the same for all pods of its shape.
  static bool RequestsByShape(const PodInfo& pod);
  // What lines see of devices; as of the last Refresh().
  const QuotaDevices& devices() const { return devices_; }
  // What lines look for a node's labels in. Valid until it is asked about another node.
  const LabelSet& LabelsOf(const NodeInfo& node) const {
    return devices_.LabelsOf(node.name(), node.labels());
  }
  // Whether lines of the tree look at what slices offer.
  bool sees_devices() const {
    return absl::c_any_of(tree_.lines(), [](const QuotaLine& line) {
      return line.counts == QuotaLine::Counts::kGpu || !line.attribute().empty();
    });
  }
  // What would be charged for it that is not charged yet; lines of some nodes only with a node.
  LineAmounts ChargeOf(const PodInfo& pod, const LabelSet* node) const {
    return tree_.ChargeOf(RequestOf(pod), node);
  }

  // Nodes of one kind are covered by the same lines, so that a pod is charged the same on each.
  // Kinds are numbered from 0; as of the last Refresh().
  int kinds_of_nodes() const { return kinds_of_nodes_; }
  int KindOf(NodeRow row) const { return kind_of_row_.empty() ? 0 : kind_of_row_[row]; }

  // The first line of which a pod that must not be evicted would have more than its quota's min:
  // such a one starts only within it.
  std::optional<QuotaTree::Shortage> BeyondMin(const PodInfo& pod, QuotaId quota,
                                               const LineAmounts& charge,
                                               const LineAmounts& avoidable = {}) const;
  std::string BeyondMinToString(const QuotaTree::Shortage& beyond_min) const;

  void OnAssigned(const PodInfo& pod, const NodeInfo& node);
  void OnUnassigned(const PodInfo& pod);
  // Return whether something else is wanted now.
  bool OnPending(const PodInfo& pod);
  bool OnGone(const PodInfo& pod);

  // The charged pods of a quota itself, those of the lowest priority first.
  using Charges = std::map<VictimKey, const QuotaCharge*>;
  const Charges& ChargesOf(QuotaId quota) const { return by_quota_[quota]; }
  // What those that are being deleted hold, by quota and line. Exact, as the tree's sums.
  // What passes to another quota, as a claim whose first user goes, is negative there.
  using Sums = ClaimCharges::Sums;
  Sums Leaving() const;
  // The same of what nominated pods are charged.
  Sums Promised() const;
  const ClaimCharges& claims() const { return claims_; }
  const QuotaCharge* FindCharge(UidRef pod) const { return charges_.Find(pod); }
  // No charged pod of the quota itself requests more of the resource; since the tree was built,
  // perhaps one that is gone.
  int64_t MostRequested(QuotaId quota, ResourceId resource) const;

  // Whether the pod is nominated, and so charged.
  bool IsPromised(UidRef pod) const { return promised_.Contains(pod); }
  // Whether pods of other quotas are.
  bool AnyPromisedBeside(QuotaId quota) const {
    return promised_.size() > static_cast<size_t>(absl::c_accumulate(
                                  promised_of_[quota], 0, [](int sum, const auto& of_priority) {
                                    return sum + of_priority.second;
                                  }));
  }
  // The lowest priority of pods of the quota itself that are; absent if none is.
  std::optional<int32_t> LeastPriorityPromised(QuotaId quota) const {
    const std::map<int32_t, int>& promised = promised_of_[quota];
    return promised.empty() ? std::nullopt : std::optional<int32_t>(promised.begin()->first);
  }
  // What it is charged then, or null.
  const QuotaPromise* FindPromise(UidRef pod) const { return promised_.Find(pod); }
  // What the pod is charged, running or nominated, or null.
  const QuotaCharge* FindChargeOrPromise(UidRef pod) const {
    if (const QuotaCharge* const charge = FindCharge(pod)) return charge;
    const QuotaPromise* const promise = FindPromise(pod);
    return promise == nullptr ? nullptr : &promise->charge;
  }
  // The shortage, with what nominated pods are promised of what is used.
  QuotaTree::Shortage WithNominated(QuotaTree::Shortage shortage) const;
  std::string ToString(const QuotaTree::Shortage& shortage) const {
    return tree_.ToString(WithNominated(shortage));
  }
  // Calls visit(promise) for each, in no order.
  template <class Visit>
  void ForEachPromise(const Visit& visit) const {
    promised_.ForEach([&](const Identity&, const QuotaPromise& promise) { visit(promise); });
  }
  // Pods that are nominated to nodes are charged for these as well, so that no other pod takes what
  // they wait for. `pod` is not charged while one of these lives; the first one ends it.
  class WithoutNomination {
   public:
    WithoutNomination(QuotaBook& book, const PodInfo& pod);
    ~WithoutNomination();
    WithoutNomination(const WithoutNomination&) = delete;
    WithoutNomination& operator=(const WithoutNomination&) = delete;

   private:
    QuotaBook& book_;
    const QuotaPromise* promise_;    // null if it is not nominated, or another one does it
    std::optional<WhatIf> what_if_;  // if it is nominated
  };

 private:
  struct Amount {
    QuotaId quota;
    LineAmounts amounts;  // without claims
    std::vector<ClaimCharge> claims;
    friend bool operator==(const Amount&, const Amount&) = default;
  };
  struct Wanted {
    std::shared_ptr<const PackedPod> pod;
    Amount amount;
  };
  struct Shape {
    std::shared_ptr<const void> held;  // as long as it is, no other has its address
    PodAmounts amounts;
  };
  struct Belonging {
    std::shared_ptr<const void> held;
    std::optional<QuotaId> quota;
  };

  bool ReadTree();
  // What the pod is charged without its claims.
  PodAmounts WithoutClaims(const PodInfo& pod) const;
  // What the pod is charged on a node with these labels, if no other pod uses its claims.
  Amount AmountOf(const PodInfo& pod, QuotaId quota, const LabelSet* node) const;
  void JoinClaims(const PodInfo& pod, QuotaId quota, const std::vector<ClaimCharge>& claims,
                  ClaimUser::Use use);
  void LeaveClaims(UidRef pod, const std::vector<ClaimCharge>& claims, ClaimUser::Use use);
  void MovePromise(const QuotaPromise& promise, int sign);
  void Rebuild(std::vector<QuotaSpec> specs);
  QuotaDevices::Difference ReadDevices();
  // Those whom it concerns are charged for what slices and classes say now.
  void FollowDevices(const QuotaDevices::Difference& difference, bool other_classes);
  bool Concerns(const QuotaDevices::Difference& difference, const PodInfo& pod,
                const std::vector<ClaimCharge>& claims) const;
  bool HasChanged(Kind kind, std::optional<uint64_t>& version) const;
  std::vector<std::shared_ptr<const PodInfo>> Waiting() const;       // all that want something
  const api::ResourceClaim* FindClaim(absl::string_view key) const;  // "namespace/name"
  void FollowNodes();
  void FindKindsOfNodes();
  void FollowNominations();
  void FollowAllNominations();
  void Promise(const std::shared_ptr<const PodInfo>& pod, Symbol node_name);
  void CountLeaving(const QuotaCharge& charge, int sign);
  void Charge(const PodInfo& pod, const NodeInfo& node);
  void Enter(const PodInfo& pod, QuotaCharge charge);
  // The tree is charged for the pod, or that is taken back.
  void Join(const PodInfo& pod, const QuotaCharge& charge);
  void Leave(const QuotaCharge& charge);
  void KeepIfTakenOff(const PodInfo& pod, const QuotaCharge& charge);
  std::optional<QuotaCharge> ChargeBefore(const PodInfo& pod, const NodeInfo& node);
  bool StopWanting(UidRef pod);
  std::optional<QuotaId> FindQuota(const PodInfo& pod) const;

  Handle& handle_;
  const DevicesBehindResources behind_resources_;
  bool has_tree_ = false;
  std::optional<uint64_t> elastic_version_, cluster_version_, namespace_version_;
  uint64_t tree_version_ = 0, version_ = 0;
  int what_ifs_ = 0;
  std::vector<QuotaSpec> specs_;
  QuotaTree tree_;
  absl::flat_hash_map<Symbol, std::vector<QuotaId>> naming_;  // ClusterQuotas, by namespace named
  std::vector<QuotaId> selecting_;                            // those that name none
  absl::flat_hash_map<Symbol, QuotaId> elastic_;              // by namespace
  absl::flat_hash_map<Symbol, QuotaId> elastic_by_name_;

  ClaimCharges claims_{tree_};
  IdentityMap<QuotaCharge, ByUid> charges_;
  std::vector<Charges> by_quota_;
  Sums leaving_;
  std::vector<absl::flat_hash_map<ResourceId, int64_t>> most_requested_;  // by quota
  uint64_t next_sequence_ = 0;
  // Of pods that a plan takes off: they come back as they were, in their order among the others.
  const std::shared_ptr<const GoneInPlan> gone_in_plan_;
  absl::flat_hash_map<const PodInfo*, QuotaCharge> taken_off_;
  // Of the pod that was unassigned last, if nothing was assigned since: the same pod may only be
  // seen differently, since it is to be evicted, or is not after all.
  std::shared_ptr<const PackedPod> last_;
  QuotaCharge charge_of_last_;
  IdentityMap<Wanted, ByUid> wanted_;
  IdentityMap<QuotaPromise, ByUid> promised_;
  std::vector<std::map<int32_t, int>> promised_of_;  // by quota: how many, by priority
  // What they are promised without claims, at and below a quota, by line.
  absl::flat_hash_map<std::pair<QuotaId, int>, __int128> promised_amounts_;
  absl::flat_hash_set<const QuotaPromise*> without_;                   // that are not charged now
  absl::flat_hash_map<Symbol, std::vector<IdentityPtr>> promised_on_;  // by node
  std::optional<uint64_t> nominator_version_;
  std::optional<uint64_t> nodes_version_, slices_version_, classes_version_;
  QuotaDevices devices_;
  int kinds_of_nodes_ = 1;
  std::vector<int> kind_of_row_;  // empty: all are of one

  uint64_t charged_by_ = 0;  // DevicesBehindResources::version()
  mutable uint64_t shapes_by_ = 0;
  mutable absl::flat_hash_map<const void*, Shape> shapes_;
  mutable absl::flat_hash_map<const void*, Belonging> belongings_;
  mutable PodAmounts with_annotations_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_BOOK_H_
