// SPDX-License-Identifier: Apache-2.0
// What a node lacks for a pod, by sums of requests.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_DEFICIT_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_DEFICIT_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/resources.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Amounts above 0. What leaves the node already counts as gone.
class Deficit {
 public:
  // `others` are nominated, and are to run on the node as well. Devices stand for `of_devices`
  // where the node lists none: sums do not say what it lacks of these.
  Deficit(const NodeInfo& node, const PodInfo& pod, absl::Span<const PodInfo* const> others,
          absl::Span<const ResourceId> of_devices) {
    pod.requests().ForEach([&](ResourceId id, int64_t amount) {
      if (node.allocatable().Get(id) <= 0 && absl::c_linear_search(of_devices, id)) return;
      __int128 lack = __int128{node.requested().Get(id)} + amount - node.allocatable().Get(id);
      for (const PodInfo* other : others) lack += other->requests().Get(id);
      if (lack > 0) lacks_.push_back({id, lack});
    });
    pods_ = static_cast<int64_t>(node.pods().size() + others.size()) + 1 - node.allowed_pods();
    // What leaves gives back what it has, and evicts no pod.
    for (const std::shared_ptr<const PodInfo>& other : node.pods()) {
      if (other->deletion_time().has_value()) Remove(*other);
    }
  }
  bool met() const { return pods_ <= 0 && lacks_.empty(); }
  // Whether it makes a difference that the pod is gone; then it is.
  bool Remove(const PodInfo& pod) {
    bool helps = pods_ > 0;
    --pods_;
    for (auto& [id, lack] : lacks_) {
      const int64_t amount = pod.requests().Get(id);
      helps |= amount > 0;
      lack -= amount;
    }
    const auto has_enough = [](const auto& lack) { return lack.second <= 0; };
    lacks_.erase(std::remove_if(lacks_.begin(), lacks_.end(), has_enough), lacks_.end());
    return helps;
  }

 private:
  absl::InlinedVector<std::pair<ResourceId, __int128>, 4> lacks_;
  int64_t pods_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_DEFICIT_H_
