// SPDX-License-Identifier: Apache-2.0
// How many devices of a sort a pod may be given, as another plugin says: for the plugin that gives
// them.
#ifndef BERTH_DEVICES_DEVICE_LIMITS_H_
#define BERTH_DEVICES_DEVICE_LIMITS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/labels.h"
#include "berth/devices/device_allocator.h"

namespace berth {

class PodInfo;

// Those that its claims may come to.
struct DeviceLimitsOfPod {
  struct One {
    DeviceLimit limit;
    std::function<bool(const LabelSet&)> covers;  // whether it holds on a node with these labels
    std::string why;  // there is no more: "ClusterQuota q uses 1 of at most 1 gpu"
  };
  std::vector<One> limits;
  std::string text;  // the same for the same

  // "ClusterQuota q uses 1 of at most 1 gpu; ClusterQuota r …"
  std::string WhyOn(const LabelSet& node) const {
    std::string why;
    for (const One& one : limits) {
      if (one.covers(node)) absl::StrAppend(&why, why.empty() ? "" : "; ", one.why);
    }
    return why;
  }
  std::vector<DeviceLimit> On(const LabelSet& node) const {
    std::vector<DeviceLimit> on_node;
    for (const One& one : limits) {
      if (one.covers(node)) on_node.push_back(one.limit);
    }
    return on_node;
  }
};

// Handle::Shared<DeviceLimits>().
class DeviceLimits {
 public:
  using Ptr = std::shared_ptr<const DeviceLimitsOfPod>;
  // Null: the pod's claims come to no limit. `known`: null as an attempt begins, on the scheduling
  // thread. In its dry runs what was found then: they stay so but in a plan that the same plugin
  // makes, where they are as with the pods gone that it takes off.
  using Find = std::function<Ptr(const PodInfo&, const Ptr& known)>;

  void Set(absl::string_view profile, Find find) { of_profile_[profile] = std::move(find); }
  Ptr For(absl::string_view profile, const PodInfo& pod, const Ptr& known = nullptr) const {
    const auto find = of_profile_.find(profile);
    return find == of_profile_.end() ? nullptr : find->second(pod, known);
  }

 private:
  absl::flat_hash_map<std::string, Find> of_profile_;
};

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_LIMITS_H_
