// SPDX-License-Identifier: Apache-2.0
// An allocation as the status of a claim has it: results, configuration, node selector. As
// kube-scheduler v1.35 allocator_stable.go, the end of Allocate() and createNodeSelector().
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_allocator.h"
#include "devices/offered_slice.h"

namespace berth {
namespace {

using Requirements = google::protobuf::RepeatedPtrField<api::NodeSelectorRequirement>;

std::set<std::string> ValuesOf(const api::NodeSelectorRequirement& requirement) {
  return {requirement.values().begin(), requirement.values().end()};
}

void AddNew(const Requirements& from, Requirements& to) {
  for (const api::NodeSelectorRequirement& added : from) {
    const bool is_there = absl::c_any_of(to, [&](const api::NodeSelectorRequirement& there) {
      return there.key() == added.key() && there.operator_() == added.operator_() &&
             ValuesOf(there) == ValuesOf(added);
    });
    if (!is_there) *to.Add() = added;
  }
}

void AddTolerations(const ClaimToAllocate& claim, const PickedDevice& pick,
                    const DeviceRequirement& requirement,
                    api::DeviceRequestAllocationResult& result) {
  if (requirement.tolerations.empty()) return;  // or the feature is off
  const api::DeviceRequest& request = claim.message->spec().devices().requests(pick.request);
  *result.mutable_tolerations() = request.first_available().empty()
                                      ? request.exactly().tolerations()
                                      : request.first_available(pick.alternative).tolerations();
}

// In the form of a uid, unlike all others. Upstream's is random; here the same input has the same
// result.
std::string ShareId(const api::ObjectMeta& claim, const api::DeviceRequestAllocationResult& result,
                    int number) {
  const std::string name =
      absl::StrCat(claim.uid(), "/", claim.namespace_(), "/", claim.name(), "/", result.driver(),
                   "/", result.pool(), "/", result.device(), "/", number);
  // FNV-1a, from two bases.
  const auto hash = [&name](uint64_t value) {
    for (const char c : name) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return value;
  };
  const uint64_t high = hash(0xcbf29ce484222325), low = hash(0x84222325cbf29ce4);
  return absl::StrFormat("%08x-%04x-4%03x-8%03x-%012x", high >> 32, (high >> 16) & 0xffff,
                         high & 0xfff, (low >> 48) & 0xfff, low & 0xffffffffffff);
}

// That of the node if any device belongs to one, or binds to the one where it is used; absent if
// all are for all nodes.
absl::StatusOr<std::optional<api::NodeSelector>> NodeSelectorOf(const NodeAllocation& allocation,
                                                                int index,
                                                                absl::string_view claim_name) {
  api::NodeSelector selector;
  api::NodeSelectorTerm& term = *selector.add_node_selector_terms();
  for (const PickedDevice& pick : allocation.picked[index]) {
    const api::ResourceSliceSpec& slice = pick.device->slice->spec();
    const bool is_per_device = pick.device->slice->scope() == OfferedSlice::Scope::kPerDevice;
    const api::SliceDevice& device = *pick.device->message;
    const bool is_of_node = is_per_device ? device.has_node_name() : slice.has_node_name();
    if (is_of_node || pick.device->binds_to_node) {
      selector.Clear();
      api::NodeSelectorRequirement& name = *selector.add_node_selector_terms()->add_match_fields();
      name.set_key("metadata.name");
      name.set_operator_("In");
      name.add_values(std::string(allocation.node_name.view()));
      return selector;
    }
    const api::NodeSelector& nodes = is_per_device ? device.node_selector() : slice.node_selector();
    const int terms = nodes.node_selector_terms_size();
    if (terms > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("create NodeSelector for claim ", claim_name,
                       ": unsupported ResourceSlice.NodeSelector with ", terms, " terms"));
    }
    if (terms == 0) continue;
    const api::NodeSelectorTerm& from = nodes.node_selector_terms(0);
    AddNew(from.match_fields(), *term.mutable_match_fields());
    AddNew(from.match_expressions(), *term.mutable_match_expressions());
  }
  if (term.match_fields().empty() && term.match_expressions().empty()) return std::nullopt;
  return selector;
}

// Each class once, for all requests that it is of.
void AddClassConfiguration(const ClaimToAllocate& claim, absl::Span<const int> alternatives,
                           api::DeviceAllocationResult& result) {
  std::map<std::string, std::pair<int, int>> of_class;  // begin and end in the result
  for (size_t r = 0; r < claim.requests.size(); ++r) {
    const DeviceRequirement& used = claim.requests[r].alternatives[alternatives[r]];
    const auto [known, is_new] = of_class.try_emplace(used.device_class->metadata().name());
    auto& [begin, end] = known->second;
    if (is_new) {
      begin = result.config_size();
      for (const api::DeviceClassConfiguration& config : used.device_class->spec().config()) {
        api::DeviceAllocationConfiguration& added = *result.add_config();
        added.set_source("FromClass");
        *added.mutable_device_configuration() = config.device_configuration();
      }
      end = result.config_size();
    }
    for (int i = begin; i < end; ++i) result.mutable_config(i)->add_requests(used.reference);
  }
}

// Once for each request that it names.
void AddClaimConfiguration(const ClaimToAllocate& claim, absl::Span<const int> alternatives,
                           api::DeviceAllocationResult& result) {
  for (const api::DeviceClaimConfiguration& config : claim.message->spec().devices().config()) {
    const auto add = [&] {
      api::DeviceAllocationConfiguration& added = *result.add_config();
      added.set_source("FromClaim");
      *added.mutable_requests() = config.requests();
      *added.mutable_device_configuration() = config.device_configuration();
    };
    if (config.requests().empty()) add();
    for (size_t r = 0; r < claim.requests.size() && !config.requests().empty(); ++r) {
      const DeviceRequirement& used = claim.requests[r].alternatives[alternatives[r]];
      if (absl::c_linear_search(config.requests(), claim.requests[r].name) ||
          absl::c_linear_search(config.requests(), used.reference)) {
        add();
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const api::AllocationResult>> AllocationResultOf(
    const NodeAllocation& allocation, absl::Span<const ClaimToAllocate> claims, int index) {
  const ClaimToAllocate& claim = claims[index];
  auto result = std::make_shared<api::AllocationResult>();
  api::DeviceAllocationResult& devices = *result->mutable_devices();
  for (const PickedDevice& pick : allocation.picked[index]) {
    const DeviceRequirement& requirement =
        claim.requests[pick.request].alternatives[pick.alternative];
    api::DeviceRequestAllocationResult& added = *devices.add_results();
    added.set_request(requirement.reference);
    added.set_driver(std::string(pick.device->id.driver.view()));
    added.set_pool(std::string(pick.device->id.pool.view()));
    added.set_device(std::string(pick.device->id.device.view()));
    if (requirement.admin_access) added.set_admin_access(true);
    AddTolerations(claim, pick, requirement, added);
    if (pick.device->has_binding_conditions) {  // so these count
      const api::SliceDevice& device = *pick.device->message;
      *added.mutable_binding_conditions() = device.binding_conditions();
      *added.mutable_binding_failure_conditions() = device.binding_failure_conditions();
    }
    if (!pick.device->allows_multiple) continue;
    added.set_share_id(ShareId(claim.message->metadata(), added, devices.results_size()));
    for (const auto& [name, amount] : pick.consumed) {
      (*added.mutable_consumed_capacity())[name].set_string(amount.ToString());
    }
  }
  AddClassConfiguration(claim, allocation.alternatives[index], devices);
  AddClaimConfiguration(claim, allocation.alternatives[index], devices);
  absl::StatusOr<std::optional<api::NodeSelector>> selector =
      NodeSelectorOf(allocation, index, claim.message->metadata().name());
  if (!selector.ok()) return selector.status();
  if (selector->has_value()) *result->mutable_node_selector() = **std::move(selector);
  return result;
}

}  // namespace berth
