// SPDX-License-Identifier: Apache-2.0
// What limits a pod beside the bounds of its quotas: `min` for one that nobody may evict, and which
// devices its claims may be given.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_LIMITS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_LIMITS_H_

#include <memory>
#include <optional>
#include <string>

#include "berth/devices/device_limits.h"
#include "berth/framework/pod_info.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/quota_book.h"

namespace berth {

// The first line of which a pod that must not be evicted would have more than its quota's min:
// such a one starts only within it.
std::optional<QuotaTree::Shortage> BeyondMin(const QuotaTree& tree, const PodInfo& pod,
                                             QuotaId quota, const LineAmounts& charge,
                                             const LineAmounts& avoidable = {});
std::string BeyondMinToString(const QuotaTree& tree, const QuotaTree::Shortage& beyond_min);

// What quotas leave of devices that claims of the pod may be given that have none yet. Null if
// enough for all. The book outlives it.
std::shared_ptr<const DeviceLimitsOfPod> DeviceLimitsOf(const QuotaBook& book, const PodInfo& pod);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_LIMITS_H_
