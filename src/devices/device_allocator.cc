// SPDX-License-Identifier: Apache-2.0
// Implementation of device_allocator.h: the search. What becomes of its result is in
// allocation_result.cc.
#include "berth/devices/device_allocator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "devices/compiled_selector.h"
#include "devices/consumable_capacity.h"
#include "devices/device_worth.h"
#include "devices/offered_slice.h"
#include "devices/pool_counters.h"
#include "devices/tolerated_taints.h"

namespace berth {
namespace {

constexpr int kMostDevices = kMaxDevicesOfClaim;

// Whether they are of one type, with one value. Versions as text.
bool AreEqual(const api::DeviceAttribute& a, const api::DeviceAttribute& b) {
  if (a.has_string()) return b.has_string() && a.string() == b.string();
  if (a.has_int_()) return b.has_int_() && a.int_() == b.int_();
  if (a.has_bool_()) return b.has_bool_() && a.bool_() == b.bool_();
  return a.has_version() && b.has_version() && a.version() == b.version();
}

class Search {
 public:
  Search(const AllocationRequest& request, const std::vector<NodePool>& pools, Symbol node_name,
         const LabelSet& node_labels)
      : request_(request),
        features_(request.inventory.features()),
        claims_(request.claims),
        pools_(pools),
        node_name_(node_name),
        node_labels_(node_labels) {
    for (const DeviceLimit& limit : request.limits) left_.push_back(limit.left);
  }

  absl::StatusOr<NodeAllocation> Run() {
    AddCandidates();
    absl::Status prepared = Prepare();
    if (!prepared.ok()) return prepared;
    NodeAllocation result;
    result.node_name = node_name_;
    result.picked.resize(claims_.size());
    result.alternatives.resize(claims_.size());
    for (size_t i = 0; i < claims_.size(); ++i) {
      result.alternatives[i].resize(claims_[i].requests.size());
    }
    result_ = &result;
    const bool found = AllocateClaims(0);
    result.steps = steps_;
    if (worth_.has_value()) result.score = worth_->Score();
    if (!error_.ok()) return error_;
    if (found) {
      Complete(result);
      return result;
    }
    result = NodeAllocation();
    result.steps = steps_;
    if (out_of_steps_) {
      result.outcome = NodeAllocation::Outcome::kOutOfSteps;
    } else if (std::any_of(pools_.begin(), pools_.end(),
                           [](const NodePool& pool) { return pool.invalid; })) {
      result.outcome = NodeAllocation::Outcome::kInvalidPools;
    }
    return result;
  }

 private:
  enum class Verdict : uint8_t { kUnknown, kNo, kYes };

  // A device of the node.
  struct Candidate {
    const OfferedDevice* device;
    bool held;                              // by a claim of the cluster
    absl::InlinedVector<int, 1> picked_by;  // which of the pod's claims; several with admin access
    bool is_for_node = true;
    int pool = 0;                              // in pools_
    std::optional<ConsumedCapacity> consumed;  // if it is shared, also by the picks
    int shares = 0;                            // of them, picked
  };
  // What is known of a requirement on this node.
  struct Requirement {
    std::vector<Verdict> verdicts;  // by candidate
    std::vector<int> all;           // the candidates that match, if it wants all
    std::vector<bool> passed_over;  // by candidate, where they are ranked: not to be tried now
    int64_t count = 0;
  };
  struct Constraint {
    std::vector<const api::DeviceAttribute*> values;  // of the devices
  };
  struct Claim {
    std::vector<std::vector<Requirement>> requests;  // by request and alternative
    std::vector<Constraint> constraints;
  };
  // Which requirement is looked at.
  struct At {
    size_t claim, request, alternative;
  };

  const ClaimedRequest& RequestAt(const At& at) const {
    return claims_[at.claim].requests[at.request];
  }
  const DeviceRequirement& SpecAt(const At& at) const {
    return RequestAt(at).alternatives[at.alternative];
  }
  Requirement& StateAt(const At& at) {
    return state_[at.claim].requests[at.request][at.alternative];
  }

  // What is incomplete or invalid offers no devices.
  void AddCandidates() {
    counters_.resize(pools_.size());
    for (size_t p = 0; p < pools_.size(); ++p) {
      if (pools_[p].incomplete || pools_[p].invalid) continue;
      for (const auto& slice : pools_[p].slices) {
        for (const OfferedDevice& device : slice->devices()) {
          Candidate& candidate = candidates_.emplace_back();
          candidate.device = &device;
          candidate.held = request_.is_held(device.id);
          candidate.is_for_node = slice->HasFor(device, node_name_, node_labels_);
          candidate.pool = static_cast<int>(p);
          candidate.consumed = ConsumedByOthers(device);
        }
      }
    }
    if (request_.scoring != DeviceScoring::kFirstFit) WeighCandidates();
  }

  std::optional<ConsumedCapacity> ConsumedByOthers(const OfferedDevice& device) const {
    if (!device.allows_multiple || request_.consumed == nullptr) return std::nullopt;
    return request_.consumed(device.id);
  }

  void WeighCandidates() {
    std::vector<DeviceWorth::Device> devices;
    for (const Candidate& candidate : candidates_) {
      const bool is_of_no_use =
          candidate.device->consumes_counters && !features_.partitionable_devices;
      devices.push_back(
          {candidate.device, candidate.pool, candidate.held || is_of_no_use, &candidate.consumed});
    }
    worth_.emplace(request_.scoring, static_cast<int>(pools_.size()), devices,
                   [this](int pool) -> const PoolCounters& { return CountersOf(pool); });
  }

  // --- Before the search: allocator_stable.go Allocate() ---

  // How many devices each requirement needs. Finds what is wrong with the claims.
  absl::Status Prepare() {
    state_.resize(claims_.size());
    for (size_t c = 0; c < claims_.size(); ++c) {
      const ClaimToAllocate& claim = claims_[c];
      int64_t fewest_of_claim = 0;
      state_[c].requests.resize(claim.requests.size());
      for (size_t r = 0; r < claim.requests.size(); ++r) {
        std::vector<Requirement>& alternatives = state_[c].requests[r];
        alternatives.resize(claim.requests[r].alternatives.size());
        int64_t fewest = std::numeric_limits<int64_t>::max();
        for (size_t a = 0; a < alternatives.size(); ++a) {
          const absl::Status prepared = PrepareRequirement({c, r, a});
          if (!prepared.ok()) return prepared;
          fewest = std::min(fewest, alternatives[a].count);
        }
        fewest_of_claim += std::min<int64_t>(fewest, int64_t{1} << 40);
      }
      if (fewest_of_claim > kMostDevices) {
        return absl::InvalidArgumentError(
            absl::StrCat("claim ", claim.key, ": number of requested devices ", fewest_of_claim,
                         " exceeds the claim limit of ", kMostDevices));
      }
      for (size_t i = 0; i < claim.constraints.size(); ++i) {
        if (claim.constraints[i].is_known) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("claim ", claim.key, ", constraint #", i,
                         ": empty constraint (unsupported constraint type?)"));
      }
      state_[c].constraints.resize(claim.constraints.size());
    }
    return absl::OkStatus();
  }

  absl::Status PrepareRequirement(const At& at) {
    const DeviceRequirement& spec = SpecAt(at);
    Requirement& state = StateAt(at);
    if (!spec.problem.ok()) return spec.problem;
    state.verdicts.resize(candidates_.size());
    if (worth_.has_value()) state.passed_over.resize(candidates_.size());
    state.count = spec.count;
    if (!spec.wants_all) return absl::OkStatus();
    int candidate = 0;  // of complete and valid pools only, as all before this one are
    for (const NodePool& pool : pools_) {
      const char* trouble = pool.incomplete ? "being updated" : pool.invalid ? "invalid" : nullptr;
      if (trouble != nullptr) {
        return absl::FailedPreconditionError(
            absl::StrCat("claim ", claims_[at.claim].key, ", request ", spec.name,
                         ": asks for all devices, but resource pool ", pool.ToString(),
                         " is currently ", trouble));
      }
      for (const auto& slice : pool.slices) {
        for (size_t i = 0; i < slice->devices().size(); ++i, ++candidate) {
          if (Matches(at, candidate) && HasCapacity(at, candidate)) state.all.push_back(candidate);
          if (!error_.ok()) return error_;
        }
      }
    }
    state.count = static_cast<int64_t>(state.all.size());
    return absl::OkStatus();
  }

  // --- The search ---

  bool AllocateClaims(size_t claim) {
    return claim == claims_.size() ? IsAccepted() : AllocateRequests(claim, 0);
  }

  bool IsAccepted() {
    if (request_.accept == nullptr) return true;
    NodeAllocation solution = *result_;
    Complete(solution);
    return request_.accept(solution);
  }

  void Complete(NodeAllocation& solution) const {
    solution.outcome = NodeAllocation::Outcome::kAllocated;
    for (const NodePool& pool : pools_) {
      solution.slices.insert(solution.slices.end(), pool.slices.begin(), pool.slices.end());
    }
  }

  bool AllocateRequests(size_t claim, size_t request) {
    if (request == claims_[claim].requests.size()) {
      const bool found = AllocateClaims(claim + 1);
      exceeds_claim_ = false;  // the limit is this claim's
      return found;
    }
    const size_t alternatives = claims_[claim].requests[request].alternatives.size();
    bool all_exceed = true;
    for (size_t a = 0; a < alternatives && !TakeStep(); ++a) {
      result_->alternatives[claim][request] = static_cast<int>(a);
      exceeds_claim_ = false;
      if (AllocateDevicesFrom({claim, request, a}, 0, 0)) return true;
      all_exceed = all_exceed && exceeds_claim_;
    }
    exceeds_claim_ = all_exceed;
    return false;
  }

  // The devices from number `taken` on, and whatever comes behind. Of a requirement with a count
  // they come from the candidates from `from` on.
  bool AllocateDevicesFrom(const At& at, int64_t taken, size_t from) {
    const DeviceRequirement& spec = SpecAt(at);
    const Requirement& state = StateAt(at);
    if (spec.wants_all && state.all.empty()) return false;
    if (taken >= state.count) return AllocateRequests(at.claim, at.request + 1);
    const auto so_far = static_cast<int64_t>(result_->picked[at.claim].size());
    if (so_far + state.count - taken > kMostDevices) {
      exceeds_claim_ = true;
      return false;
    }
    if (spec.wants_all) return AllocateAllFrom(at, taken);
    if (worth_.has_value()) return AllocateRanked(at, taken);
    for (size_t i = from; i < candidates_.size(); ++i) {
      if (TakeStep()) return false;
      if (!IsFree(at, candidates_[i]) || !Matches(at, i)) {
        if (!error_.ok()) return false;
        continue;
      }
      if (!Pick(at, i)) continue;
      // A device that is shared can be taken again.
      const size_t next = candidates_[i].device->allows_multiple ? i : i + 1;
      if (AllocateDevicesFrom(at, taken + 1, next)) return true;
      if (stopped()) return false;
      PutBack(at, i);
      if (exceeds_claim_ || !AreEnoughLeft(at, i + 1, state.count - taken)) return false;
    }
    return false;
  }

  // The same in the order of what the devices are worth now. What was tried in one place is not
  // tried behind it: that would be the same choice.
  bool AllocateRanked(const At& at, int64_t taken) {
    std::vector<bool>& passed_over = StateAt(at).passed_over;
    const std::vector<size_t> ranked = RankedCandidates(at);
    size_t tried = 0;
    bool found = false;
    while (tried < ranked.size() && !found && !TakeStep()) {
      const size_t candidate = ranked[tried];
      if (Matches(at, candidate) && Pick(at, candidate)) {
        found = AllocateDevicesFrom(at, taken + 1, 0);
        if (!found && !stopped()) PutBack(at, candidate);
      }
      if (stopped() || exceeds_claim_) break;
      passed_over[candidate] = true;
      ++tried;
      if (!found && !AreEnoughLeft(at, 0, StateAt(at).count - taken)) break;
    }
    for (size_t i = 0; i < tried; ++i) passed_over[ranked[i]] = false;
    return found;
  }

  // The free ones that match, or of which a selector cannot tell: that is an error when it is their
  // turn.
  std::vector<size_t> RankedCandidates(const At& at) {
    std::vector<std::pair<int64_t, size_t>> ranks;
    for (size_t i = 0; i < candidates_.size() && !TakeStep(); ++i) {
      if (StateAt(at).passed_over[i] || !IsFree(at, candidates_[i])) continue;
      const bool matches = Matches(at, i);
      if (!matches && error_.ok()) continue;
      error_ = absl::OkStatus();
      ranks.push_back({matches ? RankOf(at, i) : std::numeric_limits<int64_t>::max(), i});
    }
    std::sort(ranks.begin(), ranks.end());
    std::vector<size_t> ranked;
    for (const auto& [rank, candidate] : ranks) ranked.push_back(candidate);
    return ranked;
  }

  int64_t RankOf(const At& at, size_t candidate) {
    const int device = static_cast<int>(candidate);
    if (!worth_->IsPossible(device)) return std::numeric_limits<int64_t>::max();
    if (SpecAt(at).admin_access) return 0;  // takes it from no other
    const OfferedDevice& offered = *candidates_[candidate].device;
    if (!offered.allows_multiple) return worth_->RankOf(device, {});
    const auto consumption = ConsumptionOf(SpecAt(at).capacity, *offered.message);
    return consumption.has_value() ? worth_->RankOf(device, *consumption)
                                   : std::numeric_limits<int64_t>::max();
  }

  // Each of them must be had, so there is one order to try.
  bool AllocateAllFrom(const At& at, int64_t taken) {
    const size_t candidate = StateAt(at).all[taken];
    if (TakeStep() || !IsFree(at, candidates_[candidate])) return false;
    if (!Pick(at, candidate)) {
      if (broken_constraint_) {
        error_ = absl::FailedPreconditionError(
            absl::StrCat("claim ", claims_[at.claim].key, ", request ", SpecAt(at).name,
                         ": cannot add device ", candidates_[candidate].device->id.ToString(),
                         " because a claim constraint would not be satisfied"));
      }
      return false;
    }
    if (AllocateDevicesFrom(at, taken + 1, 0)) return true;
    if (!stopped()) PutBack(at, candidate);
    return false;
  }

  // Whether `wanted` candidates from `from` on may be left. Saves the walk through all subsets of
  // devices that are too few. What a selector has not seen yet may match.
  bool AreEnoughLeft(const At& at, size_t from, int64_t wanted) {
    const Requirement& state = StateAt(at);
    for (size_t i = from; i < candidates_.size() && wanted > 0; ++i) {
      if (state.verdicts[i] == Verdict::kNo || !IsFree(at, candidates_[i])) continue;
      if (worth_.has_value() && state.passed_over[i]) continue;
      if (candidates_[i].device->allows_multiple) return true;
      --wanted;
    }
    return wanted == 0;
  }

  bool IsFree(const At& at, const Candidate& candidate) const {
    if (!SpecAt(at).admin_access) return !candidate.held && candidate.picked_by.empty();
    return std::find(candidate.picked_by.begin(), candidate.picked_by.end(),
                     static_cast<int>(at.claim)) == candidate.picked_by.end();
  }

  // The class's selectors, then the request's, then for which nodes the device is. False with
  // error_ set if a selector fails.
  bool Matches(const At& at, size_t candidate) {
    const OfferedDevice& device = *candidates_[candidate].device;
    if (device.has_binding_conditions && !features_.binding_conditions) return false;
    Verdict& verdict = StateAt(at).verdicts[candidate];
    if (verdict == Verdict::kUnknown) {
      const DeviceRequirement& spec = SpecAt(at);
      std::optional<bool> matches =
          AllMatch(spec.class_selectors, device, "class ", spec.device_class->metadata().name());
      if (matches.value_or(false)) {
        matches = AllMatch(spec.selectors, device, "claim ", claims_[at.claim].key);
      }
      if (!matches.has_value()) return false;
      verdict = *matches && candidates_[candidate].is_for_node ? Verdict::kYes : Verdict::kNo;
    }
    return verdict == Verdict::kYes;
  }

  std::optional<bool> AllMatch(
      const std::vector<std::shared_ptr<const CompiledSelector>>& selectors,
      const OfferedDevice& device, absl::string_view whose, absl::string_view name) {
    for (size_t i = 0; i < selectors.size(); ++i) {
      const absl::Status& compiled = selectors[i]->selector().status();
      const absl::StatusOr<bool> matches =
          compiled.ok() ? request_.inventory.Matches(*selectors[i], device) : compiled;
      if (!matches.ok()) {
        error_ = absl::InvalidArgumentError(absl::StrCat(whose, name, ": selector #", i, ": CEL ",
                                                         compiled.ok() ? "runtime" : "compile",
                                                         " error: ", matches.status().message()));
        return std::nullopt;
      }
      if (!*matches) return false;
    }
    return true;
  }

  // What the requirement would take of the candidate's capacity; absent if there is less. Only with
  // DRAConsumableCapacity.
  std::optional<ConsumedCapacity> ConsumptionOn(const At& at, size_t candidate) const {
    const api::SliceDevice& device = *candidates_[candidate].device->message;
    std::optional<ConsumedCapacity> consumption = ConsumptionOf(SpecAt(at).capacity, device);
    if (consumption.has_value() &&
        !HasLeft(device, ConsumedOf(candidates_[candidate]), *consumption)) {
      consumption.reset();
    }
    return consumption;
  }
  static const ConsumedCapacity& ConsumedOf(const Candidate& candidate) {
    static const ConsumedCapacity& nothing = *new ConsumedCapacity();
    return candidate.consumed.has_value() ? *candidate.consumed : nothing;
  }
  bool HasCapacity(const At& at, size_t candidate) const {
    return !features_.consumable_capacity || ConsumptionOn(at, candidate).has_value();
  }

  // The candidate is free and matches.
  bool Pick(const At& at, size_t candidate) {
    Candidate& picked = candidates_[candidate];
    const OfferedDevice& device = *picked.device;
    broken_constraint_ = false;  // until they have been looked at
    if (device.consumes_counters && !features_.partitionable_devices) return false;
    if (FindUntolerated(SpecAt(at).tolerations, device) != nullptr) return false;
    if (!IsWithinLimits(at, device)) return false;
    std::optional<ConsumedCapacity> consumption;
    if (features_.consumable_capacity) consumption = ConsumptionOn(at, candidate);
    const bool has_too_little = features_.consumable_capacity && !consumption.has_value();
    // A request for all looks at the constraints first, which are an error.
    if (has_too_little && !SpecAt(at).wants_all) return false;
    // What is shared consumes once.
    const bool consumes = device.consumes_counters && !picked.consumed.has_value();
    if (consumes && !CountersOf(picked.pool).Suffice(device)) return false;
    broken_constraint_ = !AddToConstraints(at, device);
    if (broken_constraint_ || has_too_little) {
      if (consumes) CountersOf(picked.pool).GiveBack(device);
      if (!broken_constraint_) KeepMatchedValues(at);
      return false;
    }
    PickedDevice& result = result_->picked[at.claim].emplace_back();
    result.request = static_cast<int>(at.request);
    result.alternative = static_cast<int>(at.alternative);
    result.device = &device;
    if (device.allows_multiple) {
      result.consumed = *std::move(consumption);
      if (!picked.consumed.has_value()) picked.consumed.emplace();
      for (const auto& [name, amount] : result.consumed) (*picked.consumed)[name].Add(amount);
      ++picked.shares;
    } else {
      picked.picked_by.push_back(static_cast<int>(at.claim));
    }
    if (worth_.has_value() && !SpecAt(at).admin_access) {
      worth_->Take(static_cast<int>(candidate), result.consumed);
    }
    CountInLimits(at, device, -1);
    return true;
  }

  void PutBack(const At& at, size_t candidate) {
    RemoveFromConstraints(at, claims_[at.claim].constraints.size());
    Candidate& picked = candidates_[candidate];
    const OfferedDevice& device = *picked.device;
    CountInLimits(at, device, 1);
    if (worth_.has_value() && !SpecAt(at).admin_access) {
      worth_->GiveBack(static_cast<int>(candidate), result_->picked[at.claim].back().consumed);
    }
    if (device.allows_multiple) {
      for (const auto& [name, amount] : result_->picked[at.claim].back().consumed) {
        (*picked.consumed)[name].Subtract(amount);
      }
      if (--picked.shares == 0) picked.consumed = ConsumedByOthers(device);
    } else {
      auto& picked_by = picked.picked_by;
      picked_by.erase(std::find(picked_by.begin(), picked_by.end(), static_cast<int>(at.claim)));
    }
    if (device.consumes_counters && !picked.consumed.has_value()) {
      CountersOf(picked.pool).GiveBack(device);
    }
    result_->picked[at.claim].pop_back();
  }

  bool IsWithinLimits(const At& at, const OfferedDevice& device) const {
    if (SpecAt(at).admin_access) return true;
    for (size_t i = 0; i < left_.size(); ++i) {
      if (AmountIn(request_.limits[i], at, device) > left_[i]) return false;
    }
    return true;
  }
  void CountInLimits(const At& at, const OfferedDevice& device, int sign) {
    if (SpecAt(at).admin_access) return;
    for (size_t i = 0; i < left_.size(); ++i) {
      left_[i] += sign * AmountIn(request_.limits[i], at, device);
    }
  }
  int64_t AmountIn(const DeviceLimit& limit, const At& at, const OfferedDevice& device) const {
    return limit.amount_of(device.id, *SpecAt(at).device_class);
  }

  PoolCounters& CountersOf(int pool) {
    if (!counters_[pool].has_value()) counters_[pool].emplace(pools_[pool], request_);
    return *counters_[pool];
  }

  bool AddToConstraints(const At& at, const OfferedDevice& device) {
    const std::vector<AttributeConstraint>& constraints = claims_[at.claim].constraints;
    for (size_t i = 0; i < constraints.size(); ++i) {
      if (!constraints[i].Covers(RequestAt(at).name, SpecAt(at).reference)) continue;
      Constraint& state = state_[at.claim].constraints[i];
      const api::DeviceAttribute* const value = FindAttribute(device, constraints[i].attribute);
      const bool is_distinct = constraints[i].is_distinct;
      const auto fits = [&](const api::DeviceAttribute* other) {
        return AreEqual(*value, *other) != is_distinct;
      };
      // All have the value of the first one, or each another one.
      const absl::Span<const api::DeviceAttribute* const> others =
          absl::MakeConstSpan(state.values).subspan(0, is_distinct ? absl::Span<int>::npos : 1);
      if (value == nullptr || !std::all_of(others.begin(), others.end(), fits)) {
        RemoveFromConstraints(at, i);
        return false;
      }
      state.values.push_back(value);
    }
    return true;
  }

  // After a device of a request for all has been added that has too little left.
  // kube-scheduler v1.35 allocator_experimental.go allocateDevice does not take it back, so that
  // for the rest of the search a matchAttribute wants the value that it has. The request can be
  // satisfied with no other, and another would be an error.
  void KeepMatchedValues(const At& at) {
    const std::vector<AttributeConstraint>& constraints = claims_[at.claim].constraints;
    for (size_t i = 0; i < constraints.size(); ++i) {
      if (!constraints[i].is_distinct) continue;
      if (!constraints[i].Covers(RequestAt(at).name, SpecAt(at).reference)) continue;
      state_[at.claim].constraints[i].values.pop_back();
    }
  }

  // From the first `count` of them.
  void RemoveFromConstraints(const At& at, size_t count) {
    const std::vector<AttributeConstraint>& constraints = claims_[at.claim].constraints;
    for (size_t i = 0; i < count; ++i) {
      if (!constraints[i].Covers(RequestAt(at).name, SpecAt(at).reference)) continue;
      state_[at.claim].constraints[i].values.pop_back();
    }
  }

  // Returns whether the search is to end.
  bool TakeStep() {
    if (++steps_ > request_.max_steps) out_of_steps_ = true;
    return stopped();
  }
  bool stopped() const { return out_of_steps_ || !error_.ok(); }

  const AllocationRequest& request_;
  const DeviceFeatures& features_;
  const absl::Span<const ClaimToAllocate> claims_;
  const std::vector<NodePool>& pools_;
  const Symbol node_name_;
  const LabelSet& node_labels_;
  std::vector<std::optional<PoolCounters>> counters_;  // by pool, once they count
  std::vector<Candidate> candidates_;
  std::optional<DeviceWorth> worth_;  // unless the first that fits is taken
  std::vector<int64_t> left_;         // by limit
  std::vector<Claim> state_;
  NodeAllocation* result_ = nullptr;
  int64_t steps_ = 0;
  bool out_of_steps_ = false;
  bool broken_constraint_ = false;  // why Pick() said no
  // The last part of the search failed since each way through it takes more devices than a claim
  // may have. Which devices were picked before does not matter then, but how many: the nearest list
  // of alternatives goes on.
  bool exceeds_claim_ = false;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<NodeAllocation> AllocateDevices(const AllocationRequest& request, Symbol node_name,
                                               const LabelSet& node_labels) {
  const absl::StatusOr<std::vector<NodePool>> pools =
      request.inventory.PoolsOf(node_name, node_labels);
  if (!pools.ok()) {
    return absl::Status(pools.status().code(),
                        absl::StrCat("gather pool information: ", pools.status().message()));
  }
  absl::StatusOr<NodeAllocation> found = Search(request, *pools, node_name, node_labels).Run();
  if (!request.limits.empty() && found.ok() &&
      found->outcome == NodeAllocation::Outcome::kImpossible) {
    AllocationRequest without_limits = request;
    without_limits.limits = {};
    const auto instead = Search(without_limits, *pools, node_name, node_labels).Run();
    if (instead.ok() && instead->outcome == NodeAllocation::Outcome::kAllocated) {
      found->outcome = NodeAllocation::Outcome::kOverLimits;
    }
  }
  if (!found.ok() || found->outcome != NodeAllocation::Outcome::kAllocated) return found;
  // What an API server lets through has a selector of one term.
  const bool is_odd = std::any_of(pools->begin(), pools->end(), [](const NodePool& pool) {
    return std::any_of(pool.slices.begin(), pool.slices.end(), [](const auto& slice) {
      return slice->spec().node_selector().node_selector_terms_size() > 1;
    });
  });
  for (size_t i = 0; is_odd && i < request.claims.size(); ++i) {
    const auto result = AllocationResultOf(*found, request.claims, static_cast<int>(i));
    if (!result.ok()) return result.status();
  }
  return found;
}

}  // namespace berth
