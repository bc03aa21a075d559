// SPDX-License-Identifier: Apache-2.0
// Implementation of shared_claims.h.
#include "plugins/dynamic_resources/shared_claims.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/columns/node_table.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {
const std::vector<SharedClaims::Claim>& SharedClaims::Claims() {
  const std::pair versions(handle_.objects().version(Kind::kResourceClaim),
                           handle_.objects().version(Kind::kResourceSlice));
  if (read_at_ == versions) return claims_;
  read_at_ = versions;
  claims_.clear();
  for (const Object* const object : handle_.objects().List(Kind::kResourceClaim)) {
    const api::ResourceClaimStatus& status = object->As<api::ResourceClaim>().status();
    if (!status.has_allocation() || status.reserved_for().empty()) continue;
    Claim claim{*object};
    for (const DeviceUse& use : devices_->UsesOf(status.allocation())) {
      const AffectedNodes nodes = devices_->inventory().NodesOf(use.device);
      claim.on_all_nodes |= nodes.all;
      claim.on_nodes.insert(claim.on_nodes.end(), nodes.names.begin(), nodes.names.end());
    }
    if (claim.on_all_nodes || claim.on_nodes.size() > 1) claims_.push_back(std::move(claim));
  }
  return claims_;
}

bool SharedClaims::HasUser(const PodInfo& pod) {
  if (pod.spec().resource_claims().empty()) return false;
  return absl::c_any_of(Claims(), [&](const Claim& claim) {
    return absl::c_any_of(claim.object.As<api::ResourceClaim>().status().reserved_for(),
                          [&](const auto& user) { return user.uid() == pod.uid(); });
  });
}

std::vector<SharedClaims::Claim> SharedClaims::InTheWayOf(const ClaimsOfPod& pod) {
  std::vector<Claim> claims;
  for (size_t i = 0; i < pod.claims.size(); ++i) {
    if (!pod.may_be_freed[i]) continue;
    claims.push_back({.object = pod.claims[i].object, .on_all_nodes = true});
  }
  if (!pod.may_allocate() && claims.empty()) return claims;
  for (const Claim& claim : Claims()) {
    if (IsAmong(pod.claims, claim.object.uid())) continue;
    if (devices_->InFlight(claim.object.uid()) == nullptr) claims.push_back(claim);
  }
  return claims;
}

std::vector<SharedHolding> SharedClaims::For(const CycleState& state, const PodInfo&) {
  std::vector<SharedHolding> holdings;
  const ClaimsState* const data = state.Find(kClaimsState);
  if (data == nullptr) return holdings;
  const std::vector<Claim> claims = InTheWayOf(*data->pod);
  if (claims.empty()) return holdings;
  absl::flat_hash_map<absl::string_view, std::pair<std::shared_ptr<const PodInfo>, Symbol>> running;
  const NodeTable& nodes = handle_.nodes();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    for (const auto& pod : node.pods()) running.emplace(pod->uid(), std::pair(pod, node.name()));
  }
  for (const Claim& claim : claims) {
    SharedHolding holding;
    bool may_go = true;
    for (const auto& user : claim.object.As<api::ResourceClaim>().status().reserved_for()) {
      if (data->gone_pods.contains(user.uid())) continue;
      const auto found = running.find(user.uid());
      may_go = may_go && IsPod(user) && found != running.end();
      if (!may_go) break;
      holding.users.pods.push_back(found->second.first);
      holding.users.nodes.push_back(found->second.second);
    }
    if (!may_go || holding.users.pods.empty()) continue;
    holding.on_all_nodes = claim.on_all_nodes;
    holding.on_nodes = claim.on_nodes;
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

}  // namespace berth
