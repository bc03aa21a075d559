// SPDX-License-Identifier: Apache-2.0
// The extension points of DynamicResources.
#include "plugins/dynamic_resources/dynamic_resources.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "plugins/dynamic_resources/allocation_score.h"
#include "plugins/dynamic_resources/binding_conditions.h"
#include "plugins/dynamic_resources/claim_hints.h"
#include "plugins/dynamic_resources/claim_writes.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/device_notes.h"
#include "plugins/dynamic_resources/pod_claims.h"
#include "plugins/dynamic_resources/returned_devices.h"

namespace berth {
namespace {

constexpr StateKey<ClaimsState> kState{"DynamicResources"};

constexpr absl::Duration kBindingTimeout = absl::Minutes(10);

constexpr char kContinued[] = "the search for devices is to be continued";

// So long a preemptor waits for devices that nobody gives back: the controller of claims is slow,
// or is not there. Then others are evicted.
constexpr absl::Duration kLongestWait = absl::Minutes(1);
constexpr absl::Duration kForgotten = absl::Minutes(10);

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
      preempts_(args.preempt_for_devices),
      waits_for_conditions_(args.Features().binding_conditions),
      binding_timeout_(args.binding_timeout.value_or(kBindingTimeout)),
      scoring_(DeviceScoringNamed(args.device_scoring)),
      devices_(handle.Shared<ClusterDevices>()),
      classes_(args.Features().extended_resources ? handle.Shared<ExtendedResourceClasses>()
                                                  : nullptr),
      allocations_(*devices_, args.filter_timeout, scoring_),
      gang_(*devices_),
      gone_in_plan_(handle.Shared<GoneInPlan>()) {
  devices_->SetFeatures(args.Features());
  if (classes_ == nullptr) return;
  classes_->Enable(handle.profile_name());
  classes_->SetCount(
      [devices = devices_](const api::DeviceClass& device_class, const NodeInfo& node) {
        return CountDevicesOfClass(device_class, devices->inventory(), node.name(), node.labels(),
                                   [&](const DeviceId& device) {
                                     return devices->Holds(device) ||
                                            !devices->Consumed(device).empty();
                                   });
      });
}

// --- Which claims --------------------------------------------------------------------------------

Status DynamicResources::PreEnqueue(const PodInfo& pod) {
  if (!HasResourceClaims(pod)) return Status::Success();
  std::vector<PodClaim> claims;
  const absl::Status found = FindPodClaims(pod, handle_.objects(), claims);
  return found.ok() ? Status::Success()
                    : Status::UnschedulableAndUnresolvable(std::string(found.message()));
}

ClaimToAllocate DynamicResources::Parse(std::shared_ptr<const api::ResourceClaim> claim) const {
  const auto find_class = [this](absl::string_view name) {
    const Object* const found = handle_.objects().Find(Kind::kDeviceClass, "", name);
    return found == nullptr ? nullptr : found->Share<api::DeviceClass>();
  };
  return ClaimToAllocate::Parse(std::move(claim), find_class, devices_->inventory());
}

const ExtendedResourceClasses* DynamicResources::Classes() const {
  if (classes_ == nullptr) return nullptr;
  const ObjectStore& objects = handle_.objects();
  classes_->Update(objects.version(Kind::kDeviceClass),
                   [&] { return objects.List(Kind::kDeviceClass); });
  return classes_.get();
}

bool DynamicResources::MayUseDevices(const PodInfo& pod) const {
  return HasResourceClaims(pod) || (classes_ != nullptr && RequestsDeviceResources(pod));
}

void DynamicResources::AddSpecialClaim(const PodInfo& pod, std::vector<ExtendedResource> resources,
                                       ClaimsOfPod& of_pod) {
  const Object* const left_over = devices_->SpecialClaimOf(pod.uid(), handle_.objects());
  Object claim = left_over != nullptr ? *left_over : MakeSpecialClaim(pod);
  of_pod.special = std::make_shared<SpecialClaim>(
      pod, std::move(resources), claim, static_cast<int>(of_pod.claims.size()),
      [this](auto message) { return Parse(std::move(message)); });
  of_pod.claims.push_back({kSpecialClaimName, std::move(claim)});
}

Status DynamicResources::CheckClasses(const api::ResourceClaim& claim) const {
  const std::string key = absl::StrCat(claim.metadata().namespace_(), "/", claim.metadata().name());
  const auto check = [this](const std::string& name, const std::string& request) {
    if (name.empty()) {
      return Status::Error(absl::StrCat("request ", request, ": unsupported request type"));
    }
    if (handle_.objects().Find(Kind::kDeviceClass, "", name) != nullptr) return Status::Success();
    return Status::UnschedulableAndUnresolvable(
        absl::StrCat("request ", request, ": device class ", name, " does not exist"));
  };
  for (const api::DeviceRequest& request : claim.spec().devices().requests()) {
    if (request.has_exactly()) {
      Status status = check(request.exactly().device_class_name(), request.name());
      if (!status.ok()) return status;
    } else if (request.first_available().empty()) {
      return Status::UnschedulableAndUnresolvable(absl::StrCat(
          "resource claim ", key, ", request ", request.name(), ": unknown request type"));
    }
    for (const api::DeviceSubRequest& sub : request.first_available()) {
      Status status = check(sub.device_class_name(), absl::StrCat(request.name(), "/", sub.name()));
      if (!status.ok()) return status;
    }
  }
  return Status::Success();
}

Status DynamicResources::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                                   PreFilterResult&) {
  state.Delete(kState);
  std::vector<ExtendedResource> resources;
  if (classes_ != nullptr) resources = ExtendedResourcesOf(pod, *Classes());
  if (!HasResourceClaims(pod) && resources.empty()) return Status::Skip();
  auto of_pod = std::make_shared<ClaimsOfPod>();
  const absl::Status found = FindPodClaims(pod, handle_.objects(), of_pod->claims);
  if (!found.ok()) return Status::UnschedulableAndUnresolvable(std::string(found.message()));
  devices_->Update(handle_.objects());
  if (!resources.empty()) AddSpecialClaim(pod, std::move(resources), *of_pod);
  if (of_pod->claims.empty()) return Status::Skip();
  PodSignature asked;
  asked.Add(static_cast<int64_t>(handle_.objects().version(Kind::kDeviceClass)));
  of_pod->available_on.resize(of_pod->claims.size());
  of_pod->in_flight.resize(of_pod->claims.size());
  of_pod->lost.resize(of_pod->claims.size());
  for (size_t i = 0; i < of_pod->claims.size(); ++i) {
    const Object& object = of_pod->claims[i].object;
    const api::ResourceClaim& claim = of_pod->claims[i].claim();
    const bool is_allocated = claim.status().has_allocation();
    if (waits_for_conditions_) {
      of_pod->lost[i] = WhyLost(claim, binding_timeout_, handle_.clock().Now());
      of_pod->has_lost |= !of_pod->lost[i].empty();
    }
    if (!is_allocated) of_pod->in_flight[i] = devices_->InFlight(object.uid());
    const api::AllocationResult* const allocation =
        is_allocated ? &claim.status().allocation() : of_pod->in_flight[i].get();
    if (allocation != nullptr) {
      if (!allocation->has_node_selector()) continue;
      absl::StatusOr<NodeSelector> selector =
          NodeSelector::Create(allocation->node_selector(), "nodeSelectorTerms");
      if (!selector.ok()) return Status::Error(selector.status());
      of_pod->available_on[i] = *std::move(selector);
      continue;
    }
    if (of_pod->is_special(i)) continue;
    Status status = CheckClasses(claim);
    if (!status.ok()) return status;
    asked.Add(claim.spec().SerializeAsString());
    of_pod->to_allocate.claims.push_back(Parse(object.Share<api::ResourceClaim>()));
    of_pod->to_allocate.positions.push_back(static_cast<int>(i));
  }
  if (of_pod->special != nullptr) SignExtendedResources(pod, asked);
  of_pod->allocations = allocations_.Of(asked.bytes());
  of_pod->asked = asked.bytes();
  const std::string group = GroupOf(pod);
  gang_.Begin(group);
  const bool joins =
      absl::c_any_of(of_pod->in_flight, [](const auto& made) { return made != nullptr; });
  of_pod->may_exchange = gang_.MayExchange(group, asked.bytes(), joins);
  auto data = std::make_unique<ClaimsState>();
  data->pod = std::move(of_pod);
  if (preempts_) ReleaseGoneInPlan(*data);
  state.Write(kState, std::move(data));
  return Status::Success();
}

// --- Which nodes ---------------------------------------------------------------------------------

absl::StatusOr<DynamicResources::Verdict> DynamicResources::VerdictOn(const ClaimsOfPod& claims,
                                                                      const NodeInfo& node) const {
  const absl::StatusOr<Verdict> verdict = VerdictByFree(claims, node);
  if (!claims.may_exchange || !verdict.ok()) return verdict;
  const bool may_help = *verdict == Verdict::kCannotAllocate || *verdict == Verdict::kUnavailable;
  return may_help && FindExchange(claims, node).has_value() ? Verdict::kFeasible : verdict;
}

std::optional<GangDevices::Exchange> DynamicResources::FindExchange(const ClaimsOfPod& claims,
                                                                    const NodeInfo& node) const {
  if (claims.has_lost) return std::nullopt;
  return gang_.Find({.claims = claims,
                     .to_allocate = *claims.ToAllocateOn(node),
                     .node = node,
                     .nodes = handle_.nodes(),
                     .scoring = scoring_});
}

std::string DynamicResources::GroupOf(const PodInfo& pod) const {
  return handle_.groups().GroupOfPod(pod.uid()).value_or("");
}

absl::StatusOr<DynamicResources::Verdict> DynamicResources::VerdictByFree(
    const ClaimsOfPod& claims, const NodeInfo& node) const {
  const Verdict of_special = VerdictOnSpecialClaim(claims, node);
  if (of_special != Verdict::kFeasible) return of_special;
  // What is wrong with claims that are to be allocated counts first.
  if (!claims.ToAllocateOn(node)->claims.empty()) {
    const NodeAllocations::Answer shared = allocations_.On(claims, node);
    const absl::StatusOr<NodeAllocation>& allocation = *shared;
    if (!allocation.ok()) return allocation.status();
    const Verdict verdict = VerdictOf(allocation->outcome);
    if (verdict != Verdict::kFeasible) return verdict;
  }
  return IsElsewhere(claims, node) ? Verdict::kUnavailable : Verdict::kFeasible;
}

DynamicResources::Verdict DynamicResources::VerdictOf(NodeAllocation::Outcome outcome) {
  switch (outcome) {
    case NodeAllocation::Outcome::kImpossible:
      return Verdict::kCannotAllocate;
    case NodeAllocation::Outcome::kInvalidPools:
      return Verdict::kInvalidPools;
    case NodeAllocation::Outcome::kOutOfSteps:
      return Verdict::kTimedOut;
    case NodeAllocation::Outcome::kAllocated:
      break;
  }
  return Verdict::kFeasible;
}

DynamicResources::Verdict DynamicResources::VerdictOnSpecialClaim(const ClaimsOfPod& claims,
                                                                  const NodeInfo& node) {
  if (claims.special == nullptr) return Verdict::kFeasible;
  if (claims.special->is_stale()) return Verdict::kStaleClaim;
  const ClaimsToAllocate* const on_node = claims.ToAllocateOn(node);
  if (on_node == nullptr) return Verdict::kCannotFit;
  return on_node->problem.empty() ? Verdict::kFeasible : Verdict::kCannotAsk;
}

// Whether a claim has its devices where the node cannot use them, or nobody can.
bool DynamicResources::IsElsewhere(const ClaimsOfPod& claims, const NodeInfo& node) {
  return claims.has_lost ||
         absl::c_any_of(claims.available_on, [&](const std::optional<NodeSelector>& available_on) {
           return available_on.has_value() && !available_on->Matches(node.labels(), node.name());
         });
}

absl::StatusOr<DynamicResources::Verdict> DynamicResources::VerdictOnReleased(
    const ClaimsState& data, const NodeInfo& node) const {
  const ClaimsOfPod& claims = *data.pod;
  const Verdict of_special = VerdictOnSpecialClaim(claims, node);
  if (of_special != Verdict::kFeasible) return of_special;
  const absl::StatusOr<NodeAllocation> allocation = allocations_.With(data.released, claims, node);
  if (!allocation.ok()) return allocation.status();
  const Verdict verdict = VerdictOf(allocation->outcome);
  if (verdict != Verdict::kFeasible) return verdict;
  return IsElsewhere(claims, node) ? Verdict::kUnavailable : Verdict::kFeasible;
}

// --- Dry runs ------------------------------------------------------------------------------------

void DynamicResources::ReleaseGoneInPlan(ClaimsState& data) const {
  for (const auto& pod : gone_in_plan_->pods) {
    if (MayUseDevices(*pod)) data.gone_pods.insert(std::string(pod->uid()));
  }
  for (const auto& pod : gone_in_plan_->pods) {
    if (MayUseDevices(*pod)) UpdateReleased(data, *pod, *devices_, handle_);
  }
}

Status DynamicResources::AddPod(CycleState& state, const PodInfo&, const PodInfo& added,
                                const NodeInfo&) {
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr || data->gone_pods.erase(added.uid()) == 0) return Status::Success();
  UpdateReleased(*data, added, *devices_, handle_);
  return Status::Success();
}

Status DynamicResources::RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                                   const NodeInfo&) {
  if (!preempts_ || !MayUseDevices(removed)) return Status::Success();
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr) return Status::Success();
  data->gone_pods.insert(removed.uid());
  UpdateReleased(*data, removed, *devices_, handle_);
  return Status::Success();
}

Code DynamicResources::CodeOf(Verdict verdict) const {
  if (verdict == Verdict::kFeasible) return Code::kSuccess;
  // Others may hold what is missing.
  return preempts_ && verdict == Verdict::kCannotAllocate ? Code::kUnschedulable
                                                          : Code::kUnschedulableAndUnresolvable;
}

Status DynamicResources::StatusOf(Verdict verdict) const {
  const auto rejected = [&](absl::string_view text) {
    return CodeOf(verdict) == Code::kUnschedulable
               ? Status::Unschedulable(std::string(text))
               : Status::UnschedulableAndUnresolvable(std::string(text));
  };
  switch (verdict) {
    case Verdict::kFeasible:
      break;
    case Verdict::kCannotAllocate:
      return rejected("cannot allocate all claims");
    case Verdict::kInvalidPools:
      return rejected("invalid resource pools were encountered");
    case Verdict::kTimedOut:
      return rejected("timed out trying to allocate devices");
    case Verdict::kUnavailable:
      return rejected("resourceclaim not available on the node");
    case Verdict::kStaleClaim:
      return rejected("cannot schedule extended resource claim");
    case Verdict::kCannotFit:
      return rejected("cannot fit resource");
    case Verdict::kCannotAsk:
      break;  // Filter() says why
  }
  return Status::Success();
}

Status DynamicResources::Filter(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const {
  const absl::StatusOr<const ClaimsState*> read = state.Read(kState);
  if (!read.ok()) return HasResourceClaims(pod) ? Status::Error(read.status()) : Status::Success();
  const absl::StatusOr<Verdict> verdict =
      (*read)->released.empty() ? VerdictOn(*(*read)->pod, node) : VerdictOnReleased(**read, node);
  if (!verdict.ok()) return Status::Error(verdict.status());
  if (*verdict == Verdict::kCannotAsk) {
    return Status::UnschedulableAndUnresolvable((*read)->pod->ToAllocateOn(node)->problem);
  }
  return StatusOf(*verdict);
}

Status DynamicResources::FilterNodes(const CycleState& state, const PodInfo& pod,
                                     const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const absl::StatusOr<const ClaimsState*> read = state.Read(kState);
  if (!read.ok()) return HasResourceClaims(pod) ? Status::Error(read.status()) : Status::Success();
  const ClaimsOfPod& claims = *(*read)->pod;
  auto left = static_cast<int>(verdicts.candidates().size());
  for (const NodeRow row : verdicts.candidates()) {
    const NodeInfo& node = nodes.node(row);
    --left;
    if (state.work_budget().IsSpent() && claims.may_allocate() &&
        allocations_.Find(claims, node) == nullptr &&
        NodeAllocations::Yields(claims, state, left)) {
      return Status::Error(kContinued);
    }
    const absl::StatusOr<Verdict> verdict =
        (*read)->released.empty() ? VerdictOn(claims, node) : VerdictOnReleased(**read, node);
    NodeAllocations::Spend(claims, state.work_budget());
    if (!verdict.ok()) return Status::Error(verdict.status());
    if (*verdict == Verdict::kFeasible) continue;
    // Nodes may leave different resources to devices.
    const bool has_own_text = *verdict == Verdict::kCannotAsk;
    verdicts.Set(row, CodeOf(*verdict),
                 has_own_text ? NodeVerdicts::kNoReasonId : static_cast<uint8_t>(*verdict));
  }
  claims.allocations->left_at_last_yield = std::numeric_limits<int>::max();
  return Status::Success();
}

// A claim is freed some time after its pods have gone, by its controller. Until then nobody else is
// evicted.
bool DynamicResources::WaitsForReturnedDevices(const CycleState& state, const PodInfo& pod,
                                               const NodeStatuses& statuses) {
  if (!preempts_) return false;
  const NodeTable& nodes = handle_.nodes();
  const NodeRow row = nodes.FindRow(Symbol::Intern(handle_.nominator().NominatedNode(pod)));
  if (row < 0 || statuses.rejecting_plugin(row) != Symbol::Intern(kName)) return false;
  const NodeInfo& node = nodes.node(row);
  absl::flat_hash_set<DeviceId> returned = DevicesOnTheirWayBack(node, *devices_, handle_);
  if (returned.empty()) return false;
  CycleState with_these = state.Clone();
  with_these.FindMutable(kState)->released = std::move(returned);
  if (!handle_.RunFilterPluginsWithNominatedPods(with_these, pod, node).ok()) return false;
  const absl::Time now = handle_.clock().Now();
  absl::erase_if(waits_since_, [now](const auto& wait) { return wait.second + kForgotten < now; });
  return now < waits_since_.try_emplace(pod.uid(), now).first->second + kLongestWait;
}

bool DynamicResources::MayHelp(const PodInfo& pod) { return MayUseDevices(pod); }

// Which claims were not available is found again from the nodes, and not noted while filtering:
// verdicts of filters may have been cached.
Status DynamicResources::PostFilter(CycleState& state, const PodInfo& pod,
                                    const NodeStatuses& statuses, PostFilterResult&) {
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr) return Status::Unschedulable("no new claims to deallocate");
  if (WaitsForReturnedDevices(state, pod, statuses)) {
    return Status::UnschedulableAndUnresolvable(
        "waiting for the devices of claims that nobody uses any more on the nominated node");
  }
  const ClaimsOfPod& claims = *data->pod;
  const Symbol own_name = Symbol::Intern(kName);
  const NodeTable& nodes = handle_.nodes();
  const auto is_in_the_way = [&](size_t claim) {
    const std::optional<NodeSelector>& available_on = claims.available_on[claim];
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      const NodeInfo& node = nodes.node(row);
      if (claims.lost[claim].empty() && available_on->Matches(node.labels(), node.name())) continue;
      if (statuses.rejecting_plugin(row) != own_name) continue;
      const absl::StatusOr<Verdict> verdict = VerdictOn(claims, node);
      if (verdict.ok() && *verdict == Verdict::kUnavailable) return true;
    }
    return false;
  };
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const PodClaim& claim = claims.claims[i];
    if (!claims.available_on[i].has_value() && claims.lost[i].empty()) continue;
    if (claims.in_flight[i] != nullptr) continue;
    if (!MayBeDeallocated(claim.claim(), pod.uid())) continue;
    if (!is_in_the_way(i)) continue;
    if (!state.for_explanation()) Deallocate(claim.object, pod.uid(), handle_);
    return Status::Unschedulable("deallocation of ResourceClaim completed");
  }
  if (claims.special != nullptr && claims.special->is_stale()) {
    if (!state.for_explanation()) DeleteClaim(claims.claims.back().object, handle_);
    return Status::Unschedulable("deletion of ResourceClaim completed");
  }
  return Status::Unschedulable("still not schedulable");
}

// --- Which node is best --------------------------------------------------------------------------

// Nothing to allocate is as good as devices whose loss harms nobody.
int64_t DynamicResources::ScoreOf(const ClaimsOfPod& claims, const NodeInfo& node,
                                  const NodeAllocation& allocation) const {
  return ScoreOfAllocation(allocation, claims.ToAllocateOn(node)->claims, scoring_);
}

absl::StatusOr<int64_t> DynamicResources::Score(const CycleState& state, const PodInfo&,
                                                const NodeInfo& node) const {
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr || !data->pod->may_allocate()) return 0;
  if (VerdictOnSpecialClaim(*data->pod, node) != Verdict::kFeasible) return 0;
  const NodeAllocations::Answer allocation = allocations_.On(*data->pod, node);
  if (!allocation->ok()) return allocation->status();
  return ScoreOf(*data->pod, node, **allocation);
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
  const ClaimsState* const data = state.Find(kState);
  WorkBudget& budget = state.work_budget();
  for (size_t i = 0; i < rows.size(); ++i) {
    const NodeInfo& node = nodes.node(rows[i]);
    scores[i] = 0;
    if (VerdictOnSpecialClaim(*data->pod, node) != Verdict::kFeasible) continue;
    if (budget.IsSpent() && allocations_.Find(*data->pod, node) == nullptr) {
      return absl::AbortedError(kContinued);
    }
    const NodeAllocations::Answer allocation = allocations_.On(*data->pod, node);
    NodeAllocations::Spend(*data->pod, budget);
    if (!allocation->ok()) return allocation->status();
    scores[i] = ScoreOf(*data->pod, node, **allocation);
  }
  return absl::OkStatus();
}

std::optional<int64_t> DynamicResources::UniformScore(const CycleState& state, const PodInfo&,
                                                      const NodeTable&) const {
  const ClaimsState* const data = state.Find(kState);
  if (data != nullptr && data->pod->may_allocate()) return std::nullopt;
  return 0;
}

absl::Status DynamicResources::NormalizeScores(const CycleState& state, const PodInfo&,
                                               absl::Span<const NodeRow>,
                                               absl::Span<int64_t> scores) const {
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr) return absl::OkStatus();
  const bool has_scores = data->pod->may_allocate();
  NormalizeAllocationScores(has_scores ? scoring_ : DeviceScoring::kFirstFit, scores);
  return absl::OkStatus();
}

// --- Taking it -----------------------------------------------------------------------------------

Status DynamicResources::Reserve(CycleState& state, const PodInfo& pod,
                                 absl::string_view node_name) {
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr) return Status::Success();
  const ClaimsOfPod& claims = *data->pod;
  data->allocations = claims.in_flight;
  data->written.assign(claims.claims.size(), false);
  data->created.reset();
  data->reserved = nullptr;
  if (claims.may_allocate() || claims.may_exchange) {
    Status status = ReserveNew(*data, node_name);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    if (data->allocations[i] == nullptr) continue;
    devices_->Promise(pod.uid(), claims.claims[i].object, data->allocations[i]);
  }
  gang_.Add(std::string(pod.uid()), Symbol::Intern(node_name), claims.asked, data->pod,
            data->reserved);
  return Status::Success();
}

Status DynamicResources::ReserveNew(ClaimsState& data, absl::string_view node_name) {
  const ClaimsOfPod& claims = *data.pod;
  const NodeRow row = handle_.nodes().FindRow(Symbol::Intern(node_name));
  if (row < 0) return Status::Error(absl::StrCat("node \"", node_name, "\" not found"));
  const NodeInfo& node = handle_.nodes().node(row);
  const Verdict of_special = VerdictOnSpecialClaim(claims, node);
  if (of_special != Verdict::kFeasible) return Status::Error("claim allocation not found for node");
  const ClaimsToAllocate& on_node = *claims.ToAllocateOn(node);
  data.reserved = &on_node;
  const bool is_elsewhere = claims.may_exchange && IsElsewhere(claims, node);
  if (on_node.claims.empty() && !is_elsewhere) return Status::Success();
  absl::StatusOr<NodeAllocation> allocation = !data.released.empty()
                                                  ? allocations_.With(data.released, claims, node)
                                                  : *allocations_.On(claims, node);
  if (!allocation.ok()) return Status::Error(allocation.status());
  if (claims.may_exchange && data.released.empty() &&
      (is_elsewhere || allocation->outcome == NodeAllocation::Outcome::kImpossible)) {
    std::optional<GangDevices::Exchange> exchange = FindExchange(claims, node);
    if (!exchange.has_value()) return Status::Error("claim allocation not found for node");
    for (const auto& [claim_uid, instead] : exchange->others) {
      devices_->Exchange(claim_uid, instead);
    }
    for (size_t i = 0; i < claims.claims.size(); ++i) {
      if (data.allocations[i] == nullptr) continue;
      data.allocations[i] = devices_->InFlight(claims.claims[i].object.uid());
    }
    if (on_node.claims.empty()) return Status::Success();
    allocation = std::move(exchange->own);
  }
  if (allocation->outcome != NodeAllocation::Outcome::kAllocated) {
    return Status::Error("claim allocation not found for node");
  }
  for (size_t i = 0; i < on_node.positions.size(); ++i) {
    auto result = AllocationResultOf(*allocation, on_node.claims, static_cast<int>(i));
    if (!result.ok()) return Status::Error(result.status());
    data.allocations[on_node.positions[i]] = *std::move(result);
  }
  return Status::Success();
}

void DynamicResources::Unreserve(CycleState& state, const PodInfo& pod, absl::string_view) {
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr) return;
  gang_.Remove(pod.uid());
  const ClaimsOfPod& claims = *data->pod;
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const Object& object = claims.claims[i].object;
    devices_->GiveUp(pod.uid(), object.uid());
    if (claims.is_special(i)) continue;
    const bool is_written = i < data->written.size() && data->written[i];
    if (is_written || (claims.claims[i].claim().status().has_allocation() &&
                       IsReservedFor(claims.claims[i].claim(), pod.uid()))) {
      RemoveReservation(object, pod.uid(), handle_,
                        [devices = devices_, uid = object.uid()](const std::string& version) {
                          devices->NoteRead(uid, version);
                        });
    }
  }
  if (data->created.has_value()) {
    devices_->GiveUp(pod.uid(), data->created->uid());
    DeleteClaim(*data->created, handle_);
    data->created.reset();
  }
  data->allocations.clear();
  data->written.clear();
}

// All members of a gang are reserved by now.
Status DynamicResources::PreBindPreFlight(CycleState& state, const PodInfo&, absl::string_view) {
  ClaimsState* const data = state.FindMutable(kState);
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
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr) return Status::Success();
  const ClaimsOfPod& claims = *data->pod;
  std::optional<absl::Time> now;
  if (waits_for_conditions_) now = handle_.clock().Now();
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    // Also if the pod seems to have a reservation, which it may have given up since.
    const Object& claim = claims.claims[i].object;
    data->written[i] = true;
    if (claims.is_special(i)) {
      const absl::Status bound = BindSpecialClaim(*data, pod, now);
      if (!bound.ok()) return Status::Error(bound);
      continue;
    }
    std::optional<ClaimWrite> write;
    const absl::Status written =
        WriteReservation(claim, pod, data->allocations[i], now, handle_, write);
    if (write.has_value() && data->allocations[i] != nullptr) {
      devices_->NoteWritten(pod.uid(), claim.uid(), *std::move(write));
    }
    if (!written.ok()) return Status::Error(written);
  }
  if (!waits_for_conditions_ || !HasConditions(*data)) return Status::Success();
  data->bind_deadline = *now + binding_timeout_;
  for (const Object& claim : ClaimsInCluster(*data)) {
    PollWhenChanged(state, Kind::kResourceClaim, claim.key());
  }
  return Status::Wait();
}

absl::Status DynamicResources::BindSpecialClaim(ClaimsState& data, const PodInfo& pod,
                                                std::optional<absl::Time> now) {
  const ClaimsOfPod& claims = *data.pod;
  const int position = claims.special->position();
  const ClusterDevices::Allocation& allocation = data.allocations[position];
  if (allocation == nullptr) return absl::OkStatus();  // the node has the resources by itself
  const ClaimsToAllocate& reserved = *data.reserved;
  absl::StatusOr<Object> created = CreateSpecialClaim(*reserved.claims.back().message, handle_);
  if (!created.ok()) return created.status();
  devices_->NoteCreated(claims.claims[position].object.uid(), *created);
  data.created = *created;
  std::optional<ClaimWrite> write;
  const absl::Status written = WriteReservation(*created, pod, allocation, now, handle_, write);
  if (write.has_value()) devices_->NoteWritten(pod.uid(), created->uid(), *std::move(write));
  if (!written.ok()) return written;
  return WriteSpecialClaim(pod, *created, *reserved.mappings, handle_);
}

std::vector<Object> DynamicResources::ClaimsInCluster(const ClaimsState& data) {
  std::vector<Object> claims;
  for (const PodClaim& claim : data.pod->claims) {
    if (!IsInMemory(claim.object)) claims.push_back(claim.object);
  }
  if (data.created.has_value()) claims.push_back(*data.created);
  return claims;
}

bool DynamicResources::HasConditions(const ClaimsState& data) {
  for (size_t i = 0; i < data.pod->claims.size(); ++i) {
    const ClusterDevices::Allocation& made = data.allocations[i];
    if (HasBindingConditions(made != nullptr ? *made
                                             : data.pod->claims[i].claim().status().allocation())) {
      return true;
    }
  }
  return false;
}

Status DynamicResources::PollPreBind(CycleState& state, const PodInfo&, absl::string_view) {
  const ClaimsState& data = *state.Find(kState);
  const absl::Time now = handle_.clock().Now();
  for (const Object& claim : ClaimsInCluster(data)) {
    const auto* const latest =
        handle_.objects().Find<api::ResourceClaim>(claim.namespace_name(), claim.name());
    if (latest == nullptr) {
      return Status::Error(absl::StrCat("could not find ResourceClaim \"", claim.key(), "\""));
    }
    std::string lost = WhyLost(*latest, binding_timeout_, now);
    if (!lost.empty()) return Status::Error(std::move(lost));
    if (*IsReadyForBinding(*latest)) continue;
    return now < data.bind_deadline ? Status::Wait() : Status::Error("device binding timeout");
  }
  return Status::Success();
}

// -------------------------------------------------------------------------------------------------

std::vector<ClusterEventWithHint> DynamicResources::EventsToRegister() const {
  return ClaimEvents(handle_.objects(), devices_->inventory().features());
}

Status DynamicResources::SignPod(const PodInfo& pod, PodSignature& signature) const {
  if (!MayUseDevices(pod)) return Status::Success();
  std::vector<PodClaim> claims;
  const absl::Status found = FindPodClaims(pod, handle_.objects(), claims);
  if (!found.ok()) return Status::Unschedulable(std::string(found.message()));
  if (classes_ != nullptr) {
    devices_->Update(handle_.objects());
    SignExtendedResources(pod, signature);
    signature.Add(int64_t{devices_->SpecialClaimOf(pod.uid(), handle_.objects()) != nullptr});
  }
  if (preempts_) {
    for (const auto& gone : gone_in_plan_->pods) signature.Add(gone->uid());
  }
  signature.Add(static_cast<int64_t>(handle_.objects().version(Kind::kDeviceClass)));
  SignExchanges(pod, claims, signature);
  for (const PodClaim& claim : claims) {
    const api::ResourceClaimStatus& status = claim.claim().status();
    const ClusterDevices::Allocation in_flight =
        status.has_allocation() ? nullptr : devices_->InFlight(claim.object.uid());
    const api::AllocationResult* const allocation =
        status.has_allocation() ? &status.allocation() : in_flight.get();
    signature.Add(int64_t{allocation != nullptr});
    signature.Add(allocation != nullptr ? allocation->node_selector().SerializeAsString()
                                        : claim.claim().spec().SerializeAsString());
    if (!waits_for_conditions_) continue;
    const bool is_lost = !WhyLost(claim.claim(), binding_timeout_, handle_.clock().Now()).empty();
    signature.Add(int64_t{is_lost});
  }
  return Status::Success();
}

// What members of the pod's gang have counts, where it may be exchanged.
void DynamicResources::SignExchanges(const PodInfo& pod, const std::vector<PodClaim>& claims,
                                     PodSignature& signature) const {
  if (!gang_.has_members()) return;
  const std::string group = GroupOf(pod);
  PodSignature asked;
  asked.Add(static_cast<int64_t>(handle_.objects().version(Kind::kDeviceClass)));
  bool joins = false;
  for (const PodClaim& claim : claims) {
    if (claim.claim().status().has_allocation()) continue;
    const bool is_in_flight = devices_->InFlight(claim.object.uid()) != nullptr;
    joins |= is_in_flight;
    if (!is_in_flight) asked.Add(claim.claim().spec().SerializeAsString());
  }
  if (classes_ != nullptr && RequestsDeviceResources(pod)) SignExtendedResources(pod, asked);
  if (gang_.MayExchange(group, asked.bytes(), joins)) signature.Add(group);
}

std::vector<NodeNote> DynamicResources::ExplainNode(const CycleState& state, const PodInfo& pod,
                                                    const NodeInfo& node) const {
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr) return {};
  std::vector<NodeNote> notes;
  const bool is_fit = VerdictOnSpecialClaim(*data->pod, node) == Verdict::kFeasible;
  if (is_fit && !data->pod->ToAllocateOn(node)->claims.empty()) {
    notes = NotesOnDevices(*data->pod, *data->pod->ToAllocateOn(node),
                           ExplainAllocations(state, pod, node), *devices_, node);
  }
  for (size_t i = 0; i < data->pod->claims.size(); ++i) {
    if (data->pod->lost[i].empty()) continue;
    notes.push_back(
        {data->pod->claims[i].reference, "its devices are lost: " + data->pod->lost[i]});
  }
  return notes;
}

std::vector<PlannedAllocation> DynamicResources::ExplainAllocations(const CycleState& state,
                                                                    const PodInfo&,
                                                                    const NodeInfo& node) const {
  std::vector<PlannedAllocation> planned;
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr || !data->pod->may_allocate()) return planned;
  const ClaimsOfPod& claims = *data->pod;
  const absl::StatusOr<Verdict> verdict = VerdictOn(claims, node);
  if (!verdict.ok() || *verdict != Verdict::kFeasible) return planned;
  absl::StatusOr<NodeAllocation> allocation = *allocations_.On(claims, node);
  if (allocation->outcome != NodeAllocation::Outcome::kAllocated) {
    std::optional<GangDevices::Exchange> exchange = FindExchange(claims, node);
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

}  // namespace berth
