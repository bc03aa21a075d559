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
      allocations_(*devices_, args.filter_timeout, scoring_) {
  devices_->SetFeatures(args.Features());
}

// --- Which claims --------------------------------------------------------------------------------

Status DynamicResources::PreEnqueue(const PodInfo& pod) {
  if (!HasResourceClaims(pod)) return Status::Success();
  std::vector<PodClaim> claims;
  const absl::Status found = FindPodClaims(pod, handle_.objects(), claims);
  return found.ok() ? Status::Success()
                    : Status::UnschedulableAndUnresolvable(std::string(found.message()));
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
  if (!HasResourceClaims(pod)) return Status::Skip();
  auto of_pod = std::make_shared<ClaimsOfPod>();
  const absl::Status found = FindPodClaims(pod, handle_.objects(), of_pod->claims);
  if (!found.ok()) return Status::UnschedulableAndUnresolvable(std::string(found.message()));
  if (of_pod->claims.empty()) return Status::Skip();
  devices_->Update(handle_.objects());
  const auto find_class = [this](absl::string_view name) {
    const Object* const found = handle_.objects().Find(Kind::kDeviceClass, "", name);
    return found == nullptr ? nullptr : found->Share<api::DeviceClass>();
  };
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
    Status status = CheckClasses(claim);
    if (!status.ok()) return status;
    asked.Add(claim.spec().SerializeAsString());
    of_pod->to_allocate.push_back(ClaimToAllocate::Parse(object.Share<api::ResourceClaim>(),
                                                         find_class, devices_->inventory()));
    of_pod->positions.push_back(static_cast<int>(i));
  }
  of_pod->allocations = allocations_.Of(asked.bytes());
  auto data = std::make_unique<ClaimsState>();
  data->pod = std::move(of_pod);
  state.Write(kState, std::move(data));
  return Status::Success();
}

// --- Which nodes ---------------------------------------------------------------------------------

absl::StatusOr<DynamicResources::Verdict> DynamicResources::VerdictOn(const ClaimsOfPod& claims,
                                                                      const NodeInfo& node,
                                                                      WorkBudget* budget) const {
  // What is wrong with claims that are to be allocated counts first.
  if (!claims.to_allocate.empty()) {
    const NodeAllocations::Answer shared = allocations_.On(claims, node, budget);
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
  const absl::StatusOr<NodeAllocation> allocation = allocations_.With(data.released, claims, node);
  if (!allocation.ok()) return allocation.status();
  const Verdict verdict = VerdictOf(allocation->outcome);
  if (verdict != Verdict::kFeasible) return verdict;
  return IsElsewhere(claims, node) ? Verdict::kUnavailable : Verdict::kFeasible;
}

// --- Dry runs ------------------------------------------------------------------------------------

Status DynamicResources::AddPod(CycleState& state, const PodInfo&, const PodInfo& added,
                                const NodeInfo&) {
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr || data->gone_pods.erase(added.uid()) == 0) return Status::Success();
  UpdateReleased(*data, added, handle_);
  return Status::Success();
}

Status DynamicResources::RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                                   const NodeInfo&) {
  if (!preempts_ || !HasResourceClaims(removed)) return Status::Success();
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr) return Status::Success();
  data->gone_pods.insert(removed.uid());
  UpdateReleased(*data, removed, handle_);
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
  }
  return Status::Success();
}

Status DynamicResources::Filter(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const {
  const absl::StatusOr<const ClaimsState*> read = state.Read(kState);
  if (!read.ok()) return HasResourceClaims(pod) ? Status::Error(read.status()) : Status::Success();
  const absl::StatusOr<Verdict> verdict =
      (*read)->released.empty() ? VerdictOn(*(*read)->pod, node) : VerdictOnReleased(**read, node);
  return verdict.ok() ? StatusOf(*verdict) : Status::Error(verdict.status());
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
    if (state.work_budget().IsSpent() && !claims.to_allocate.empty() &&
        allocations_.Find(claims, node) == nullptr &&
        NodeAllocations::Yields(claims, state, left)) {
      return Status::Error(kContinued);
    }
    const absl::StatusOr<Verdict> verdict = VerdictOn(claims, node, &state.work_budget());
    if (!verdict.ok()) return Status::Error(verdict.status());
    if (*verdict == Verdict::kFeasible) continue;
    verdicts.Set(row, CodeOf(*verdict), static_cast<uint8_t>(*verdict));
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

bool DynamicResources::MayHelp(const PodInfo& pod) { return HasResourceClaims(pod); }

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
  return Status::Unschedulable("still not schedulable");
}

// --- Which node is best --------------------------------------------------------------------------

absl::StatusOr<int64_t> DynamicResources::Score(const CycleState& state, const PodInfo&,
                                                const NodeInfo& node) const {
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr || data->pod->to_allocate.empty()) return 0;
  const NodeAllocations::Answer allocation = allocations_.On(*data->pod, node);
  if (!allocation->ok()) return allocation->status();
  return ScoreOfAllocation(**allocation, data->pod->to_allocate, scoring_);
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
    if (budget.IsSpent() && allocations_.Find(*data->pod, node) == nullptr) {
      return absl::AbortedError(kContinued);
    }
    const NodeAllocations::Answer allocation = allocations_.On(*data->pod, node, &budget);
    if (!allocation->ok()) return allocation->status();
    scores[i] = ScoreOfAllocation(**allocation, data->pod->to_allocate, scoring_);
  }
  return absl::OkStatus();
}

std::optional<int64_t> DynamicResources::UniformScore(const CycleState& state, const PodInfo&,
                                                      const NodeTable&) const {
  const ClaimsState* const data = state.Find(kState);
  if (data != nullptr && !data->pod->to_allocate.empty()) return std::nullopt;
  return 0;
}

absl::Status DynamicResources::NormalizeScores(const CycleState& state, const PodInfo&,
                                               absl::Span<const NodeRow>,
                                               absl::Span<int64_t> scores) const {
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr) return absl::OkStatus();
  const bool has_scores = !data->pod->to_allocate.empty();
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
  if (!claims.to_allocate.empty()) {
    Status status = ReserveNew(claims, node_name, data->allocations);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    if (data->allocations[i] == nullptr) continue;
    devices_->Promise(pod.uid(), claims.claims[i].object, data->allocations[i]);
  }
  return Status::Success();
}

Status DynamicResources::ReserveNew(const ClaimsOfPod& claims, absl::string_view node_name,
                                    std::vector<ClusterDevices::Allocation>& allocations) const {
  const NodeRow row = handle_.nodes().FindRow(Symbol::Intern(node_name));
  if (row < 0) return Status::Error(absl::StrCat("node \"", node_name, "\" not found"));
  const NodeAllocations::Answer shared = allocations_.On(claims, handle_.nodes().node(row));
  const absl::StatusOr<NodeAllocation>& allocation = *shared;
  if (!allocation.ok()) return Status::Error(allocation.status());
  if (allocation->outcome != NodeAllocation::Outcome::kAllocated) {
    return Status::Error("claim allocation not found for node");
  }
  for (size_t i = 0; i < claims.positions.size(); ++i) {
    auto result = AllocationResultOf(*allocation, claims.to_allocate, static_cast<int>(i));
    if (!result.ok()) return Status::Error(result.status());
    allocations[claims.positions[i]] = *std::move(result);
  }
  return Status::Success();
}

void DynamicResources::Unreserve(CycleState& state, const PodInfo& pod, absl::string_view) {
  ClaimsState* const data = state.FindMutable(kState);
  if (data == nullptr) return;
  const ClaimsOfPod& claims = *data->pod;
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const Object& object = claims.claims[i].object;
    devices_->GiveUp(pod.uid(), object.uid());
    const bool is_written = i < data->written.size() && data->written[i];
    if (is_written || (claims.claims[i].claim().status().has_allocation() &&
                       IsReservedFor(claims.claims[i].claim(), pod.uid()))) {
      RemoveReservation(object, pod.uid(), handle_,
                        [devices = devices_, uid = object.uid()](const std::string& version) {
                          devices->NoteRead(uid, version);
                        });
    }
  }
  data->allocations.clear();
  data->written.clear();
}

Status DynamicResources::PreBindPreFlight(CycleState& state, const PodInfo&, absl::string_view) {
  return state.Find(kState) == nullptr ? Status::Skip() : Status::Success();
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
  for (const PodClaim& claim : claims.claims) {
    PollWhenChanged(state, Kind::kResourceClaim, claim.object.key());
  }
  return Status::Wait();
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
  for (const PodClaim& claim : data.pod->claims) {
    const auto* const latest = handle_.objects().Find<api::ResourceClaim>(
        claim.object.namespace_name(), claim.object.name());
    if (latest == nullptr) {
      return Status::Error(
          absl::StrCat("could not find ResourceClaim \"", claim.object.key(), "\""));
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
  if (!HasResourceClaims(pod)) return Status::Success();
  std::vector<PodClaim> claims;
  const absl::Status found = FindPodClaims(pod, handle_.objects(), claims);
  if (!found.ok()) return Status::Unschedulable(std::string(found.message()));
  signature.Add(static_cast<int64_t>(handle_.objects().version(Kind::kDeviceClass)));
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

std::vector<NodeNote> DynamicResources::ExplainNode(const CycleState& state, const PodInfo& pod,
                                                    const NodeInfo& node) const {
  const ClaimsState* const data = state.Find(kState);
  if (data == nullptr) return {};
  std::vector<NodeNote> notes =
      data->pod->to_allocate.empty()
          ? std::vector<NodeNote>()
          : NotesOnDevices(*data->pod, ExplainAllocations(state, pod, node), *devices_, node);
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
  if (data == nullptr || data->pod->to_allocate.empty()) return planned;
  const ClaimsOfPod& claims = *data->pod;
  const absl::StatusOr<Verdict> verdict = VerdictOn(claims, node);
  if (!verdict.ok() || *verdict != Verdict::kFeasible) return planned;
  const NodeAllocations::Answer shared = allocations_.On(claims, node);
  const absl::StatusOr<NodeAllocation>& allocation = *shared;
  for (size_t i = 0; i < claims.positions.size(); ++i) {
    auto result = AllocationResultOf(*allocation, claims.to_allocate, static_cast<int>(i));
    if (!result.ok()) continue;
    planned.push_back({claims.claims[claims.positions[i]].reference, *std::move(result)});
  }
  return planned;
}

}  // namespace berth
