// SPDX-License-Identifier: Apache-2.0
// What Filter says of nodes: whether the claims of a pod have, or can get, devices there.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_VERDICTS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_VERDICTS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "berth/devices/device_allocator.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/status.h"
#include "plugins/dynamic_resources/claims_state.h"
#include "plugins/dynamic_resources/gang_devices.h"
#include "plugins/dynamic_resources/node_allocations.h"

namespace berth {

// Upstream's text for a node where a claim gets no devices.
inline constexpr char kCannotAllocate[] = "cannot allocate all claims";
inline constexpr char kInvalidPools[] = "invalid resource pools were encountered";

// As a number that nodes with the same reason share.
enum class ClaimVerdict : uint8_t {
  kFeasible,
  kCannotAllocate,
  kOverLimits,  // of quotas; evictions of their pods may help
  kInvalidPools,
  kTimedOut,
  kUnavailable,
  kStaleClaim,
  kCannotFit,
  kCannotAsk,
};

// Threads: any, as Filter.
class ClaimVerdicts {
 public:
  // `preempts`: others may hold what a pod is missing, so that evictions may help.
  ClaimVerdicts(Handle& handle, const NodeAllocations& allocations, const GangDevices& gang,
                DeviceScoring scoring, bool preempts)
      : handle_(handle),
        allocations_(allocations),
        gang_(gang),
        scoring_(scoring),
        preempts_(preempts) {}

  // With the devices that are free, those that `data` releases and those that members of the pod's
  // gang exchange. An error ends the attempt.
  absl::StatusOr<ClaimVerdict> On(const ClaimsState& data, const NodeInfo& node) const;
  // Whether nodes of one class (NodesByDevices) have the same verdict.
  static bool IsByClass(const ClaimsState& data);
  // Of the special claim alone: kFeasible, kStaleClaim, kCannotFit or kCannotAsk.
  static ClaimVerdict OnSpecialClaim(const ClaimsOfPod& claims, const NodeInfo& node);

  // Whether a claim has its devices where the node cannot use them, or no node can, or is to lose
  // them for a nominated pod.
  static bool IsElsewhere(const ClaimsOfPod& claims, const NodeInfo& node);
  // What members of the pod's gang may get instead of what they have, so that the pod has devices.
  std::optional<GangDevices::Exchange> FindExchange(const ClaimsState& data,
                                                    const NodeInfo& node) const;

  Code CodeOf(ClaimVerdict verdict, const ClaimsOfPod& claims, const NodeInfo& node) const;
  // With upstream's texts.
  Status StatusOf(ClaimVerdict verdict, const ClaimsOfPod& claims, const NodeInfo& node) const;
  // Whether the text is the same for all nodes. Nodes may leave different resources to devices, and
  // lines of quotas go by labels of nodes.
  static bool SharesText(ClaimVerdict verdict) {
    return verdict != ClaimVerdict::kCannotAsk && verdict != ClaimVerdict::kOverLimits;
  }

 private:
  absl::StatusOr<ClaimVerdict> ByFreeDevices(const ClaimsOfPod& claims, const NodeInfo& node) const;
  absl::StatusOr<ClaimVerdict> ByReleasedDevices(const ClaimsOfPod& claims,
                                                 const ReleasedDevices& released,
                                                 const DeviceLimitsOfPod* limits,
                                                 const NodeInfo& node) const;
  // Whether each claim that the node cannot use would lose its devices with its users.
  static bool MayAllBeFreed(const ClaimsOfPod& claims, const NodeInfo& node);
  static ClaimVerdict VerdictOf(NodeAllocation::Outcome outcome);

  Handle& handle_;
  const NodeAllocations& allocations_;
  const GangDevices& gang_;
  const DeviceScoring scoring_;
  const bool preempts_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_VERDICTS_H_
