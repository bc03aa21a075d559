// SPDX-License-Identifier: Apache-2.0
// The books of elastic quotas: what each namespace may use and what its pods use.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_LEDGER_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_LEDGER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/identity.h"
#include "berth/api/identity_map.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"
#include "plugins/capacity_scheduling/claimed_devices.h"

namespace berth {

// Neither cpu, memory nor ephemeral-storage: GPUs, say. kube-scheduler's word.
inline bool IsScalar(ResourceId id) { return id > kEphemeralStorage; }

// A list of resources with an amount each. Unlike in a ResourceVector, a resource named with 0 is
// something else than one that is not named.
class ResourceBounds {
 public:
  // The amount of a resource, or null if it is not named.
  const int64_t* Find(ResourceId id) const;
  void Set(ResourceId id, int64_t amount) { amounts_.emplace_back(id, amount); }
  template <class F>  // visit(ResourceId)
  void ForEach(F visit) const {
    for (const auto& [id, amount] : amounts_) visit(id);
  }
  // Adds amount by amount; names what either names.
  void Add(const ResourceBounds& other);

 private:
  absl::InlinedVector<std::pair<ResourceId, int64_t>, 4> amounts_;
};

// An ElasticQuota. It concerns only the resources that it names in min or max: of these, an absent
// min is 0 and an absent max is no limit.
struct Quota {
  Symbol namespace_name;
  int index = 0;  // in QuotaLedger::namespaces()
  ResourceBounds min, max;
  std::string object_name;

  bool Names(ResourceId id) const { return min.Find(id) != nullptr || max.Find(id) != nullptr; }
  int64_t MinOf(ResourceId id) const {
    const int64_t* amount = min.Find(id);
    return amount == nullptr ? 0 : *amount;
  }
};

// What a pod is charged: max(sum of containers, each init container) + overhead. Neither sidecars
// nor pod-level resources count. scheduler-plugins capacity_scheduling.go
// computePodResourceRequest.
ResourceVector QuotaRequest(const PodInfo& pod);

// What is assigned. Pods that are being deleted are in both: they still use what they are about to
// give back.
struct Usage {
  ResourceVector used;
  ResourceVector leaving;
};

// How many charged pods run on a node, those that are being deleted in both.
struct PodsOnNode {
  int pods = 0;
  int leaving = 0;
};

// Charges every assigned pod once, by uid, whether or not its namespace has a quota, so that a
// quota is right from the moment it appears. Scheduling thread.
class QuotaLedger {
 public:
  // Whose claims are counted from now on, and devices that stand for extended resources.
  void CountDevicesIn(Handle& handle) {
    claims_ = &handle.objects();
    behind_resources_.emplace(handle);
  }
  // Works out anew what pods are charged if other classes of devices stand for resources now.
  // `for_each_pod` visits those that run.
  template <class ForEachPod>
  void Recount(ForEachPod for_each_pod) {
    if (!behind_resources_.has_value()) return;
    const uint64_t classes = behind_resources_->version();
    if (std::exchange(charged_by_, classes) == classes) return;
    for_each_pod([this](const PodInfo& pod, Symbol node) {
      Release(pod);
      Charge(pod, node);
    });
  }
  // Reads the quotas anew if any changed. If a namespace has several, the oldest counts.
  void Refresh(const ObjectStore& objects);

  // Nothing if the pod is charged already, or is not. `node`: where it runs.
  void Charge(const PodInfo& pod, Symbol node);
  void Release(const PodInfo& pod);

  // The version of the quotas: changes when any of them does.
  uint64_t version() const { return *version_; }
  // The namespaces that have a quota, by Quota::index.
  absl::Span<const Symbol> namespaces() const { return namespaces_; }
  // The quota of a namespace, or null.
  const Quota* Find(Symbol namespace_name) const;
  // What the assigned pods of a namespace use of every resource.
  const Usage& UsageOf(Symbol namespace_name) const;
  // On which nodes they run.
  using ByNode = absl::flat_hash_map<Symbol, PodsOnNode>;
  const ByNode& NodesOf(Symbol namespace_name) const;
  bool IsCharged(UidRef pod) const { return charges_.Contains(pod); }
  // QuotaRequest() and the devices behind extended resources and of claims, as far as these count;
  // worked out once for pods of one shape without claims. Valid until the next call.
  const ResourceVector& RequestOf(const PodInfo& pod, CountsClaim counts) const;
  // With all claims of the pod, whichever others use them.
  const ResourceVector& RequestOf(const PodInfo& pod) const {
    return RequestOf(pod, [](const std::string&) { return true; });
  }
  // Without claims that charged pods use: what would be charged for it that is not charged yet.
  const ResourceVector& NewRequestOf(const PodInfo& pod) const {
    return RequestOf(pod, [this](const std::string& claim) { return FindClaim(claim) == nullptr; });
  }

  // A claim that charged pods of one namespace use. It is charged once: it goes with the last of
  // them, and leaves when all of them do.
  struct ChargedClaim {
    ResourceVector amount;
    int users = 0, leaving = 0;
    int64_t Used(ResourceId id) const { return users > 0 ? amount.Get(id) : 0; }
    int64_t Leaving(ResourceId id) const { return users == leaving ? Used(id) : 0; }
  };
  // "namespace/name"; null if no charged pod uses it.
  const ChargedClaim* FindClaim(absl::string_view claim) const {
    const auto found = charged_claims_.find(claim);
    return found == charged_claims_.end() ? nullptr : &found->second;
  }
  // Of the claims of the pod those that are there.
  std::vector<std::string> ClaimsOf(const PodInfo& pod) const;
  ResourceVector AmountOf(const PodInfo& pod, absl::string_view claim) const;

  // Over all quotas: the sum of what their mins name, and what is used of the resources that the
  // quota in question names.
  const ResourceBounds& total_min() const { return total_min_; }
  const Usage& total_usage() const { return total_usage_; }

 private:
  struct Account {
    Usage usage;
    ByNode by_node;
  };
  struct Entry {
    ResourceVector amount;  // without claims
    std::vector<std::string> claims;
    Symbol node;
    bool leaving = false;
  };
  void AddToTotal(const Quota& quota, const Usage& usage);
  void Move(Account& account, Symbol namespace_name, const ResourceVector& amount, bool leaving,
            int sign);
  void MoveClaim(Account& account, Symbol namespace_name, const ChargedClaim& claim, int sign);
  ResourceVector WithoutClaims(const PodInfo& pod) const;

  std::optional<uint64_t> version_;  // of the ElasticQuotas that quotas_ was read from
  absl::flat_hash_map<Symbol, Quota> quotas_;
  std::vector<Symbol> namespaces_;
  ResourceBounds total_min_;
  Usage total_usage_;
  absl::flat_hash_map<Symbol, Account> accounts_;
  IdentityMap<Entry, ByUid> charges_;
  absl::flat_hash_map<std::string, ChargedClaim> charged_claims_;
  struct ShapeRequest {
    std::shared_ptr<const PodShape> shape;  // as long as it is held, no other has its address
    ResourceVector amount;
  };
  mutable absl::flat_hash_map<const PodShape*, ShapeRequest> requests_;
  mutable ResourceVector with_claims_;
  uint64_t charged_by_ = 0;  // DevicesBehindResources::version()
  mutable uint64_t requests_by_ = 0;
  std::optional<DevicesBehindResources> behind_resources_;
  const ObjectStore* claims_ = nullptr;
};

// Only the resources that `quota` names.
ResourceVector Restrict(const ResourceVector& amounts, const Quota& quota);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_LEDGER_H_
