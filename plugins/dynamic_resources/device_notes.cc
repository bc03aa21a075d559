// SPDX-License-Identifier: Apache-2.0
// Implementation of device_notes.h.
#include "plugins/dynamic_resources/device_notes.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/columns/node_table.h"
#include "berth/devices/device_explanation.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/handle/object_store.h"
#include "plugins/dynamic_resources/node_allocations.h"

namespace berth {
namespace {

// So many devices are named in one place.
constexpr size_t kMostNamed = 8;

std::string CountOf(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// "driver/pool/a, b, driver/other/c and 2 more".
std::string DeviceList(absl::Span<const DeviceId> devices) {
  std::string text;
  for (size_t i = 0; i < std::min(devices.size(), kMostNamed); ++i) {
    const DeviceId& device = devices[i];
    const bool same_pool =
        i > 0 && devices[i - 1].driver == device.driver && devices[i - 1].pool == device.pool;
    absl::StrAppend(&text, i == 0 ? "" : ", ",
                    same_pool ? std::string(device.device.view()) : device.ToString());
  }
  if (devices.size() > kMostNamed) {
    absl::StrAppend(&text, " and ", devices.size() - kMostNamed, " more");
  }
  return text;
}

using Mappings = std::shared_ptr<const api::PodExtendedResourceClaimStatus>;

// What a request of the special claim is for: " (vendor.com/gpu of ctr0)".
std::string ResourceOf(const Mappings& mappings, absl::string_view request) {
  if (mappings == nullptr) return "";
  std::vector<std::string> users;
  for (const auto& mapping : mappings->request_mappings()) {
    if (mapping.request_name() != request) continue;
    users.push_back(absl::StrCat(mapping.resource_name(), " of ", mapping.container_name()));
  }
  return users.empty() ? "" : absl::StrCat(" (", absl::StrJoin(users, ", "), ")");
}

// What is special about a device that a claim gets: " (admin access)", " (memory 10Gi)" or "".
std::string DetailsOf(const api::DeviceRequestAllocationResult& result) {
  std::vector<std::string> details;
  if (result.admin_access()) details.push_back("admin access");
  if (!result.binding_conditions().empty()) {
    details.push_back(absl::StrCat("bound when ",
                                   absl::StrJoin(result.binding_conditions(), " and "), " ",
                                   result.binding_conditions_size() == 1 ? "is" : "are", " true"));
  }
  for (const auto& [name, amount] : result.consumed_capacity()) {
    details.push_back(absl::StrCat(name, " ", amount.string()));
  }
  absl::c_sort(details);
  return details.empty() ? "" : absl::StrCat(" (", absl::StrJoin(details, ", "), ")");
}

// "request driver/pool/a, b (memory 10Gi); other driver/pool/c": what a claim gets or has.
std::string ResultList(const api::AllocationResult& allocation,
                       const Mappings& mappings = nullptr) {
  const auto& results = allocation.devices().results();
  if (results.empty()) return "no devices";
  std::string text;
  for (int i = 0; i < std::min<int>(results.size(), kMostNamed); ++i) {
    const auto& result = results.Get(i);
    const auto* const before = i == 0 ? nullptr : &results.Get(i - 1);
    const bool is_next = before != nullptr && before->request() == result.request();
    if (is_next) {
      absl::StrAppend(&text, ", ");
    } else {
      absl::StrAppend(&text, i == 0 ? "" : "; ", result.request(),
                      ResourceOf(mappings, result.request()), " ");
    }
    if (!is_next || before->driver() != result.driver() || before->pool() != result.pool()) {
      absl::StrAppend(&text, result.driver(), "/", result.pool(), "/");
    }
    absl::StrAppend(&text, result.device(), DetailsOf(result));
  }
  if (results.size() > static_cast<int>(kMostNamed)) {
    absl::StrAppend(&text, " and ", results.size() - static_cast<int>(kMostNamed), " more");
  }
  return text;
}

// What keeps a request from its devices, if none of its claim's has any.
std::string WhyNone(const ExplainedRequest& request) {
  const bool are_there = !request.possible.empty() || !request.rejected.empty();
  if (!are_there) return "the node has no devices";
  if (request.wants_all) {
    const bool some_missing = absl::c_any_of(request.rejected, [](const RejectedDevices& rejected) {
      return rejected.reached == RejectedDevices::Reached::kFree;
    });
    if (some_missing) return "asks for all devices that match, also those that it cannot have";
    if (request.possible.empty()) return "asks for all devices that match, and there are none";
    return absl::StrCat("asks for all devices that match: ", DeviceList(request.possible),
                        "; constraints, limits or other requests keep it from them");
  }
  const std::string wanted = CountOf(static_cast<size_t>(request.count), "device");
  if (request.possible.empty()) return absl::StrCat("asks for ", wanted, ", and can have none");
  int64_t can_have = 0;
  std::vector<std::string> shared;
  for (size_t i = 0; i < request.possible.size(); ++i) {
    can_have += request.shares[i];
    if (request.shares[i] > 1) {
      shared.push_back(
          absl::StrCat(request.possible[i].device.view(), " ", request.shares[i], " times"));
    }
  }
  can_have = std::min(can_have, request.count);
  const bool is_too_few = can_have < request.count;
  std::string possible =
      absl::StrCat("asks for ", wanted, ", and can have ",
                   request.may_be_fewer && can_have > 1 ? "at most " : "", can_have, ": ",
                   DeviceList(request.possible),
                   shared.empty() ? "" : absl::StrCat(" (", absl::StrJoin(shared, ", "), ")"));
  if (is_too_few) return possible;
  return absl::StrCat(possible,
                      "; constraints, shared counters or other requests leave too few of them");
}

// Those first that the request would like best.
std::string RejectedList(const ExplainedRequest& request) {
  std::vector<RejectedDevices> rejected = request.rejected;
  absl::c_stable_sort(rejected, [](const RejectedDevices& a, const RejectedDevices& b) {
    return a.reached > b.reached;
  });
  return absl::StrJoin(rejected, "; ", [](std::string* out, const RejectedDevices& of_reason) {
    absl::StrAppend(out, DeviceList(of_reason.devices), ": ", of_reason.reason);
  });
}

// Of claims that have devices, or are about to.
void AddAllocated(const ClaimsOfPod& claims, const NodeInfo& node, std::vector<NodeNote>& notes) {
  for (size_t i = 0; i < claims.claims.size(); ++i) {
    const PodClaim& claim = claims.claims[i];
    if (!claims.lost[i].empty()) {
      notes.push_back({claim.reference, "its devices are lost: " + claims.lost[i]});
      continue;
    }
    const bool is_written = claim.claim().status().has_allocation();
    if (!is_written && claims.in_flight[i] == nullptr) continue;
    if (claims.IsFreedForOthers(i)) {
      notes.push_back(
          {claim.reference, absl::StrCat("is to lose its devices for ",
                                         claims.nominated->freed_claims.at(claim.object.uid()),
                                         ", which is nominated")});
      continue;
    }
    const std::optional<NodeSelector>& available_on = claims.available_on[i];
    const bool is_elsewhere =
        available_on.has_value() && !available_on->Matches(node.labels(), node.name());
    notes.push_back(
        {claim.reference, absl::StrCat(is_written ? "has " : "is about to have ",
                                       ResultList(is_written ? claim.claim().status().allocation()
                                                             : *claims.in_flight[i]),
                                       is_elsewhere ? ", which the node cannot use" : "")});
  }
}

// Whether the claim gets an alternative before this one of the same list.
bool IsSecondChoice(const ExplainedRequest& request, const api::AllocationResult& gets,
                    absl::Span<const ExplainedRequest> explained) {
  const auto is_chosen = [&](const ExplainedRequest& other) {
    return absl::c_any_of(gets.devices().results(),
                          [&](const auto& result) { return result.request() == other.request; });
  };
  const size_t slash = request.request.find('/');
  if (slash == std::string::npos) return false;
  const absl::string_view list = absl::string_view(request.request).substr(0, slash + 1);
  for (const ExplainedRequest& other : explained) {
    if (&other == &request) return false;
    if (other.claim == request.claim && absl::StartsWith(other.request, list) && is_chosen(other)) {
      return true;
    }
  }
  return false;
}

// Devices that nobody has, and that are planned for nominated pods: "planned for ns/p, which is
// nominated".
void NameNominatedPods(const ClaimsOfPod& claims, const ClusterDevices& devices,
                       std::vector<ExplainedRequest>& explained) {
  if (claims.nominated == nullptr) return;
  for (ExplainedRequest& request : explained) {
    std::vector<RejectedDevices> rejected;
    for (RejectedDevices& of_reason : request.rejected) {
      std::map<std::string, RejectedDevices> planned;  // by the pod's key
      std::erase_if(of_reason.devices, [&](const DeviceId& device) {
        const auto nominated = claims.nominated->devices.find(device);
        if (of_reason.cause != RejectedDevices::Cause::kInUse ||
            nominated == claims.nominated->devices.end()) {
          return false;
        }
        if (devices.Holds(device)) return false;
        planned[nominated->second].devices.push_back(device);
        return true;
      });
      for (auto& [pod, of_pod] : planned) {
        of_pod.reason = absl::StrCat("planned for ", pod, ", which is nominated");
        of_pod.cause = of_reason.cause;
        of_pod.reached = of_reason.reached;
        rejected.push_back(std::move(of_pod));
      }
      if (!of_reason.devices.empty()) rejected.push_back(std::move(of_reason));
    }
    request.rejected = std::move(rejected);
  }
}

// Of a claim that is to be allocated, and `gets` something or null.
void AddWanted(const std::string& reference, absl::Span<const ExplainedRequest> explained,
               int claim, const api::AllocationResult* gets, const Mappings& mappings,
               bool explains_failure, std::vector<NodeNote>& notes) {
  if (gets != nullptr) notes.push_back({reference, "gets " + ResultList(*gets, mappings)});
  for (const ExplainedRequest& request : explained) {
    if (request.claim != claim) continue;
    if (gets != nullptr && IsSecondChoice(request, *gets, explained)) continue;
    const std::string name =
        absl::StrCat(reference, "/", request.request, ResourceOf(mappings, request.request));
    if (gets == nullptr && explains_failure) notes.push_back({name, WhyNone(request)});
    if (request.rejected.empty()) continue;
    notes.push_back({name + " cannot have", RejectedList(request)});
  }
}

// As NodeAllocations asks for devices of the node.
std::vector<ExplainedRequest> ExplainedOn(const ClaimsOfPod& claims,
                                          const ClaimsToAllocate& on_node,
                                          const ClusterDevices& devices, const NodeInfo& node) {
  const auto is_held = [&](const DeviceId& device) {
    return devices.Holds(device) || NodeAllocations::IsNominated(claims, device);
  };
  const AllocationRequest request = {.inventory = devices.inventory(),
                                     .claims = on_node.claims,
                                     .is_held = is_held,
                                     .consumed = [&](const DeviceId& device) {
                                       return NodeAllocations::Consumed(devices, claims, device);
                                     }};
  return ExplainDevices(request, node.name(), node.labels());
}

}  // namespace

DevicesOutOfReach WhyOutOfReach(const ClaimsOfPod& claims, const ClusterDevices& devices,
                                const NodeTable& nodes, const ObjectStore& objects) {
  constexpr int kMostNodes = 8;
  std::set<std::string> gates, pools;
  for (NodeRow row = 0; row < std::min<NodeRow>(nodes.size(), kMostNodes); ++row) {
    const ClaimsToAllocate* const on_node = claims.ToAllocateOn(nodes.node(row));
    if (on_node == nullptr) continue;
    for (const ExplainedRequest& request :
         ExplainedOn(claims, *on_node, devices, nodes.node(row))) {
      for (const RejectedDevices& rejected : request.rejected) {
        if (!rejected.gate.empty()) gates.emplace(rejected.gate);
        if (!rejected.pool.empty()) pools.insert(rejected.pool);
      }
    }
  }
  // These slices are for no node at all, then.
  if (!devices.inventory().features().partitionable_devices &&
      absl::c_any_of(objects.List(Kind::kResourceSlice), [](const Object* slice) {
        return slice->As<api::ResourceSlice>().spec().per_device_node_selection();
      })) {
    gates.emplace("DRAPartitionableDevices");
  }
  return {{gates.begin(), gates.end()}, {pools.begin(), pools.end()}};
}

std::vector<NodeNote> NotesOnExtendedResources(const PodInfo& pod, const NodeInfo& node,
                                               const ObjectStore& objects) {
  std::vector<NodeNote> notes;
  pod.requests().ForEach([&](ResourceId resource, int64_t) {
    const std::string name(ResourceName(resource));
    if (!IsDeviceResourceName(name) || node.allocatable().Get(resource) > 0) return;
    std::string text =
        WhatDevicesWouldDo(resource, [&] { return objects.List(Kind::kDeviceClass); });
    if (!text.empty()) notes.push_back({name, std::move(text)});
  });
  return notes;
}

std::vector<NodeNote> NotesOnDevices(const ClaimsOfPod& claims,
                                     absl::StatusOr<ClaimVerdict> verdict,
                                     absl::Span<const PlannedAllocation> planned,
                                     const ClusterDevices& devices, const NodeInfo& node) {
  std::vector<NodeNote> notes;
  AddAllocated(claims, node, notes);
  if (ClaimVerdicts::OnSpecialClaim(claims, node) != ClaimVerdict::kFeasible) return notes;
  const ClaimsToAllocate& on_node = *claims.ToAllocateOn(node);
  if (on_node.claims.empty()) return notes;
  std::vector<ExplainedRequest> explained = ExplainedOn(claims, on_node, devices, node);
  NameNominatedPods(claims, devices, explained);
  const bool explains_failure = verdict.ok() && (*verdict == ClaimVerdict::kCannotAllocate ||
                                                 *verdict == ClaimVerdict::kInvalidPools);
  for (size_t i = 0; i < on_node.claims.size(); ++i) {
    const int position = on_node.positions[i];
    const std::string& reference = claims.claims[position].reference;
    const auto gets = absl::c_find_if(
        planned, [&](const PlannedAllocation& one) { return one.claim == reference; });
    AddWanted(reference, explained, static_cast<int>(i),
              gets == planned.end() ? nullptr : gets->allocation.get(),
              claims.is_special(position) ? on_node.mappings : nullptr, explains_failure, notes);
  }
  return notes;
}

}  // namespace berth
