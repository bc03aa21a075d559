// SPDX-License-Identifier: Apache-2.0
// Implementation of returned_devices.h.
#include "plugins/dynamic_resources/returned_devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/api/node_selector.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/columns/node_table.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {
namespace {

// Visits the devices, and the shares of devices, that no other claim may have as long as the claim
// does.
template <class Visit>
void ForEachDevice(const api::ResourceClaimStatus& status, Visit visit) {
  for (const auto& result : status.allocation().devices().results()) {
    if (result.admin_access()) continue;
    visit(DeviceUse{DeviceId::Of(result.driver(), result.pool(), result.device()),
                    result.share_id()});
  }
}

// By uid.
absl::flat_hash_map<absl::string_view, NodeRow> RowsOfPods(const NodeTable& nodes) {
  absl::flat_hash_map<absl::string_view, NodeRow> rows;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    for (const auto& pod : nodes.node(row).pods()) rows.emplace(pod->uid(), row);
  }
  return rows;
}

}  // namespace

void UpdateReleased(ClaimsState& data, const PodInfo& changed, const ClusterDevices& devices,
                    const Handle& handle) {
  std::vector<PodClaim> claims;
  if (!FindPodClaims(changed, handle.objects(), claims).ok()) return;
  if (const Object* const special = devices.SpecialClaimOf(changed.uid(), handle.objects())) {
    claims.push_back({kSpecialClaimName, *special});
  }
  for (const PodClaim& used : claims) {
    const api::ResourceClaimStatus& status = used.claim().status();
    if (!status.has_allocation()) continue;
    const bool is_own = absl::c_any_of(data.pod->claims, [&](const PodClaim& own) {
      return own.object.uid() == used.object.uid();
    });
    const bool all_gone = absl::c_all_of(status.reserved_for(), [&](const auto& user) {
      return data.gone_pods.contains(user.uid());
    });
    ForEachDevice(status, [&](const DeviceUse& device) {
      if (all_gone && !is_own) {
        data.released.insert(device);
      } else {
        data.released.erase(device);
      }
    });
  }
}

std::vector<ReturnedClaim> ClaimsOnTheirWayBack(
    absl::Span<const std::shared_ptr<const PodInfo>> gone, const ClusterDevices& devices,
    const Handle& handle) {
  std::vector<ReturnedClaim> returned;
  std::optional<absl::flat_hash_set<absl::string_view>> running;  // uids
  for (const Object* const claim : handle.objects().List(Kind::kResourceClaim)) {
    const api::ResourceClaimStatus& status = claim->As<api::ResourceClaim>().status();
    if (!status.has_allocation() || status.reserved_for().empty()) continue;
    if (devices.InFlight(claim->uid()) != nullptr) continue;  // another pod joins it
    if (!running.has_value()) {
      running.emplace();
      const NodeTable& nodes = handle.nodes();
      for (NodeRow row = 0; row < nodes.size(); ++row) {
        for (const auto& pod : nodes.node(row).pods()) running->insert(pod->uid());
      }
      for (const auto& pod : gone) running->insert(pod->uid());
    }
    const bool is_used = absl::c_any_of(status.reserved_for(), [&](const auto& user) {
      return !IsPod(user) || running->contains(user.uid());
    });
    if (is_used) continue;
    ReturnedClaim& back = returned.emplace_back();
    back.uid = std::string(claim->uid());
    ForEachDevice(status, [&](const DeviceUse& device) { back.devices.push_back(device); });
  }
  return returned;
}

std::vector<LeavingClaim> ClaimsOfLeavingPods(const ClusterDevices& devices, const Handle& handle) {
  struct RunningPod {
    const PodInfo* pod;
    Symbol node;
  };
  std::vector<LeavingClaim> leaving;
  std::optional<absl::flat_hash_map<absl::string_view, RunningPod>> running;  // by uid
  for (const Object* const claim : handle.objects().List(Kind::kResourceClaim)) {
    const api::ResourceClaimStatus& status = claim->As<api::ResourceClaim>().status();
    if (!status.has_allocation() || status.reserved_for().empty()) continue;
    if (devices.InFlight(claim->uid()) != nullptr) continue;  // another pod joins it
    if (!running.has_value()) {
      running.emplace();
      const NodeTable& nodes = handle.nodes();
      for (NodeRow row = 0; row < nodes.size(); ++row) {
        const Symbol name = nodes.node(row).name();
        for (const auto& pod : nodes.node(row).pods()) {
          running->emplace(pod->uid(), RunningPod{pod.get(), name});
        }
      }
    }
    LeavingClaim one{.claim = claim};
    bool all_leave = true;
    for (const auto& user : status.reserved_for()) {
      const auto found = running->find(user.uid());
      all_leave = all_leave && IsPod(user) &&
                  (found == running->end() || found->second.pod->deletion_time().has_value());
      if (!all_leave) break;
      if (found == running->end()) continue;
      const PodInfo& pod = *found->second.pod;
      one.highest_priority = std::max(one.highest_priority, pod.priority());
      one.latest_deletion = std::max(one.latest_deletion, *pod.deletion_time());
      one.nodes.push_back(found->second.node);
    }
    if (!all_leave) continue;
    ForEachDevice(status, [&](const DeviceUse& device) { one.devices.push_back(device); });
    leaving.push_back(std::move(one));
  }
  return leaving;
}

ReleasedDevices DevicesOnTheirWayBack(const NodeInfo& node, const ClusterDevices& devices,
                                      const Handle& handle) {
  ReleasedDevices returned;
  std::optional<absl::flat_hash_map<absl::string_view, NodeRow>> row_of;
  for (const Object* const claim : handle.objects().List(Kind::kResourceClaim)) {
    const api::ResourceClaimStatus& status = claim->As<api::ResourceClaim>().status();
    if (!status.has_allocation() || status.reserved_for().empty()) continue;
    if (devices.InFlight(claim->uid()) != nullptr) continue;  // another pod joins it
    const absl::StatusOr<NodeSelector> selector =
        NodeSelector::Create(status.allocation().node_selector(), "nodeSelectorTerms");
    const auto can_be_used_on = [&](const NodeInfo& other) {
      return !status.allocation().has_node_selector() ||
             (selector.ok() && selector->Matches(other.labels(), other.name()));
    };
    if (!can_be_used_on(node)) continue;
    if (!row_of.has_value()) row_of = RowsOfPods(handle.nodes());
    const bool is_used = absl::c_any_of(status.reserved_for(), [&](const auto& user) {
      const auto running = row_of->find(user.uid());
      return !IsPod(user) ||
             (running != row_of->end() && can_be_used_on(handle.nodes().node(running->second)));
    });
    if (is_used) continue;
    ForEachDevice(status, [&](const DeviceUse& device) { returned.insert(device); });
  }
  return returned;
}

}  // namespace berth
