// SPDX-License-Identifier: Apache-2.0
// What CapacityScheduling stores about one pod in one attempt, and the comparisons it makes.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATE_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/identity.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "plugins/capacity_scheduling/quota_ledger.h"

namespace berth {

// Pods that are taken to run, or not to run, on top of what the ledger says, and what that changes
// in the usage of a few resources. Counts each pod once. Dry runs copy it often.
class UsageChanges {
 public:
  struct Change {
    __int128 used = 0, leaving = 0;
  };

  // The resources to count, named by their position. At first.
  void SetResources(absl::Span<const ResourceId> ids);

  // A pod that comes to a node, and one that goes from it. What is on a node has been charged.
  void Add(const QuotaLedger& ledger, const PodInfo& pod);
  void Remove(const QuotaLedger& ledger, const PodInfo& pod);

  // The pod is to use its claims beside those that have them: they stay when these go.
  void Join(const QuotaLedger& ledger, const PodInfo& pod);

  // The difference to the ledger's UsageOf() and total_usage().
  Change Of(Symbol namespace_name, size_t resource) const;
  const Change& OfTotal(size_t resource) const { return total_[resource]; }

 private:
  using Changes = absl::InlinedVector<Change, 3>;  // by resource
  struct OfNamespace {
    Symbol name;
    Changes changes;
    absl::InlinedVector<bool, 3> named;  // by resource: by its quota
  };
  struct SeenPod {
    IdentityPtr who;
    size_t uid_hash;
    int of_namespace;                         // a position in by_namespace_
    absl::InlinedVector<int64_t, 3> amounts;  // by resource, 0 for what its quota does not name
    std::vector<int> claims;                  // positions in claims_
    bool present;
    bool leaves;
  };
  // A claim of pods that were seen, as the ledger has it but for these.
  struct SeenClaim {
    std::string claim;
    QuotaLedger::ChargedClaim now;
    int joining = 0;
    int of_namespace;
  };

  // Null if the pod was not seen.
  SeenPod* Find(const PodInfo& pod);
  // A position in by_namespace_, or -1 if it has no quota.
  int FindOrAdd(const QuotaLedger& ledger, Symbol namespace_name);
  // Null if the pod has no quota.
  SeenPod* See(const QuotaLedger& ledger, const PodInfo& pod, bool charged);
  void Set(SeenPod& seen, bool present);
  int FindOrAddClaim(const QuotaLedger& ledger, const PodInfo& pod, const std::string& claim,
                     int of_namespace);
  void ChangeUsage(int of_namespace, size_t resource, __int128 used, __int128 leaving);
  void MoveClaim(const SeenClaim& claim, int sign);

  absl::InlinedVector<ResourceId, 3> ids_;
  // Short lists, of the pods of a node and those nominated to it: a scan is fastest.
  absl::InlinedVector<OfNamespace, 1> by_namespace_;
  std::vector<SeenPod> seen_;
  std::vector<SeenClaim> claims_;
  Changes total_;
};

struct QuotaState final : StateData {
  ResourceVector request;
  // The resources that the pod requests and its quota names: what it may be admitted for and take
  // back. Empty without a quota.
  absl::InlinedVector<ResourceId, 3> claimed;
  // `claimed`, and then every other scalar resource that is in some min: evicting a pod may take
  // that too. `changes` counts these.
  absl::InlinedVector<ResourceId, 3> counted;
  // `request` and that of the pods nominated to nodes that go first: of the same quota with at
  // least the same priority; for `pending_of_all` also those of other quotas that are not over
  // their min.
  ResourceVector pending_of_quota, pending_of_all;
  // In PostFilter: what members of the pod's group ask for that start together with it, without
  // those that are in `pending_of_quota`.
  ResourceVector together;
  UsageChanges changes;

  std::unique_ptr<StateData> Clone() const override { return std::make_unique<QuotaState>(*this); }
};
inline constexpr StateKey<QuotaState> kQuotaState{"CapacityScheduling"};

// Whether what the quota's pods use now, as the state sees it, and `more`, exceeds its min in any
// resource that the pod claims and the quota names.
bool OverMin(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota,
             const ResourceVector& more = {});

// Whether others may take back what a running pod of the quota, charged `amounts`, holds. As the
// state sees it and without pods that are being deleted, the quota uses more than its min of some
// resource that the pod holds and the preemptor claims, and of every scalar resource that the pod
// holds: a pod that holds guaranteed GPUs does not go for CPU that was borrowed. A pod of which
// only a part is borrowed goes all the same, since it cannot go in part.
bool IsBorrowed(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota,
                const ResourceVector& amounts);

// Whether IsBorrowed() may say so of a pod of the quota: without pods that are being deleted it
// uses more than its min of something that the preemptor claims.
bool HasBorrowed(const QuotaLedger& ledger, const QuotaState& state, const Quota& quota);

// Whether there is room for a pod in its quota and in all of them, as a state sees the usage:
// looked up once, and asked after every change of the state, which has to outlive this.
class QuotaRoom {
 public:
  // What is compared: what is used, or what will be, when pods that are being deleted are gone and
  // pending ones run.
  enum class Moment { kNow, kLater };

  // For what the pod asks for, or with kLater the pending pods: of its quota, and of all.
  QuotaRoom(const QuotaLedger& ledger, const QuotaState& state, const Quota& own, Moment moment,
            const ResourceVector& of_quota, const ResourceVector& of_all);

  // Whether the usage and what is asked for exceeds the quota's max in any claimed resource.
  bool OverMax() const { return AnyExceeds(of_quota_); }
  // The same of all quotas together and the sum of their mins. A resource in no min is not shared
  // out and has no such limit.
  bool TotalOverMin() const { return AnyExceeds(of_all_); }

 private:
  // Exceeded if `shown`, what the ledger and the pending pods say, is greater than `limit` but for
  // what the state changes.
  struct Bound {
    size_t claim;
    __int128 shown, limit;
  };
  using Bounds = absl::InlinedVector<Bound, 3>;

  void AddBound(Bounds& bounds, size_t claim, const Usage& usage, const ResourceVector& more,
                __int128 limit) const;
  bool AnyExceeds(const Bounds& bounds) const;

  const QuotaState& state_;
  const Symbol namespace_name_;
  const Moment moment_;
  Bounds of_quota_, of_all_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATE_H_
