// SPDX-License-Identifier: Apache-2.0
// Devices as sums over nodes: how many the members of a gang need, and how many nodes have.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_SUMS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_SUMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "berth/devices/device_id.h"
#include "berth/extensions/member_choices.h"
#include "berth/framework/handle.h"
#include "berth/handle/gone_in_plan.h"
#include "plugins/dynamic_resources/cluster_devices.h"
#include "plugins/dynamic_resources/noted_preemptors.h"

namespace berth {

namespace api {
class ExactDeviceRequest;
}  // namespace api

// A sort of devices is what the selectors of a request and of its class match; the last sort is
// what those of any request do. Counted are claims that have no devices yet, each for the first
// member that uses it. Requests for admin access and lists of alternatives need nothing. A node has
// what matches and is free. So a gang that fits is never found to be too large. Scheduling thread.
class DeviceSums final : public CountedNeeds {
 public:
  // What evictions free, with preemptForDevices; else nothing. `without_devices`: preemptors for
  // which that is looked at are noted there.
  struct Evictions {
    bool free_devices = false;
    const GoneInPlan& gone_in_plan;
    NotedPreemptors& without_devices;
  };

  // All outlive this; the devices are up to date. Null if no member needs any.
  static std::unique_ptr<DeviceSums> Of(absl::Span<const std::shared_ptr<const PodInfo>> pods,
                                        Handle& handle, ClusterDevices& devices,
                                        const Evictions& evictions);

  size_t sorts() const override { return selectors_.size() + 1; }
  absl::Span<const int64_t> Of(size_t member) const override { return needs_[member]; }
  void FreeOn(const NodeInfo& node, int32_t gone_below, absl::Span<int64_t> free) const override;

 private:
  DeviceSums(Handle& handle, ClusterDevices& devices, const Evictions& evictions)
      : handle_(handle), devices_(devices), evictions_(evictions) {}
  void Add(const PodInfo& pod);
  void Add(const api::ExactDeviceRequest& request, std::vector<int64_t>& needs);
  // Its devices of claims that are used by pods of the node that stay.
  absl::flat_hash_set<DeviceId> KeptOn(const NodeInfo& node, int32_t gone_below) const;

  Handle& handle_;
  ClusterDevices& devices_;
  const Evictions evictions_;
  std::vector<std::shared_ptr<const PodInfo>> pods_;  // one of each spec
  std::vector<std::vector<std::string>> selectors_;   // by sort, but for the last
  std::vector<std::vector<int64_t>> needs_;           // by member
  absl::flat_hash_set<std::string> counted_;          // uids of claims
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_DEVICE_SUMS_H_
