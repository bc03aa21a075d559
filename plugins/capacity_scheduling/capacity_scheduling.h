// SPDX-License-Identifier: Apache-2.0
// CapacityScheduling: elastic quotas. A namespace is guaranteed its min, may borrow what others
// leave unused up to its max, and gives it back when they ask.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_CAPACITY_SCHEDULING_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_CAPACITY_SCHEDULING_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/identity_map.h"
#include "berth/api/symbol.h"
#include "berth/extensions/nomination_rules.h"
#include "berth/extensions/observer.h"
#include "berth/extensions/post_filter_events.h"
#include "berth/extensions/queue_order.h"
#include "berth/extensions/quota_report.h"
#include "berth/extensions/state_use.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "berth/preemption/held_elsewhere.h"
#include "berth/preemption/preemption.h"
#include "berth/preemption/victim_rules.h"
#include "plugins/capacity_scheduling/expected_pods.h"
#include "plugins/capacity_scheduling/nominated_usage.h"
#include "plugins/capacity_scheduling/quota_book.h"
#include "plugins/capacity_scheduling/quota_ledger.h"
#include "plugins/capacity_scheduling/quota_limits.h"
#include "plugins/capacity_scheduling/quota_rules.h"
#include "plugins/capacity_scheduling/quota_status.h"
#include "plugins/capacity_scheduling/quota_warnings.h"
#include "plugins/capacity_scheduling/refused_takers.h"
#include "plugins/capacity_scheduling/short_rows.h"
#include "plugins/capacity_scheduling/tree_admission.h"

namespace berth {

// As scheduler-plugins capacityscheduling; see docs/parity.md for what is different.
class CapacityScheduling final : public Plugin,
                                 public PreFilterPlugin,
                                 public PreFilterExtensions,
                                 public PostFilterPlugin,
                                 public ReservePlugin,
                                 public StateUsePlugin,
                                 public AssignmentObserver,
                                 public EnqueueExtensions,
                                 public PostFilterEvents,
                                 public VictimRules,
                                 public NominationRules,
                                 public WaitingExplainer,
                                 public QueueOrder,
                                 public SyncObserver,
                                 public QuotaReporter {
 public:
  static constexpr absl::string_view kName = "CapacityScheduling";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  explicit CapacityScheduling(Handle& handle)
      : handle_(handle),
        device_limits_(handle.Shared<DeviceLimits>()),
        possible_victims_(handle.Shared<PossibleVictims>()),
        nominated_(ledger_),
        rules_(ledger_),
        book_(handle),
        preemption_(handle),
        status_(handle, book_, kName),
        refused_takers_(handle, book_, kName),
        tree_({handle, book_, preemption_, refused_takers_, expected_, short_rows_}),
        warnings_(handle, status_, kName) {
    ledger_.CountDevicesIn(handle);
    device_limits_->Set(handle.profile_name(), [this](const PodInfo& pod, const auto& known) {
      return FindDeviceLimits(pod, known);
    });
    possible_victims_->Add(
        handle.profile_name(), kName,
        [this](const PodInfo& victim, const PodInfo& pod) { return MayEverEvict(victim, pod); });
  }

  absl::string_view Name() const override { return kName; }
  absl::Span<const StateUse> StateUses() const override;

  // Rejects a pod that would take its quota over its max, or all quotas together over the sum of
  // their mins.
  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult& result) override;
  Status AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                const NodeInfo& node) override;
  Status RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                   const NodeInfo& node) override;
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result) override;

  // A reserved pod is assumed, and therefore charged by OnPodAssigned() already; taking it back
  // releases it.
  Status Reserve(CycleState&, const PodInfo&, absl::string_view) override {
    return Status::Success();
  }
  void Unreserve(CycleState&, const PodInfo&, absl::string_view) override {}
  void OnPodAssigned(const PodInfo& pod, const NodeInfo& node) override {
    ledger_.Charge(pod, node.name());
    book_.OnAssigned(pod, node);
    refused_takers_.FiguresChanged();
    NoteMissingClaims(pod, node);
    status_.Touch();
  }
  void OnPodUnassigned(const PodInfo& pod, const NodeInfo&) override {
    missing_claims_.Erase(*pod.identity());
    ledger_.Release(pod);
    book_.OnUnassigned(pod);
    status_.Touch();
  }
  void OnPodPending(const PodInfo& pod) override {
    if (book_.OnPending(pod)) refused_takers_.FiguresChanged();
    status_.Touch();
  }
  void OnPodGone(const PodInfo& pod) override {
    refused_takers_.Remove(*pod.identity());
    if (book_.OnGone(pod)) refused_takers_.FiguresChanged();
    status_.Touch();
  }
  void OnSynced() override {
    book_.Refresh();  // the first attempt is for who is first by the quotas
    status_.Begin();
    warnings_.Begin();
  }

  // A pod that goes or shrinks, and any change of a quota's min or max.
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }
  // Who may evict whom depends on the quotas, and which devices a claim may be given.
  bool WaitsForEvents(const PodInfo& pod) const override {
    return pod.preemption_policy() != PreemptionPolicy::kNever ||
           DeviceLimitsOf(book_, pod) != nullptr;
  }

  // In a tree of quotas (docs/quota.md), for plans over several nodes.
  Status BeginTrial(const CycleState& state, absl::Span<const PodInfo* const> preemptors,
                    std::unique_ptr<VictimTrial>& trial) override {
    return tree_.BeginTrial(state, preemptors, trial);
  }

  // In a tree: see TreeAdmission.
  std::optional<bool> NominationCountsFor(const PodInfo& nominated,
                                          const PodInfo& pod) const override {
    return tree_.NominationCountsFor(nominated, pod);
  }

  // In a tree: `order` and `queueing`. Without one all entries wait in one line.
  uint64_t LinesVersion() override {
    return book_.tree_version();  // as of the last attempt: between attempts nodes() may be older
  }
  int LineOf(const PodInfo& pod) override {
    return book_.has_tree() ? book_.QuotaOf(pod).value_or(QuotaTree::kCluster)
                            : QuotaTree::kCluster;
  }
  int Compare(int line, const QueuedPodInfo& a, const QueuedPodInfo& b) override;
  bool IsStrict(int line) override;
  std::unique_ptr<QueueContest> NewContest() override;

  const QuotaLedger& ledger() const { return ledger_; }
  const QuotaBook& book() const { return book_; }

  // For a tree: what nominated pods are charged counts as used, and a line of some nodes is a
  // resource of its own.
  std::vector<QuotaFigure> ReportQuotas() override;

  void ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                      WaitingFor& waiting) const override;

 private:
  // The books follow what has changed.
  void Refresh();
  // As DeviceLimits::Find. While a plan is made the books are as that has them, without the pod.
  DeviceLimits::Ptr FindDeviceLimits(const PodInfo& pod, const DeviceLimits::Ptr& known);
  // As PossibleVictims.
  bool MayEverEvict(const PodInfo& victim, const PodInfo& pod);
  void AddNominatedPods(const PodInfo& pod, const Quota& quota, QuotaState& state);
  Status PlanOverNodes(const CycleState& state, const QuotaState& quota_state, const PodInfo& pod,
                       const NodeStatuses& statuses, Status not_on_one, PostFilterResult& result);
  // A pod may be seen on its node before its claims are: it is charged for these when they are
  // there.
  void NoteMissingClaims(const PodInfo& pod, const NodeInfo& node);
  void ChargeMissedClaims();

  Handle& handle_;
  // Kept: the plugins that ask may be made later.
  const std::shared_ptr<DeviceLimits> device_limits_;
  const std::shared_ptr<PossibleVictims> possible_victims_;
  QuotaLedger ledger_;
  NominatedUsage nominated_;
  QuotaRules rules_;
  mutable QuotaBook book_;  // what-if changes are taken back
  Preemption preemption_;
  QuotaStatus status_;
  RefusedTakers refused_takers_;
  ExpectedPods expected_;
  ShortRows short_rows_;
  TreeAdmission tree_;
  QuotaWarnings warnings_;
  IdentityMap<Symbol, ByUid> missing_claims_;  // nodes of pods
  uint64_t claims_version_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_CAPACITY_SCHEDULING_H_
