// SPDX-License-Identifier: Apache-2.0
// RunningGroups: what preemption asks of groups, so that it evicts no half of one.
#ifndef BERTH_SRC_FRAMEWORK_RUNNING_GROUPS_H_
#define BERTH_SRC_FRAMEWORK_RUNNING_GROUPS_H_

#include <cstdint>
#include <optional>

#include "berth/extensions/group.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Handle::groups() is one, in a scheduler. Scheduling thread.
class RunningGroups {
 public:
  virtual ~RunningGroups() = default;

  virtual bool empty() const = 0;  // no pod is in a group
  // The group that the pod is in; null for a pod on its own.
  virtual const GroupMembers* GroupWith(const PodInfo& pod) const = 0;
  // The spec of a group, by its plugin; absent if the plugin does not know it.
  virtual std::optional<GroupSpec> SpecOf(const GroupMembers& group) const = 0;
  // Grows with every change of any member.
  virtual uint64_t version() const = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_RUNNING_GROUPS_H_
