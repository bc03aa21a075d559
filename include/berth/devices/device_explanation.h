// SPDX-License-Identifier: Apache-2.0
// Why devices of a node are not for the claims of a pod, in words for people.
#ifndef BERTH_DEVICES_DEVICE_EXPLANATION_H_
#define BERTH_DEVICES_DEVICE_EXPLANATION_H_

#include <string>
#include <vector>

#include "berth/api/labels.h"
#include "berth/api/symbol.h"
#include "berth/devices/device_allocator.h"

namespace berth {

// Devices of a node that a request cannot have for the same reason.
struct RejectedDevices {
  int claim = 0;                     // position in AllocationRequest::claims
  std::string request;               // "request" or "request/subrequest"
  std::vector<std::string> devices;  // "driver/pool/device", in the order of the search
  // "in use", "selector #0 of class gpu: EXPRESSION", "its pool is incomplete" ...
  std::string reason;
};

// For each request of each claim the devices of the node that are out of the question whatever else
// is taken, by the first reason that the allocator finds. What is wrong with a claim itself is not
// repeated. Counters and constraints are not checked: they depend on what else is taken.
std::vector<RejectedDevices> ExplainDevices(const AllocationRequest& request, Symbol node_name,
                                            const LabelSet& node_labels);

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_EXPLANATION_H_
