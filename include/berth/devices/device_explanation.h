// SPDX-License-Identifier: Apache-2.0
// Why devices of a node are not for the claims of a pod, in words for people.
#ifndef BERTH_DEVICES_DEVICE_EXPLANATION_H_
#define BERTH_DEVICES_DEVICE_EXPLANATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/labels.h"
#include "berth/api/symbol.h"
#include "berth/devices/device_allocator.h"
#include "berth/devices/device_id.h"

namespace berth {

// Devices of a node that a request cannot have for the same reason.
struct RejectedDevices {
  std::vector<DeviceId> devices;  // in the order of the search
  // "in use", "selector #0 of class gpu: EXPRESSION", "its pool d/p is incomplete: it has 1 of 2
  // slices of generation 3" ...
  std::string reason;
  // What sort of reason that is.
  enum class Cause {
    kIncompletePool,  // not all slices of its pool are there
    kInvalidPool,     // as kube-scheduler says: a name repeats, or a counter is not there
    kOtherNodes,      // with DRAPartitionableDevices: it says for which nodes it is
    kSelector,        // does not match, or fails
    kInUse,           // a claim has it, or is about to
    kGate,            // it is never offered while a feature gate is off: `gate`
    kTaint,
    kCapacity,  // with DRAConsumableCapacity
    kCounters,  // with DRAPartitionableDevices
  };
  Cause cause = Cause::kSelector;
  // How far they came: not past the class; past it, but not past the request's own selectors; past
  // all of them, but they are not free, or not offered.
  enum class Reached { kClass, kRequest, kFree };
  Reached reached = Reached::kClass;
  // The feature gate that is off and would change that, if there is one: of kGate, and of a device
  // in use that could be shared.
  absl::string_view gate;
  // The pool that is in the way, as `reason` has it, with kIncompletePool and kInvalidPool: "d/p is
  // incomplete: it has 1 of 2 slices of generation 3".
  std::string pool;
};

// The devices of a node, as a request, or one alternative of a prioritised list, sees them.
struct ExplainedRequest {
  int claim = 0;        // position in AllocationRequest::claims
  std::string request;  // "request" or "request/subrequest"
  bool wants_all = false;
  int64_t count = 0;               // unless it wants all
  std::vector<DeviceId> possible;  // if nothing else that the pod asks for is taken first
  // Of each of these, how many of the `count` it can be: 1, unless it has shares.
  std::vector<int64_t> shares;
  // Whether constraints of the claim, other requests of the pod, or counters on which several of
  // the devices draw may leave fewer.
  bool may_be_fewer = false;
  std::vector<RejectedDevices> rejected;  // by the first reason that the allocator finds
};

// For each request of each claim. What is wrong with a claim itself is not repeated. Constraints,
// and what the pod's requests take from each other, are not checked.
std::vector<ExplainedRequest> ExplainDevices(const AllocationRequest& request, Symbol node_name,
                                             const LabelSet& node_labels);

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_EXPLANATION_H_
