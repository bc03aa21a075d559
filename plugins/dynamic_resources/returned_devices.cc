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

// Visits the claims that somebody has reserved, but those that another pod is about to join.
template <class Visit>
void ForEachReservedClaim(const ClusterDevices& devices, const Handle& handle, Visit visit) {
  for (const Object* const claim : handle.objects().List(Kind::kResourceClaim)) {
    const api::ResourceClaimStatus& status = claim->As<api::ResourceClaim>().status();
    if (!status.has_allocation() || status.reserved_for().empty()) continue;
    if (devices.InFlight(claim->uid()) == nullptr) visit(*claim, status);
  }
}

// The pods on nodes, by uid. Listed when one is looked for.
class RunningPods {
 public:
  struct Place {
    const PodInfo* pod;
    NodeRow row;
  };

  explicit RunningPods(const NodeTable& nodes) : nodes_(nodes) {}

  // Null: it is on no node.
  const Place* Find(absl::string_view uid) {
    if (!places_.has_value()) List();
    const auto found = places_->find(uid);
    return found == places_->end() ? nullptr : &found->second;
  }

 private:
  void List() {
    places_.emplace();
    for (NodeRow row = 0; row < nodes_.size(); ++row) {
      for (const auto& pod : nodes_.node(row).pods()) {
        places_->emplace(pod->uid(), Place{pod.get(), row});
      }
    }
  }

  const NodeTable& nodes_;
  std::optional<absl::flat_hash_map<absl::string_view, Place>> places_;
};

}  // namespace

bool UpdateReleased(ClaimsState& data, const PodInfo& changed, const ClusterDevices& devices,
                    const Handle& handle) {
  std::vector<PodClaim> claims;
  if (!FindPodClaims(changed, handle.objects(), claims).ok()) return true;
  bool gives_all_back = true;
  if (const Object* const special = devices.SpecialClaimOf(changed.uid(), handle.objects())) {
    claims.push_back({kSpecialClaimName, *special});
  } else {
    gives_all_back = !devices.ExpectsSpecialClaims() || !RequestsDeviceResources(changed);
  }
  for (const PodClaim& used : claims) {
    const api::ResourceClaimStatus& status = used.claim().status();
    gives_all_back &= status.has_allocation() && IsReservedFor(used.claim(), changed.uid());
    if (!status.has_allocation()) continue;
    const bool is_own = IsAmong(data.pod->claims, used.object.uid());
    const bool all_gone = absl::c_all_of(status.reserved_for(), [&](const auto& user) {
      return data.gone_pods.contains(user.uid());
    });
    gives_all_back &= all_gone;
    for (DeviceUse& device : devices.UsesOf(status.allocation())) {
      if (all_gone && !is_own) {
        data.released.insert(std::move(device));
      } else {
        data.released.erase(device);
      }
    }
  }
  return gives_all_back;
}

std::vector<ReturnedClaim> ClaimsOnTheirWayBack(
    absl::Span<const std::shared_ptr<const PodInfo>> gone, const ClusterDevices& devices,
    const Handle& handle) {
  std::vector<ReturnedClaim> returned;
  RunningPods running(handle.nodes());
  const auto is_gone = [&](absl::string_view uid) {
    return absl::c_any_of(gone, [&](const auto& pod) { return pod->uid() == uid; });
  };
  ForEachReservedClaim(devices, handle, [&](const Object& claim, const auto& status) {
    const bool is_used = absl::c_any_of(status.reserved_for(), [&](const auto& user) {
      return !IsPod(user) || running.Find(user.uid()) != nullptr || is_gone(user.uid());
    });
    if (is_used) return;
    ReturnedClaim& back = returned.emplace_back();
    back.uid = std::string(claim.uid());
    back.devices = devices.UsesOf(status.allocation());
  });
  return returned;
}

absl::flat_hash_set<std::string> OwnClaimsOnTheirWayBack(const ClaimsOfPod& of_pod,
                                                         const Handle& handle) {
  absl::flat_hash_set<std::string> returned;
  RunningPods running(handle.nodes());
  for (size_t i = 0; i < of_pod.claims.size(); ++i) {
    if (!of_pod.may_be_freed[i]) continue;
    const bool is_used =
        absl::c_any_of(of_pod.claims[i].claim().status().reserved_for(),
                       [&](const auto& user) { return running.Find(user.uid()) != nullptr; });
    if (!is_used) returned.emplace(of_pod.claims[i].object.uid());
  }
  return returned;
}

std::vector<LeavingClaim> ClaimsOfLeavingPods(const ClusterDevices& devices, const Handle& handle) {
  std::vector<LeavingClaim> leaving;
  RunningPods running(handle.nodes());
  ForEachReservedClaim(devices, handle, [&](const Object& claim, const auto& status) {
    LeavingClaim one{.claim = &claim};
    for (const auto& user : status.reserved_for()) {
      if (!IsPod(user)) return;
      const RunningPods::Place* const place = running.Find(user.uid());
      if (place == nullptr) continue;
      if (!place->pod->deletion_time().has_value()) return;
      one.highest_priority = std::max(one.highest_priority, place->pod->priority());
      one.latest_deletion = std::max(one.latest_deletion, *place->pod->deletion_time());
      one.nodes.push_back(handle.nodes().node(place->row).name());
    }
    one.devices = devices.UsesOf(status.allocation());
    leaving.push_back(std::move(one));
  });
  return leaving;
}

ReleasedDevices DevicesOnTheirWayBack(const NodeInfo& node, const ClusterDevices& devices,
                                      const Handle& handle) {
  ReleasedDevices returned;
  RunningPods running(handle.nodes());
  ForEachReservedClaim(devices, handle, [&](const Object&, const auto& status) {
    const absl::StatusOr<NodeSelector> selector =
        NodeSelector::Create(status.allocation().node_selector(), "nodeSelectorTerms");
    const auto can_be_used_on = [&](const NodeInfo& other) {
      return !status.allocation().has_node_selector() ||
             (selector.ok() && selector->Matches(other.labels(), other.name()));
    };
    if (!can_be_used_on(node)) return;
    const bool is_used = absl::c_any_of(status.reserved_for(), [&](const auto& user) {
      const RunningPods::Place* const place = running.Find(user.uid());
      return !IsPod(user) || (place != nullptr && can_be_used_on(handle.nodes().node(place->row)));
    });
    if (is_used) return;
    for (DeviceUse& device : devices.UsesOf(status.allocation())) {
      returned.insert(std::move(device));
    }
  });
  return returned;
}

}  // namespace berth
