// SPDX-License-Identifier: Apache-2.0
// Implementation of device_notes.h.
#include "plugins/dynamic_resources/device_notes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/device_explanation.h"

namespace berth {
namespace {

// So many devices are named in a note for each reason.
constexpr size_t kMostNamed = 8;

}  // namespace

std::vector<NodeNote> NotesOnDevices(const ClaimsOfPod& claims, const ClaimsToAllocate& on_node,
                                     absl::Span<const PlannedAllocation> planned,
                                     const ClusterDevices& devices, const NodeInfo& node) {
  std::vector<NodeNote> notes;
  for (const PlannedAllocation& one : planned) {
    std::string text = "gets";
    for (const auto& result : one.allocation->devices().results()) {
      absl::StrAppend(&text, text == "gets" ? " " : ", ", result.request(), " ", result.driver(),
                      "/", result.pool(), "/", result.device());
    }
    notes.push_back({one.claim, std::move(text)});
  }
  const auto is_held = [&](const DeviceId& device) { return devices.Holds(device); };
  const AllocationRequest request = {
      .inventory = devices.inventory(),
      .claims = on_node.claims,
      .is_held = is_held,
      .consumed = [&](const DeviceId& device) { return devices.Consumed(device); }};
  for (const RejectedDevices& rejected : ExplainDevices(request, node.name(), node.labels())) {
    const std::string name =
        absl::StrCat(claims.claims[on_node.positions[rejected.claim]].reference, "/",
                     rejected.request, " cannot have");
    std::string text = absl::StrJoin(
        rejected.devices.begin(),
        rejected.devices.begin() +
            static_cast<std::ptrdiff_t>(std::min(rejected.devices.size(), kMostNamed)),
        ", ");
    if (rejected.devices.size() > kMostNamed) {
      absl::StrAppend(&text, " and ", rejected.devices.size() - kMostNamed, " more");
    }
    absl::StrAppend(&text, ": ", rejected.reason);
    if (!notes.empty() && notes.back().name == name) {
      absl::StrAppend(&notes.back().text, "; ", text);
    } else {
      notes.push_back({name, std::move(text)});
    }
  }
  return notes;
}

}  // namespace berth
