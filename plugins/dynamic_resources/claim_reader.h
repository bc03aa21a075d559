// SPDX-License-Identifier: Apache-2.0
// Which claims a pod has, as the cluster has them now, and what they ask for.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_READER_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "berth/api/node_selector.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/symbol.h"
#include "berth/devices/claim_to_allocate.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"
#include "berth/incremental/sign.h"
#include "berth/preemption/held_elsewhere.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/pod_claims.h"

namespace berth {

// Scheduling thread.
class ClaimReader {
 public:
  // `classes`: null without DRAExtendedResource. `binding_timeout`: absent without
  // DRADeviceBindingConditions. `victims`: null without preemptForDevices.
  ClaimReader(Handle& handle, ClusterDevices& devices,
              std::shared_ptr<ExtendedResourceClasses> classes,
              std::optional<absl::Duration> binding_timeout,
              std::shared_ptr<const PossibleVictims> victims);

  // Whether the pod has claims, or may get the special one.
  bool MayUseDevices(const PodInfo& pod) const;

  // Reads all of ClaimsOfPod but what is remembered of nodes and gangs, and brings the cluster's
  // devices up to date. Skip if the pod has no claims.
  Status Read(const PodInfo& pod, ClaimsOfPod& of_pod) const;
  // The pod as if the claims with these uids had no devices and were to be allocated. Null if none
  // of its claims can be: it is none of them, or its classes are gone. Any thread, as Filter.
  std::shared_ptr<const ClaimsOfPod> ReadWithout(
      const ClaimsOfPod& of_pod, const absl::flat_hash_set<std::string>& freed) const;

  // For claims without devices what they ask for, for others where they can be used. Those of the
  // pod, which may use devices.
  void Sign(const PodInfo& pod, const std::vector<PodClaim>& claims, PodSignature& signature) const;

  // What is in ClaimsOfPod::asked for these claims, and whether some are about to have devices.
  struct Asked {
    std::string text;
    bool joins = false;
  };
  Asked AskedBy(const PodInfo& pod, const std::vector<PodClaim>& claims) const;

 private:
  Status ReadClaim(const PodInfo& pod, size_t position, ClaimsOfPod& of_pod,
                   PodSignature& asked) const;
  // Whether pods have the claim's devices, and all who have are seen and may go for the pod.
  bool MayBeFreed(const PodInfo& pod, const Object& claim, const NodeSelector& available_on) const;
  bool MayUserGo(const PodInfo& pod, absl::string_view user,
                 const NodeSelector& available_on) const;
  // The pod of that uid, on a node where the claim's devices can be used. Null: it is on none.
  const PodInfo* FindUser(absl::string_view user, const NodeSelector& available_on) const;
  void ListUsers() const;
  // Whether the classes of a claim exist.
  Status CheckClasses(const api::ResourceClaim& claim) const;
  ClaimToAllocate Parse(std::shared_ptr<const api::ResourceClaim> claim) const;
  std::string WhyLostNow(const api::ResourceClaim& claim) const;
  int64_t ClassesVersion() const;
  // Which class backs which resource.
  const ExtendedResourceClasses& Classes() const;
  void AddSpecialClaim(const PodInfo& pod, std::vector<ExtendedResource> resources,
                       ClaimsOfPod& of_pod) const;

  Handle& handle_;
  ClusterDevices& devices_;
  const std::shared_ptr<ExtendedResourceClasses> classes_;
  const std::optional<absl::Duration> binding_timeout_;
  const std::shared_ptr<const PossibleVictims> victims_;
  // By uid the nodes of pods with claims, listed when one is looked for that is not known: a pod
  // stays where it is, or is gone.
  mutable absl::flat_hash_map<std::string, Symbol> node_of_user_;
  mutable std::optional<std::pair<uint64_t, uint64_t>> listed_at_;  // NodeTable::id(), version()
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_READER_H_
