// SPDX-License-Identifier: Apache-2.0
// The extension points of DynamicResources, in the order in which they run.
#include "plugins/dynamic_resources/dynamic_resources.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/time.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "plugins/dynamic_resources/allocation_score.h"
#include "plugins/dynamic_resources/binding_conditions.h"
#include "plugins/dynamic_resources/claim_hints.h"
#include "plugins/dynamic_resources/claim_writes.h"
#include "plugins/dynamic_resources/device_notes.h"
#include "plugins/dynamic_resources/device_sums.h"
#include "plugins/dynamic_resources/fields_of_gates.h"
#include "plugins/dynamic_resources/nodes_by_devices.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {
namespace {

constexpr absl::Duration kBindingTimeout = absl::Minutes(10);

constexpr char kContinued[] = "the search for devices is to be continued";

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> DynamicResources::Create(const PluginArgs& args,
                                                                 Handle& handle) {
  auto plugin = std::make_unique<DynamicResources>(handle, args.As<DynamicResourcesArgs>());
  if (plugin->devices_->inventory().features() != args.As<DynamicResourcesArgs>().Features()) {
    return absl::InvalidArgumentError(
        "featureGates must be the same in all profiles, since they share the devices");
  }
  return plugin;
}

DynamicResources::DynamicResources(Handle& handle, const DynamicResourcesArgs& args)
    : handle_(handle),
      limits_(handle.Shared<DeviceLimits>()),
      preempts_(args.preempt_for_devices),
      binding_timeout_(args.Features().binding_conditions
                           ? std::optional(args.binding_timeout.value_or(kBindingTimeout))
                           : std::nullopt),
      scoring_(DeviceScoringNamed(args.device_scoring)),
      devices_(handle.Shared<ClusterDevices>()),
      classes_(args.Features().extended_resources ? handle.Shared<ExtendedResourceClasses>()
                                                  : nullptr),
      reader_(handle, *devices_, classes_, binding_timeout_,
              preempts_ ? handle.Shared<PossibleVictims>() : nullptr),
      allocations_(*devices_, args.FilterTimeout(), scoring_),
      gang_(*devices_),
      verdicts_(handle, allocations_, gang_, scoring_, preempts_),
      preemption_(handle, *devices_, reader_, preempts_),
      gone_in_plan_(handle.Shared<GoneInPlan>()),
      nominated_(handle.Shared<NominatedDevices>()),
      shared_holdings_(preempts_ ? handle.Shared<SharedHoldings>() : nullptr),
      shared_claims_(preempts_ ? std::make_shared<SharedClaims>(handle, devices_) : nullptr),
      binding_(handle, devices_, binding_timeout_) {
  devices_->SetFeatures(args.Features());
  if (preempts_) {
    nominated_->Enable(handle.profile_name());
    shared_holdings_->Set(handle.profile_name(),
                          [claims = shared_claims_](const CycleState& state, const PodInfo& pod) {
                            return claims->For(state, pod);
                          });
  }
  if (classes_ == nullptr) return;
  classes_->Enable(handle.profile_name());
  classes_->SetCount(
      [devices = devices_](const api::DeviceClass& device_class, const NodeInfo& node) {
        return CountDevicesOfClass(device_class, devices->inventory(), node.name(), node.labels(),
                                   [&](const DeviceId& device) {
                                     return devices->Holds(device) ||
                                            devices->Consumed(device).has_value();
                                   });
      },
      [devices = devices_, &handle] { devices->Update(handle.objects(), handle.clock()); });
}

std::string DynamicResources::GroupOf(const PodInfo& pod) const {
  return handle_.groups().GroupOfPod(pod.uid()).value_or("");
}

std::shared_ptr<const NominatedUses> DynamicResources::FindNominated(
    const PodInfo& pod, absl::Span<const PodClaim> claims) const {
  nominated_->Update({handle_, *devices_, reader_, allocations_, *limits_});
  return nominated_->For(pod, claims);
}

// --- PreEnqueue and PreFilter: which claims ------------------------------------------------------

Status DynamicResources::PreEnqueue(const PodInfo& pod) {
  if (!HasResourceClaims(pod)) return Status::Success();
  std::vector<PodClaim> claims;
  const absl::Status found = FindPodClaims(pod, handle_.objects(), claims);
  return found.ok() ? Status::Success()
                    : Status::UnschedulableAndUnresolvable(std::string(found.message()));
}

absl::Span<const StateUse> DynamicResources::StateUses() const {
  using Point = ExtensionPoint;
  static constexpr StateUse kUses[] = {{Point::kFilter, Point::kPreFilter},
                                       {Point::kPostFilter, Point::kPreFilter},
                                       {Point::kScore, Point::kPreFilter},
                                       {Point::kReserve, Point::kPreFilter},
                                       {Point::kPreBind, Point::kPreFilter}};
  return kUses;
}

Status DynamicResources::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                                   PreFilterResult&) {
  state.Delete(kClaimsState);
  if (!reader_.MayUseDevices(pod)) return Status::Skip();
  auto of_pod = std::make_shared<ClaimsOfPod>();
  preemption_.Begin(state, pod);
  Status read = reader_.Read(pod, *of_pod);
  if (!read.ok()) return read;
  of_pod->nominated = FindNominated(pod, of_pod->claims);
  of_pod->limits = FindLimits(pod);
  of_pod->allocations = allocations_.Of(*of_pod);
  const std::string group = GroupOf(pod);
  gang_.Begin(group);
  const bool joins =
      absl::c_any_of(of_pod->in_flight, [](const auto& made) { return made != nullptr; });
  of_pod->may_exchange = gang_.MayExchange(group, of_pod->asked, joins);
  auto data = std::make_unique<ClaimsState>();
  data->limits = of_pod->limits;
  data->pod = std::move(of_pod);
  preemption_.RemoveGoneInPlan(state, pod, *data);
  state.Write(kClaimsState, std::move(data));
  return Status::Success();
}

Status DynamicResources::AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                const NodeInfo&) {
  ClaimsState* const data = state.FindMutable(kClaimsState);
  if (data == nullptr) return Status::Success();
  preemption_.Add(added, *data);
  FollowLimits(pod, *data);
  return Status::Success();
}

Status DynamicResources::RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                                   const NodeInfo&) {
  ClaimsState* const data = state.FindMutable(kClaimsState);
  if (data == nullptr) return Status::Success();
  data->are_others_gone = true;
  preemption_.Remove(state, pod, removed, *data);
  FollowLimits(pod, *data);
  return Status::Success();
}

void DynamicResources::FollowLimits(const PodInfo& pod, ClaimsState& data) const {
  if (data.pod->limits == nullptr) return;
  data.limits = limits_->For(handle_.profile_name(), pod, data.pod->limits);
}

// --- Filter: which nodes -------------------------------------------------------------------------

Status DynamicResources::Filter(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const {
  const absl::StatusOr<const ClaimsState*> read = state.Read(kClaimsState);
  if (!read.ok()) return HasResourceClaims(pod) ? Status::Error(read.status()) : Status::Success();
  const absl::StatusOr<ClaimVerdict> verdict = verdicts_.On(**read, node);
  if (!verdict.ok()) return Status::Error(verdict.status());
  const bool are_missing = *verdict != ClaimVerdict::kFeasible;
  if (are_missing && (*read)->are_others_gone && !state.for_explanation()) {
    without_devices_.Note(pod);
  }
  return verdicts_.StatusOf(*verdict, *(*read)->pod, node);
}

// Unless it is feasible.
void DynamicResources::Reject(NodeRow row, ClaimVerdict verdict, Code code,
                              NodeVerdicts& verdicts) const {
  if (verdict == ClaimVerdict::kFeasible) return;
  verdicts.Set(row, code,
               ClaimVerdicts::SharesText(verdict) ? static_cast<uint8_t>(verdict)
                                                  : NodeVerdicts::kNoReasonId);
}

Status DynamicResources::FilterNodes(const CycleState& state, const PodInfo& pod,
                                     const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const absl::StatusOr<const ClaimsState*> read = state.Read(kClaimsState);
  if (!read.ok()) return HasResourceClaims(pod) ? Status::Error(read.status()) : Status::Success();
  const ClaimsOfPod& claims = *(*read)->pod;
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  const std::vector<uint64_t> classes =
      ClaimVerdicts::IsByClass(**read)
          ? claims.allocations->nodes_by_devices->ClassesOfRows(nodes, rows)
          : std::vector<uint64_t>(rows.size(), NodesByDevices::kNone);
  absl::flat_hash_map<uint64_t, ClaimVerdict> of_class;
  auto left = static_cast<int>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const NodeRow row = rows[i];
    const NodeInfo& node = nodes.node(row);
    --left;
    const auto reject = [&](ClaimVerdict verdict) {
      Reject(row, verdict, verdicts_.CodeOf(verdict, claims, node), verdicts);
    };
    const auto known = of_class.find(classes[i]);
    if (known != of_class.end()) {
      reject(known->second);
      continue;
    }
    if (state.work_budget().IsSpent() && claims.may_allocate() &&
        !allocations_.Find(claims, node).has_value() &&
        NodeAllocations::Yields(claims, state, left)) {
      return Status::Error(kContinued);
    }
    const absl::StatusOr<ClaimVerdict> verdict = verdicts_.On(**read, node);
    NodeAllocations::Spend(claims, state.work_budget());
    if (!verdict.ok()) return Status::Error(verdict.status());
    if (classes[i] != NodesByDevices::kNone) of_class.emplace(classes[i], *verdict);
    reject(*verdict);
  }
  claims.allocations->left_at_last_yield = std::numeric_limits<int>::max();
  return Status::Success();
}

std::vector<std::string> DynamicResources::SharedBy(const PodInfo& pod) const {
  std::vector<std::string> names;
  const absl::string_view space = pod.namespace_name().view();
  for (const api::PodResourceClaim& reference : pod.spec().resource_claims()) {
    if (!reference.has_resource_claim_name()) continue;
    const std::string& name = reference.resource_claim_name();
    const Object* const claim = handle_.objects().Find(Kind::kResourceClaim, space, name);
    if (claim == nullptr || claim->As<api::ResourceClaim>().status().has_allocation()) continue;
    names.emplace_back(claim->key());
  }
  return names;
}

bool DynamicResources::HoldsForOtherNodes(const PodInfo& pod) const {
  return shared_claims_ != nullptr && shared_claims_->HasUser(pod);
}

std::string DynamicResources::WhyNotAllTried(const PodInfo& pod) const {
  return reader_.MayUseDevices(pod) ? gang_.WhyNotAllTried() : "";
}

std::unique_ptr<CountedNeeds> DynamicResources::CountNeeds(
    absl::Span<const std::shared_ptr<const PodInfo>> pods) const {
  return DeviceSums::Of(pods, handle_, *devices_, {preempts_, *gone_in_plan_, without_devices_});
}

// --- PostFilter: no node -------------------------------------------------------------------------

bool DynamicResources::MayHelp(const PodInfo& pod) { return reader_.MayUseDevices(pod); }

bool DynamicResources::FreesLowerPriorityOnly(const PodInfo& pod) {
  std::vector<PodClaim> claims;
  if (classes_ != nullptr && RequestsDeviceResources(pod)) return false;
  return FindPodClaims(pod, handle_.objects(), claims).ok() &&
         absl::c_none_of(
             claims, [](const PodClaim& claim) { return claim.claim().status().has_allocation(); });
}

Status DynamicResources::PostFilter(CycleState& state, const PodInfo& pod,
                                    const NodeStatuses& statuses, PostFilterResult&) {
  const ClaimsState* const data = state.Find(kClaimsState);
  if (data == nullptr) return Status::Unschedulable("no new claims to deallocate");
  if (preemption_.Waits(state, pod, statuses, Symbol::Intern(kName))) {
    return Status::UnschedulableAndUnresolvable(
        "waiting for the devices of claims that nobody uses any more on the nominated node");
  }
  nominated_->Forget(pod);
  const ClaimsOfPod& claims = *data->pod;
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const PodClaim& claim = claims.claims[i];
    if (!claims.available_on[i].has_value() && claims.lost[i].empty()) continue;
    if (claims.in_flight[i] != nullptr) continue;
    if (!MayBeDeallocated(claim.claim(), pod.uid())) continue;
    if (!IsInTheWay(*data, i, statuses)) continue;
    if (!state.for_explanation()) Deallocate(claim.object, pod.uid(), handle_);
    return Status::Unschedulable("deallocation of ResourceClaim completed");
  }
  if (claims.special != nullptr && claims.special->is_stale()) {
    if (!state.for_explanation()) DeleteClaim(claims.claims.back().object, handle_);
    return Status::Unschedulable("deletion of ResourceClaim completed");
  }
  return Status::Unschedulable("still not schedulable");
}

// Found again from the nodes, and not noted while filtering: verdicts of filters may have been
// cached.
bool DynamicResources::IsInTheWay(const ClaimsState& data, size_t claim,
                                  const NodeStatuses& statuses) const {
  const ClaimsOfPod& claims = *data.pod;
  const Symbol own_name = Symbol::Intern(kName);
  const std::optional<NodeSelector>& available_on = claims.available_on[claim];
  const NodeTable& nodes = handle_.nodes();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    if (claims.lost[claim].empty() && available_on->Matches(node.labels(), node.name())) continue;
    if (statuses.rejecting_plugin(row) != own_name) continue;
    const absl::StatusOr<ClaimVerdict> verdict = verdicts_.On(data, node);
    if (verdict.ok() && *verdict == ClaimVerdict::kUnavailable) return true;
  }
  return false;
}

// --- Score: which node is best -------------------------------------------------------------------

// Nothing to allocate is as good as devices whose loss harms no pod.
absl::StatusOr<int64_t> DynamicResources::Score(const CycleState& state, const PodInfo&,
                                                const NodeInfo& node) const {
  const ClaimsState* const data = state.Find(kClaimsState);
  if (data == nullptr || !data->pod->may_allocate()) return 0;
  const ClaimsOfPod& claims = *data->pod;
  if (ClaimVerdicts::OnSpecialClaim(claims, node) != ClaimVerdict::kFeasible) return 0;
  const absl::StatusOr<NodeAllocations::Answer> answer = allocations_.On(claims, node);
  if (!answer.ok()) return answer.status();
  return answer->score;
}

// Nodes may be scored before they are filtered: the search for their devices yields here, too. Then
// they are not scored, and the filter says so.
absl::Status DynamicResources::ScoreNodes(const CycleState& state, const PodInfo& pod,
                                          const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                          absl::Span<int64_t> scores) const {
  if (UniformScore(state, pod, nodes).has_value()) {
    absl::c_fill(scores, 0);
    return absl::OkStatus();
  }
  const ClaimsOfPod& claims = *state.Find(kClaimsState)->pod;
  WorkBudget& budget = state.work_budget();
  for (size_t i = 0; i < rows.size(); ++i) {
    const NodeInfo& node = nodes.node(rows[i]);
    if (budget.IsSpent() &&
        ClaimVerdicts::OnSpecialClaim(claims, node) == ClaimVerdict::kFeasible &&
        !allocations_.Find(claims, node).has_value()) {
      return absl::AbortedError(kContinued);
    }
    const absl::StatusOr<int64_t> score = Score(state, pod, node);
    NodeAllocations::Spend(claims, budget);
    if (!score.ok()) return score.status();
    scores[i] = *score;
  }
  return absl::OkStatus();
}

// An error on any node ends the attempt, so there has to be none.
std::optional<int64_t> DynamicResources::UniformScore(const CycleState& state, const PodInfo&,
                                                      const NodeTable& nodes) const {
  const ClaimsState* const data = state.Find(kClaimsState);
  if (data == nullptr || !data->pod->may_allocate()) return 0;
  const ClaimsOfPod& claims = *data->pod;
  if (CanScoresDiffer(claims.to_allocate.claims, scoring_)) return std::nullopt;
  if (!allocations_.AnswerEverywhere(claims, nodes, state.work_budget())) return std::nullopt;
  return 0;
}

absl::Status DynamicResources::NormalizeScores(const CycleState& state, const PodInfo&,
                                               absl::Span<const NodeRow>,
                                               absl::Span<int64_t> scores) const {
  const ClaimsState* const data = state.Find(kClaimsState);
  if (data == nullptr) return absl::OkStatus();
  const bool has_scores = data->pod->may_allocate();
  NormalizeAllocationScores(has_scores ? scoring_ : DeviceScoring::kFirstFit, scores);
  return absl::OkStatus();
}

// --- Reserve: which devices ----------------------------------------------------------------------

Status DynamicResources::Reserve(CycleState& state, const PodInfo& pod,
                                 absl::string_view node_name) {
  ClaimsState* const data = state.FindMutable(kClaimsState);
  if (data == nullptr) return Status::Success();
  const ClaimsOfPod& claims = *data->pod;
  data->allocations = claims.in_flight;
  data->written.assign(claims.claims.size(), false);
  data->created.reset();
  data->reserved = nullptr;
  if (claims.may_allocate() || claims.may_exchange) {
    const NodeRow row = handle_.nodes().FindRow(Symbol::Intern(node_name));
    if (row < 0) return Status::Error(absl::StrCat("node \"", node_name, "\" not found"));
    Status status = Allocate(*data, handle_.nodes().node(row));
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    if (data->allocations[i] == nullptr) continue;
    devices_->Promise(pod.uid(), claims.claims[i].object, data->allocations[i]);
  }
  without_devices_.Forget(pod);
  nominated_->Took(pod, data->allocations, *devices_);
  gang_.Add(std::string(pod.uid()), Symbol::Intern(node_name), claims.asked, data->pod,
            data->reserved);
  return Status::Success();
}

Status DynamicResources::Allocate(ClaimsState& data, const NodeInfo& node) {
  const ClaimsOfPod& claims = *data.pod;
  if (ClaimVerdicts::OnSpecialClaim(claims, node) != ClaimVerdict::kFeasible) {
    return Status::Error("claim allocation not found for node");
  }
  const ClaimsToAllocate& on_node = *claims.ToAllocateOn(node);
  data.reserved = &on_node;
  const bool is_elsewhere = data.may_exchange() && ClaimVerdicts::IsElsewhere(claims, node);
  if (on_node.claims.empty() && !is_elsewhere) return Status::Success();
  const absl::StatusOr<NodeAllocation> allocation =
      data.is_as_found() ? allocations_.Allocate(claims, node)
                         : allocations_.With(data.released, claims, data.limits.get(), node);
  if (!allocation.ok()) return Status::Error(allocation.status());
  if (data.may_exchange() &&
      (is_elsewhere || allocation->outcome == NodeAllocation::Outcome::kImpossible)) {
    return AllocateByExchange(data, node);
  }
  return SetAllocations(data, on_node, *allocation);
}

Status DynamicResources::AllocateByExchange(ClaimsState& data, const NodeInfo& node) {
  const ClaimsOfPod& claims = *data.pod;
  const std::optional<GangDevices::Exchange> exchange = verdicts_.FindExchange(data, node);
  if (!exchange.has_value()) return Status::Error("claim allocation not found for node");
  for (const auto& [claim_uid, instead] : exchange->others) devices_->Exchange(claim_uid, instead);
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    if (data.allocations[i] == nullptr) continue;
    data.allocations[i] = devices_->InFlight(claims.claims[i].object.uid());
  }
  if (data.reserved->claims.empty()) return Status::Success();
  return SetAllocations(data, *data.reserved, exchange->own);
}

Status DynamicResources::SetAllocations(ClaimsState& data, const ClaimsToAllocate& on_node,
                                        const NodeAllocation& allocation) const {
  if (allocation.outcome != NodeAllocation::Outcome::kAllocated) {
    return Status::Error("claim allocation not found for node");
  }
  for (size_t i = 0; i < on_node.positions.size(); ++i) {
    auto result = AllocationResultOf(allocation, on_node.claims, static_cast<int>(i));
    if (!result.ok()) return Status::Error(result.status());
    data.allocations[on_node.positions[i]] = *std::move(result);
  }
  return Status::Success();
}

void DynamicResources::Unreserve(CycleState& state, const PodInfo& pod, absl::string_view) {
  ClaimsState* const data = state.FindMutable(kClaimsState);
  if (data == nullptr) return;
  gang_.Remove(pod.uid());
  binding_.TakeBack(*data, pod);
}

// --- PreBind: what is written --------------------------------------------------------------------

// All members of a gang are reserved by now.
Status DynamicResources::PreBindPreFlight(CycleState& state, const PodInfo&, absl::string_view) {
  ClaimsState* const data = state.FindMutable(kClaimsState);
  if (data == nullptr) return Status::Skip();
  gang_.End();
  for (size_t i = 0; i < data->allocations.size(); ++i) {
    if (data->allocations[i] == nullptr) continue;
    const ClusterDevices::Allocation latest = devices_->InFlight(data->pod->claims[i].object.uid());
    if (latest != nullptr) data->allocations[i] = latest;
  }
  return Status::Success();
}

Status DynamicResources::PreBind(CycleState& state, const PodInfo& pod, absl::string_view) {
  ClaimsState* const data = state.FindMutable(kClaimsState);
  if (data == nullptr) return Status::Success();
  Status written = binding_.Write(*data, pod);
  if (!written.IsWait()) return written;
  for (const Object& claim : ClaimBinding::ClaimsInCluster(*data)) {
    PollWhenChanged(state, Kind::kResourceClaim, claim.key());
  }
  return written;
}

Status DynamicResources::PollPreBind(CycleState& state, const PodInfo&, absl::string_view) {
  return binding_.IsReady(*state.Find(kClaimsState));
}

// --- Beside the cycle: events, signatures, explanations ------------------------------------------

std::vector<ClusterEventWithHint> DynamicResources::EventsToRegister() const {
  return ClaimEvents(handle_.objects(), devices_->inventory().features(), nominated_,
                     preemption_.awaiting_writes());
}

Status DynamicResources::SignPod(const PodInfo& pod, PodSignature& signature) const {
  if (!reader_.MayUseDevices(pod)) return Status::Success();
  std::vector<PodClaim> claims;
  const absl::Status found = FindPodClaims(pod, handle_.objects(), claims);
  if (!found.ok()) return Status::Unschedulable(std::string(found.message()));
  reader_.Sign(pod, claims, signature);
  preemption_.SignGoneInPlan(signature);
  const std::shared_ptr<const NominatedUses> nominated = FindNominated(pod, claims);
  if (nominated != nullptr) signature.Add(nominated->text);
  if (const auto limits = FindLimits(pod)) signature.Add(limits->text);
  if (!gang_.has_members()) return Status::Success();
  // What members of the pod's gang have counts, where it may be exchanged.
  const std::string group = GroupOf(pod);
  const ClaimReader::Asked asked = reader_.AskedBy(pod, claims);
  // A device that comes free on another node may be what a member gets instead.
  if (gang_.MayExchange(group, asked.text, asked.joins)) {
    signature.Add(group);
    signature.Add(static_cast<int64_t>(devices_->version()));
  }
  return Status::Success();
}

std::vector<NodeNote> DynamicResources::ExplainNode(const CycleState& state, const PodInfo& pod,
                                                    const NodeInfo& node) const {
  const ClaimsState* const data = state.Find(kClaimsState);
  if (data == nullptr)
    return classes_ == nullptr ? NotesOnExtendedResources(pod, node, handle_.objects())
                               : std::vector<NodeNote>();
  return NotesOnDevices(*data->pod, verdicts_.On(*data, node), ExplainAllocations(state, pod, node),
                        *devices_, node);
}

std::vector<PlannedAllocation> DynamicResources::ExplainAllocations(const CycleState& state,
                                                                    const PodInfo&,
                                                                    const NodeInfo& node) const {
  std::vector<PlannedAllocation> planned;
  const ClaimsState* const data = state.Find(kClaimsState);
  if (data == nullptr || !data->pod->may_allocate()) return planned;
  const ClaimsOfPod& claims = *data->pod;
  const absl::StatusOr<ClaimVerdict> verdict = verdicts_.On(*data, node);
  if (!verdict.ok() || *verdict != ClaimVerdict::kFeasible) return planned;
  absl::StatusOr<NodeAllocation> allocation = allocations_.Allocate(claims, node);
  if (allocation->outcome != NodeAllocation::Outcome::kAllocated) {
    std::optional<GangDevices::Exchange> exchange = verdicts_.FindExchange(*data, node);
    if (!exchange.has_value()) return planned;
    allocation = std::move(exchange->own);
  }
  const ClaimsToAllocate& on_node = *claims.ToAllocateOn(node);
  for (size_t i = 0; i < on_node.positions.size(); ++i) {
    auto result = AllocationResultOf(*allocation, on_node.claims, static_cast<int>(i));
    if (!result.ok()) continue;
    planned.push_back({claims.claims[on_node.positions[i]].reference, *std::move(result)});
  }
  return planned;
}

void DynamicResources::ExplainWaiting(const PodInfo& pod, const Status& rejection,
                                      const NodeTable& nodes, WaitingFor& waiting) const {
  waiting.reason = WaitingReason::kDevices;
  if (rejection.IsWait()) return ExplainPreBind(pod, waiting);
  if (rejection.reasons().empty()) return;
  waiting.until = devices_->NextGivenUp();  // more devices are free then
  const std::string& reason = rejection.reasons().front();
  const bool cannot_allocate =
      reason == kCannotAllocate &&
      (ignored_fields_.Any(devices_->inventory().features(), handle_.objects()) ||
       incomplete_pools_.Any(handle_.objects()));
  if (!cannot_allocate && reason != kInvalidPools) return;
  ClaimsOfPod claims;
  if (!reader_.Read(pod, claims).ok()) return;
  const auto [gates, pools] = WhyOutOfReach(claims, *devices_, nodes, handle_.objects());
  if (!gates.empty()) {
    absl::StrAppend(&waiting.detail, " (devices that match are out of reach while ",
                    absl::StrJoin(gates, " and "), gates.size() == 1 ? " is" : " are", " off)");
  }
  if (pools.empty()) return;
  constexpr size_t kMostPools = 3;
  const size_t named = std::min(pools.size(), kMostPools);
  absl::StrAppend(&waiting.detail, " (pool ",
                  absl::StrJoin(absl::MakeConstSpan(pools).first(named), "; pool "));
  if (pools.size() > named)
    absl::StrAppend(&waiting.detail, "; and ", pools.size() - named, " more");
  absl::StrAppend(&waiting.detail, ")");
}

void DynamicResources::ExplainPreBind(const PodInfo& pod, WaitingFor& waiting) const {
  std::vector<PodClaim> claims;
  if (!FindPodClaims(pod, handle_.objects(), claims).ok()) return;
  if (const Object* const special = devices_->SpecialClaimOf(pod.uid(), handle_.objects())) {
    claims.push_back({"", *special});
  }
  std::vector<std::string> awaited;
  for (const PodClaim& claim : claims) {
    std::string conditions = AwaitedConditions(claim.claim());
    if (conditions.empty()) continue;
    awaited.push_back(std::move(conditions));
    const api::AllocationResult& allocation = claim.claim().status().allocation();
    if (!binding_timeout_.has_value() || !allocation.has_allocation_timestamp()) continue;
    waiting.until =
        std::min(waiting.until, ToTime(allocation.allocation_timestamp()) + *binding_timeout_);
  }
  waiting.detail = absl::StrJoin(awaited, ", ");
}

std::vector<UnreadField> DynamicResources::UnreadIn(const Object& object) const {
  return FieldsOfGatesThatAreOff(devices_->inventory().features(), object);
}

}  // namespace berth
