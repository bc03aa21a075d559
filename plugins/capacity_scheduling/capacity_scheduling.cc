// SPDX-License-Identifier: Apache-2.0
// Admission by quota. scheduler-plugins capacityscheduling/capacity_scheduling.go.
#include "plugins/capacity_scheduling/capacity_scheduling.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/scheduling_berth_dev.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/framework/placement.h"
#include "google/protobuf/util/message_differencer.h"
#include "plugins/capacity_scheduling/claimed_devices.h"
#include "plugins/capacity_scheduling/ledger_trial.h"
#include "plugins/capacity_scheduling/quota_order.h"
#include "plugins/capacity_scheduling/quota_state.h"
#include "plugins/capacity_scheduling/tree_report.h"
#include "plugins/capacity_scheduling/victim_plan.h"

namespace berth {
namespace {

constexpr absl::string_view kMoreThanMax = " is more than Max";

using QuantityMap = google::protobuf::Map<std::string, api::Quantity>;

bool SameText(const QuantityMap& a, const QuantityMap& b) {
  return a.size() == b.size() && absl::c_all_of(a, [&b](const auto& entry) {
           const auto other = b.find(entry.first);
           return other != b.end() && other->second.string() == entry.second.string();
         });
}

// What a controller writes into the status of a quota helps no pod.
bool BoundsChanged(const ObjectChange& change) {
  if (change.old_object == nullptr || change.new_object == nullptr) return true;
  const api::ElasticQuotaSpec& before = change.old_object->As<api::ElasticQuota>().spec();
  const api::ElasticQuotaSpec& after = change.new_object->As<api::ElasticQuota>().spec();
  const bool same = SameText(before.min(), after.min()) && SameText(before.max(), after.max());
  // In a tree labels say more.
  return !same || IsMarkedForTree(*change.old_object) || IsMarkedForTree(*change.new_object);
}

// Nor what one writes into the status of a ClusterQuota.
bool ClusterQuotaChanged(const ObjectChange& change) {
  if (change.old_object == nullptr || change.new_object == nullptr) return true;
  return !google::protobuf::util::MessageDifferencer::Equals(
      change.old_object->As<api::ClusterQuota>().spec(),
      change.new_object->As<api::ClusterQuota>().spec());
}

// Whether the pod may run on the node as far as that says of itself, without what it has room for.
bool IsOpenTo(const PodInfo& pod, const NodeInfo& node) {
  static const Taint cordon = {Symbol::Intern("node.kubernetes.io/unschedulable"), Symbol(),
                               TaintEffect::kNoSchedule};
  const absl::Span<const Toleration> tolerations = pod.tolerations();
  return (!node.unschedulable() || Tolerates(tolerations, cordon)) &&
         FindUntoleratedTaint(node.taints(), tolerations, PreventsScheduling) == nullptr &&
         pod.required_node_affinity().Matches(node.labels(), node.name());
}

// Whether the claim has devices, and had none or was not there.
bool HasDevicesNow(const ObjectChange& change) {
  const auto has_devices = [](const Object* claim) {
    return claim != nullptr && claim->As<api::ResourceClaim>().status().has_allocation();
  };
  return has_devices(change.new_object) && !has_devices(change.old_object);
}

// Whether pods use the claim, and none did.
bool IsInUseNow(const ObjectChange& change) {
  const auto is_in_use = [](const Object* claim) {
    return claim != nullptr && !claim->As<api::ResourceClaim>().status().reserved_for().empty();
  };
  return is_in_use(change.new_object) && !is_in_use(change.old_object);
}

// How many evictions of the plan violate a budget.
int Violations(const PostFilterResult& plan) {
  return plan.candidates[plan.equally_good.front()]->pdb_violations;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> CapacityScheduling::Create(const PluginArgs&,
                                                                   Handle& handle) {
  handle.Watch(Kind::kNamespace);  // for selectors of namespaces
  return std::make_unique<CapacityScheduling>(handle);
}

void CapacityScheduling::AddNominatedPods(const PodInfo& pod, const Quota& quota,
                                          QuotaState& state) {
  nominated_.Refresh(handle_.nominator(), handle_.nodes());
  ResourceVector of_quota = nominated_.SumFrom(quota.namespace_name, pod.priority());
  const NominatedUsage::Request* own = nominated_.Find(*pod.identity());
  if (own != nullptr && own->priority >= pod.priority()) of_quota.Subtract(own->amount);
  state.pending_of_quota.Add(of_quota);
  state.pending_of_all.Add(of_quota);

  nominated_.ForEachNamespace([&](Symbol name, const ResourceVector& sum) {
    const Quota* other = ledger_.Find(name);
    if (other == nullptr || other == &quota || OverMin(ledger_, state, *other)) return;
    state.pending_of_all.Add(Restrict(sum, *other));
  });
}

absl::Span<const StateUse> CapacityScheduling::StateUses() const {
  using Point = ExtensionPoint;
  static constexpr StateUse kUses[] = {{Point::kPostFilter, Point::kPreFilter}};
  return kUses;
}

void CapacityScheduling::Refresh() {
  ChargeMissedClaims();
  ledger_.Recount([this](const auto& recount) {
    const NodeTable& table = handle_.nodes();
    for (NodeRow row = 0; row < table.size(); ++row) {
      for (const auto& one : table.node(row).pods()) recount(*one, table.node(row).name());
    }
  });
  const uint64_t tree_before = book_.tree_version();
  book_.Refresh();
  if (book_.tree_version() != tree_before) status_.Touch();
}

DeviceLimits::Ptr CapacityScheduling::FindDeviceLimits(const PodInfo& pod,
                                                       const DeviceLimits::Ptr& known) {
  if (book_.what_ifs() > 0) return DeviceLimitsOf(book_, pod);
  if (known != nullptr) return known;
  Refresh();
  if (!book_.has_tree()) return nullptr;
  const QuotaBook::WithoutNomination without_nomination(book_, pod);
  return DeviceLimitsOf(book_, pod);
}

// Between quotas figures decide, which change.
bool CapacityScheduling::MayEverEvict(const PodInfo& victim, const PodInfo& pod) {
  if (book_.what_ifs() == 0) Refresh();
  const bool is_lower = victim.priority() < pod.priority();
  if (!book_.has_tree()) return is_lower || victim.namespace_name() != pod.namespace_name();
  const std::optional<QuotaId> quota = book_.QuotaOf(pod), of_victim = book_.QuotaOf(victim);
  if (!quota.has_value()) return is_lower && !of_victim.has_value();
  if (quota != of_victim) return of_victim.has_value();
  switch (book_.tree().spec(*quota).preemption) {
    case QuotaPreemption::kLowerPriority:
      return is_lower;
    case QuotaPreemption::kLowerOrNewerEqualPriority:
      return victim.priority() <= pod.priority();
    case QuotaPreemption::kNever:
      break;
  }
  return false;
}

Status CapacityScheduling::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                     PreFilterResult& result) {
  Refresh();
  warnings_.Look();
  if (book_.has_tree()) {
    Status status = tree_.PreFilter(state, pod, nodes, result);
    // AddPod() and RemovePod() have nothing to follow.
    const bool narrows = result.node_names.has_value();
    return status.ok() && !narrows ? Status::Skip() : status;
  }
  ledger_.Refresh(handle_.objects());
  auto owned_state = std::make_unique<QuotaState>();
  QuotaState& quota_state = *owned_state;
  state.Write(kQuotaState, std::move(owned_state));
  const Quota* quota = ledger_.Find(pod.namespace_name());
  if (quota == nullptr) return Status::Success();

  quota_state.request = ledger_.NewRequestOf(pod);
  quota_state.request.ForEach([&](ResourceId id, int64_t) {
    if (quota->Names(id)) quota_state.claimed.push_back(id);
  });
  quota_state.counted = quota_state.claimed;
  ledger_.total_min().ForEach([&](ResourceId id) {
    if (!IsScalar(id) || absl::c_linear_search(quota_state.counted, id)) return;
    quota_state.counted.push_back(id);
  });
  quota_state.changes.SetResources(quota_state.counted);
  quota_state.changes.Join(ledger_, pod);
  quota_state.pending_of_quota = quota_state.pending_of_all = quota_state.request;
  AddNominatedPods(pod, *quota, quota_state);

  QuotaRoom room(ledger_, quota_state, *quota, QuotaRoom::Moment::kNow,
                 quota_state.pending_of_quota, quota_state.pending_of_all);
  if (room.OverMax()) {
    return Status::Unschedulable(absl::StrCat("Pod ", pod.key(),
                                              " is rejected in PreFilter because ElasticQuota ",
                                              pod.namespace_name().view(), kMoreThanMax));
  }
  if (room.TotalOverMin()) {
    return Status::Unschedulable(
        absl::StrCat("Pod ", pod.key(),
                     " is rejected in PreFilter because total ElasticQuota used is more than min"));
  }
  return Status::Success();
}

void CapacityScheduling::NoteMissingClaims(const PodInfo& pod, const NodeInfo& node) {
  if (pod.spec().resource_claims().empty()) return;
  if (DevicesClaimedBy(pod, handle_.objects(), book_.devices()).is_complete) return;
  *missing_claims_.FindOrAdd(pod.identity()).first = node.name();
}

void CapacityScheduling::ChargeMissedClaims() {
  const uint64_t version = handle_.objects().version(Kind::kResourceClaim);
  if (std::exchange(claims_version_, version) == version) return;
  std::vector<std::pair<std::shared_ptr<const PodInfo>, NodeRow>> there;
  const NodeTable& nodes = handle_.nodes();
  missing_claims_.ForEach([&](const Identity& pod, const Symbol& node) {
    const NodeRow row = nodes.FindRow(node);
    if (row < 0) return;
    for (const std::shared_ptr<const PodInfo>& one : nodes.node(row).pods()) {
      if (one->uid() == pod.uid() &&
          DevicesClaimedBy(*one, handle_.objects(), book_.devices()).is_complete) {
        there.emplace_back(one, row);
      }
    }
  });
  for (const auto& [pod, row] : there) {
    OnPodUnassigned(*pod, nodes.node(row));
    OnPodAssigned(*pod, nodes.node(row));
  }
}

Status CapacityScheduling::AddPod(CycleState& state, const PodInfo&, const PodInfo& added,
                                  const NodeInfo&) {
  if (TreeAdmission::Saw(state)) return Status::Success();
  QuotaState* quota_state = state.FindMutable(kQuotaState);
  if (quota_state == nullptr) return Status::Error("CapacityScheduling did not see the pod");
  quota_state->changes.Add(ledger_, added);
  return Status::Success();
}

Status CapacityScheduling::RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                                     const NodeInfo&) {
  if (TreeAdmission::Saw(state)) return Status::Success();
  QuotaState* quota_state = state.FindMutable(kQuotaState);
  if (quota_state == nullptr) return Status::Error("CapacityScheduling did not see the pod");
  quota_state->changes.Remove(ledger_, removed);
  return Status::Success();
}

Status CapacityScheduling::PostFilter(CycleState& state, const PodInfo& pod,
                                      const NodeStatuses& statuses, PostFilterResult& result) {
  if (TreeAdmission::Saw(state)) return tree_.PostFilter(state, pod, statuses, result);
  QuotaState* const quota_state = state.FindMutable(kQuotaState);
  const PlacedTogether* const together = state.Find(kPlacedTogether);
  if (quota_state != nullptr && together != nullptr) {
    const std::vector<std::string> of_pod = ledger_.ClaimsOf(pod);
    absl::flat_hash_set<std::string> counted_claims(of_pod.begin(), of_pod.end());
    for (const PodInfo* const sibling : together->pods) {
      if (sibling == &pod || sibling->namespace_name() != pod.namespace_name()) continue;
      const NominatedUsage::Request* const counted = nominated_.Find(*sibling->identity());
      if (counted != nullptr && counted->priority >= pod.priority()) continue;
      quota_state->together.Add(ledger_.RequestOf(*sibling, [&](const std::string& claim) {
        return ledger_.FindClaim(claim) == nullptr && counted_claims.insert(claim).second;
      }));
    }
  }
  Status status = preemption_.Run(rules_, state, pod, statuses, result);
  if (quota_state == nullptr) return status;
  const bool found_none = status.IsRejected() && result.nominated_node == "";
  if (found_none) {
    return PlanOverNodes(state, *quota_state, pod, statuses, std::move(status), result);
  }
  if (status.ok() && Violations(result) > 0) {
    PostFilterResult over_nodes;
    Status planned =
        PlanOverNodes(state, *quota_state, pod, statuses, Status::Unschedulable(""), over_nodes);
    if (planned.ok() && Violations(over_nodes) < Violations(result)) result = std::move(over_nodes);
  }
  return status;
}

// No node by itself holds enough of what others borrowed, or not without violating budgets. Where
// the quotas have room, evictions elsewhere would not help.
Status CapacityScheduling::PlanOverNodes(const CycleState& state, const QuotaState& quota_state,
                                         const PodInfo& pod, const NodeStatuses& statuses,
                                         Status not_on_one, PostFilterResult& result) {
  if (!rules_.TakesBack(quota_state, pod)) return not_on_one;
  LedgerTrial trial(ledger_, rules_, handle_, quota_state, pod);
  if (trial.HasRoom().ok()) return not_on_one;
  AllVictims units(handle_.nodes(), trial.Units());
  expected_.Refresh(handle_.nodes(), handle_.nominator());
  std::vector<NodeRow> rows = statuses.RowsWith(Code::kUnschedulable);
  KeepInPlacement(state, rows);
  Status planned = PlanVictims({handle_, state, pod, std::move(rows), preemption_.budgets(), book_,
                                expected_, short_rows_, trial, units},
                               result);
  const bool waits = !result.nominated_node.has_value();
  return planned.ok() || waits ? planned : not_on_one;
}

int CapacityScheduling::Compare(int line, const QueuedPodInfo& a, const QueuedPodInfo& b) {
  return line < book_.tree().size() ? ComparePods(book_.tree().spec(line), a, b) : 0;
}

bool CapacityScheduling::IsStrict(int line) {
  return line < book_.tree().size() &&
         book_.tree().spec(line).queueing == QuotaQueueing::kStrictFifo;
}

std::unique_ptr<QueueContest> CapacityScheduling::NewContest() {
  return std::make_unique<QuotaContest>(book_, handle_);
}

std::vector<ClusterEventWithHint> CapacityScheduling::EventsToRegister() const {
  const auto devices_changed = [this](const PodInfo&,
                                      const ObjectChange&) -> absl::StatusOr<QueueingHint> {
    return QueueIf(book_.has_tree() && book_.sees_devices());
  };
  return {{{EventResource::Pod(), action::kDelete | action::kUpdatePodScaleDown}, nullptr},
          {.event = {EventResource::Of(Kind::kElasticQuota), action::kAll},
           .hint = nullptr,
           .filter = &BoundsChanged},
          {.event = {EventResource::Of(Kind::kClusterQuota), action::kAll},
           .hint = nullptr,
           .filter = &ClusterQuotaChanged},
          // The cluster has more to lend.
          {{EventResource::Node(), action::kAdd | action::kUpdateNodeAllocatable},
           [this](const PodInfo&, const ObjectChange&) -> absl::StatusOr<QueueingHint> {
             return QueueIf(book_.has_tree());
           }},
          // Others may have been spared because the pod could not run where they do.
          {{EventResource::Node(), action::kUpdateNodeTaint | action::kUpdateNodeLabel},
           [this](const PodInfo& pod, const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
             return QueueIf(book_.has_tree() && IsOpenTo(pod, *change.new_node) &&
                            (change.old_node == nullptr || !IsOpenTo(pod, *change.old_node)));
           }},
          // A claim that has devices is charged for these, no more for all that they might be; and
          // who shares one that others use by now is charged nothing for it.
          {{EventResource::Of(Kind::kResourceClaim), action::kAdd | action::kUpdate},
           [this](const PodInfo& pod, const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
             if (!book_.has_tree() || change.new_object == nullptr) return QueueingHint::kSkip;
             const auto& claim = change.new_object->As<api::ResourceClaim>();
             const bool is_charged_less =
                 HasDevicesNow(change) && book_.devices().ChangesWithDevices(claim);
             return QueueIf(is_charged_less ||
                            (IsInUseNow(change) && RefersTo(pod, claim, handle_.objects())));
           }},
          // Devices are others, or count as less.
          {{EventResource::Of(Kind::kResourceSlice), action::kAll}, devices_changed},
          {{EventResource::Of(Kind::kDeviceClass), action::kAll}, devices_changed}};
}

// The first resource by name that is over its bound; a pod that asks for more than the bound itself
// will never be admitted.
void CapacityScheduling::ExplainWaiting(const PodInfo& pod, const Status& rejection,
                                        const NodeTable&, WaitingFor& waiting) const {
  if (book_.has_tree()) return tree_.ExplainWaiting(pod, waiting);
  const bool own_max = absl::EndsWith(rejection.message(), kMoreThanMax);
  waiting.reason = own_max ? WaitingReason::kQuotaMax : WaitingReason::kWaitingForQuota;
  const Quota* quota = ledger_.Find(pod.namespace_name());
  if (quota == nullptr) return;
  if (own_max) waiting.quota = absl::StrCat("ElasticQuota ", quota->namespace_name.view());
  const ResourceVector& used =
      own_max ? ledger_.UsageOf(quota->namespace_name).used : ledger_.total_usage().used;
  const ResourceBounds& bounds = own_max ? quota->max : ledger_.total_min();
  ledger_.NewRequestOf(pod).ForEach([&](ResourceId id, int64_t amount) {
    const int64_t* bound = quota->Names(id) ? bounds.Find(id) : nullptr;
    if (bound == nullptr || used.Get(id) + amount <= *bound) return;
    const std::string name(ResourceName(id));
    if (!waiting.resource.empty() && waiting.resource < name) return;
    waiting.resource = name;
    waiting.needed = amount;
    waiting.quota_used = used.Get(id);
    waiting.quota_limit = *bound;
    if (amount > *bound) waiting.reason = WaitingReason::kQuotaMisconfigured;
  });
}

// --- For people ---

std::vector<QuotaFigure> CapacityScheduling::ReportQuotas() {
  // The tree as of the last attempt: between attempts Handle's nodes may be older than what was
  // charged, and a tree that is built anew of them would miss pods.
  book_.RefreshNominations();
  if (book_.has_tree()) return ReportTree(book_.tree());
  ledger_.Refresh(handle_.objects());
  std::vector<QuotaFigure> figures;
  for (const Symbol name : ledger_.namespaces()) {
    const Quota& quota = *ledger_.Find(name);
    const ResourceVector& used = ledger_.UsageOf(name).used;
    ResourceBounds named = quota.min;
    named.Add(quota.max);
    named.ForEach([&](ResourceId id) {
      const auto in_units = [id](int64_t amount) { return QuantityOf(id, amount).AsDouble(); };
      QuotaFigure& figure = figures.emplace_back();
      figure.quota = absl::StrCat(name.view(), "/", quota.object_name);
      figure.resource = std::string(ResourceName(id));
      if (const int64_t* const min = quota.min.Find(id)) figure.min = in_units(*min);
      if (const int64_t* const max = quota.max.Find(id)) figure.max = in_units(*max);
      figure.used = in_units(used.Get(id));
    });
  }
  return figures;
}

}  // namespace berth
