// SPDX-License-Identifier: Apache-2.0
// Pod groups: which pods are scheduled together, and when. The engine schedules groups; without a
// group plugin every pod is a group of one.
#ifndef BERTH_EXTENSIONS_GROUP_H_
#define BERTH_EXTENSIONS_GROUP_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// One pod of a group as the scheduler knows it now.
struct GroupMember {
  std::shared_ptr<const PodInfo> pod;
  // Where it runs or is assumed to run; empty while it is pending.
  std::string node_name;
};

// The living members of one group: every pod that is neither finished nor deleted, pending and
// assigned alike, in the order in which the scheduler learned of them.
class GroupMembers {
 public:
  virtual ~GroupMembers() = default;

  virtual absl::string_view name() const = 0;  // "namespace/name"
  virtual absl::Span<const GroupMember> members() const = 0;
  virtual int assigned_count() const = 0;  // members with a node
};

// What a group plugin knows of one group.
struct GroupSpec {
  // The group starts when this many members can run at once, those already running included;
  // 1 or more.
  int min_member = 1;
  // Orders the group in the queue: when it was created.
  absl::Time creation_time;
  // The least time between two attempts when the group did not fit; 0 leaves it to the queue.
  absl::Duration backoff;
};

// Implemented by the plugin that defines groups; at most one a profile. All calls come from the
// scheduling thread.
class GroupPlugin {
 public:
  virtual ~GroupPlugin() = default;

  // The name ("namespace/name") of the group `pod` belongs to; absent for a pod on its own. May
  // depend on the pod alone.
  virtual std::optional<std::string> GroupOf(const PodInfo& pod) const = 0;

  // What is known of group `name`; absent if its definition has not been seen (yet).
  virtual std::optional<GroupSpec> Spec(absl::string_view name) const = 0;

  // Whether an attempt on the group makes sense now. Success, or a rejection whose reason the
  // group waits with until one of this plugin's registered events, or a change of its members.
  virtual Status ReadyToSchedule(const GroupMembers& group) const = 0;

  // After an attempt: `placed` members run or can run now, fewer than the minimum; `cause` is why
  // the first member that did not fit was rejected. Returns the text for the group's members.
  virtual Status GroupUnschedulable(const GroupMembers& group, int placed,
                                    const Status& cause) const = 0;
};

// Read access to all groups, from the Handle.
class Groups {
 public:
  virtual ~Groups() = default;
  // The members of group `name`, or null if it has none.
  virtual const GroupMembers* Find(absl::string_view name) const = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_GROUP_H_
