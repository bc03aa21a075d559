// SPDX-License-Identifier: Apache-2.0
// The books of a tree of quotas: what pods that run are charged, and what those that wait want.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_BOOK_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/api/identity.h"
#include "berth/api/identity_map.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/gone_in_plan.h"
#include "berth/quota/quota_devices.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/claim_charges.h"
#include "plugins/capacity_scheduling/pod_quotas.h"
#include "plugins/capacity_scheduling/quota_charge.h"
#include "plugins/capacity_scheduling/quota_promises.h"
#include "plugins/capacity_scheduling/quota_requests.h"

namespace berth {

// Follows quotas, pods, nominations and nodes. As long as no quota is marked for a tree there is
// none, and nothing is charged. Scheduling thread.
class QuotaBook {
 public:
  explicit QuotaBook(Handle& handle)
      : handle_(handle), gone_in_plan_(handle.Shared<GoneInPlan>()) {}

  // Brings the tree up to date: with quotas that changed, nodes and nominations.
  void Refresh();
  // Nominations alone: also between attempts, when Handle's nodes may be older.
  void RefreshNominations() {
    if (has_tree_ && promises_.Follow()) ++version_;
  }
  // What was used lately is as of now.
  void Advance() { tree_.Advance(handle_.clock().Now()); }
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
  bool IsOfDevices(ResourceId resource) const { return requests_.AreDevices(resource); }

  // The quota the pod belongs to; absent if none.
  std::optional<QuotaId> QuotaOf(const PodInfo& pod) const { return pod_quotas_.Of(pod); }
  // What the pod asks for, with claims as far as they count. Valid until the next call.
  const PodAmounts& RequestOf(const PodInfo& pod, CountsClaim counts) const {
    return requests_.Of(pod, counts);
  }
  // With those that are charged for no other pod.
  const PodAmounts& RequestOf(const PodInfo& pod) const {
    return RequestOf(pod, [&](const std::string& claim) { return !IsUsedBeside(pod, claim); });
  }
  // What its claims are charged that have no devices yet, of those that count. Which of several
  // sorts they are given keeps to DeviceLimitsOf(): what is possible of it is avoidable.
  PodAmounts OpenClaimsOf(const PodInfo& pod, CountsClaim counts) const {
    return requests_.OpenClaimsOf(pod, counts);
  }
  PodAmounts OpenClaimsOf(const PodInfo& pod) const {
    return OpenClaimsOf(pod, [&](const std::string& claim) { return !IsUsedBeside(pod, claim); });
  }
  // Whether another pod runs, or is nominated, that uses the claim.
  bool IsUsedBeside(const PodInfo& pod, absl::string_view claim) const {
    return claims_.FirstUser(claim, [&](const ClaimUser& user) {
      return user.pod->uid() != pod.uid();
    }) != nullptr;
  }
  // What pods ask for on a node that no line is limited to, each claim once.
  LineAmounts RequestOfAll(absl::Span<const PodInfo* const> pods) const;
  // Whether that is the same for all pods of its shape.
  static bool RequestsByShape(const PodInfo& pod) { return QuotaRequests::GoByShape(pod); }
  // What lines see of devices; as of the last Refresh().
  const QuotaDevices& devices() const { return requests_.devices(); }
  // What lines look for a node's labels in. Valid until it is asked about another node.
  const LabelSet& LabelsOf(const NodeInfo& node) const { return requests_.LabelsOf(node); }
  // Whether lines of the tree look at what slices offer.
  bool sees_devices() const { return requests_.sees_devices(); }
  // What would be charged for it that is not charged yet; lines of some nodes only with a node.
  LineAmounts ChargeOf(const PodInfo& pod, const LabelSet* node) const {
    return tree_.ChargeOf(RequestOf(pod), node);
  }

  // Nodes of one kind are covered by the same lines, so that a pod is charged the same on each.
  // Kinds are numbered from 0; as of the last Refresh().
  int kinds_of_nodes() const { return kinds_of_nodes_; }
  int KindOf(NodeRow row) const { return kind_of_row_.empty() ? 0 : kind_of_row_[row]; }

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
  Sums Promised() const { return promises_.Sums(); }
  const ClaimCharges& claims() const { return claims_; }
  const QuotaCharge* FindCharge(UidRef pod) const { return charges_.Find(pod); }
  // No charged pod of the quota itself requests more of the resource; since the tree was built,
  // perhaps one that is gone.
  int64_t MostRequested(QuotaId quota, ResourceId resource) const;

  // Whether the pod is nominated, and so charged.
  bool IsPromised(UidRef pod) const { return promises_.Contains(pod); }
  // Whether pods of other quotas are.
  bool AnyPromisedBeside(QuotaId quota) const { return promises_.AnyBeside(quota); }
  // The lowest priority of pods of the quota itself that are; absent if none is.
  std::optional<int32_t> LeastPriorityPromised(QuotaId quota) const {
    return promises_.LeastPriority(quota);
  }
  // What it is charged then, or null.
  const QuotaPromise* FindPromise(UidRef pod) const { return promises_.Find(pod); }
  // What the pod is charged, running or nominated, or null.
  const QuotaCharge* FindChargeOrPromise(UidRef pod) const {
    if (const QuotaCharge* const charge = FindCharge(pod)) return charge;
    const QuotaPromise* const promise = FindPromise(pod);
    return promise == nullptr ? nullptr : &promise->charge;
  }
  // The shortage, with what nominated pods are promised of what is used.
  QuotaTree::Shortage WithNominated(const QuotaTree::Shortage& shortage) const {
    return promises_.WithNominated(shortage);
  }
  std::string ToString(const QuotaTree::Shortage& shortage) const {
    return tree_.ToString(WithNominated(shortage));
  }
  // Calls visit(promise) for each, in no order.
  template <class Visit>
  void ForEachPromise(const Visit& visit) const {
    promises_.ForEach(visit);
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
  struct Wanted {
    std::shared_ptr<const PackedPod> pod;
    QuotaRequests::Amount amount;
  };
  bool ReadTree();
  void Rebuild(std::vector<QuotaSpec> specs);
  // Those whom it concerns are charged for what slices and classes say now.
  void FollowDevices(const QuotaDevices::Difference& difference, bool other_classes);
  // Of quotas of which the tree before knew nothing: as their statuses say.
  void RestoreHistory(const std::vector<QuotaId>& quotas);
  bool HasChanged(Kind kind, std::optional<uint64_t>& version) const;
  std::vector<std::shared_ptr<const PodInfo>> Waiting() const;  // all that want something
  void FollowNodes();
  void FindKindsOfNodes();
  void CountLeaving(const QuotaCharge& charge, int sign);
  void Charge(const PodInfo& pod, const NodeInfo& node);
  void Enter(const PodInfo& pod, QuotaCharge charge);
  // The tree is charged for the pod, or that is taken back.
  void Join(const PodInfo& pod, const QuotaCharge& charge);
  void Leave(const QuotaCharge& charge);
  void KeepIfTakenOff(const PodInfo& pod, const QuotaCharge& charge);
  std::optional<QuotaCharge> ChargeBefore(const PodInfo& pod, const NodeInfo& node);
  bool StopWanting(UidRef pod);

  Handle& handle_;
  bool has_tree_ = false;
  std::optional<uint64_t> elastic_version_, cluster_version_, namespace_version_;
  uint64_t tree_version_ = 0, version_ = 0;
  int what_ifs_ = 0;
  std::vector<QuotaSpec> specs_;
  QuotaTree tree_;

  PodQuotas pod_quotas_{handle_, tree_};
  QuotaRequests requests_{handle_, tree_};
  ClaimCharges claims_{tree_};
  QuotaPromises promises_{{handle_, tree_, claims_, pod_quotas_, requests_}};
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
  std::optional<uint64_t> nodes_version_, slices_version_, classes_version_;
  int kinds_of_nodes_ = 1;
  std::vector<int> kind_of_row_;  // empty: all are of one

  uint64_t charged_by_ = 0;  // QuotaRequests::classes_version()
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_BOOK_H_
