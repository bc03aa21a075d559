// SPDX-License-Identifier: Apache-2.0
// Pod groups: which pods are scheduled together, and when. The engine schedules groups; without a
// group plugin every pod is a group of one.
#ifndef BERTH_EXTENSIONS_GROUP_H_
#define BERTH_EXTENSIONS_GROUP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/object.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// One pod of a group as the scheduler knows it now.
struct GroupMember {
  std::shared_ptr<const PodInfo> pod;
  // Where it runs or is assumed to run; empty while it is pending.
  std::string node_name;
};

// Members counted by how far they are.
struct MemberCounts {
  int members = 0;
  int assigned = 0;  // have a node
  int bound = 0;     // have one by spec.nodeName
  int running = 0;   // have a node, assumed or not, and are not being deleted
  int staying = 0;   // of these, are bound
  int gated = 0;     // have scheduling gates
  int ready = 0;     // have none, and are not being deleted

  // `times` may be negative.
  void Add(const GroupMember& member, int times = 1) {
    const bool has_node = !member.node_name.empty();
    const bool is_leaving = member.pod->deletion_time().has_value();
    const bool is_gated = !member.pod->scheduling_gates().empty();
    members += times;
    if (has_node) assigned += times;
    const bool is_bound = !member.pod->node_name().empty();
    if (is_bound) bound += times;
    if (has_node && !is_leaving) running += times;
    if (is_bound && !is_leaving) staying += times;
    if (is_gated) gated += times;
    if (!is_gated && !is_leaving) ready += times;
  }
  friend bool operator==(const MemberCounts& a, const MemberCounts& b) {
    return a.members == b.members && a.assigned == b.assigned && a.bound == b.bound &&
           a.running == b.running && a.staying == b.staying && a.gated == b.gated &&
           a.ready == b.ready;
  }
};

// Members of a group of which its plugin says the same (GroupPlugin::AppendDeclaration), with the
// same priority, preemption policy, profile and creation time.
struct MemberKind {
  std::shared_ptr<const PodInfo> pod;  // the first one, as it came; it may have gone since
  MemberCounts counts;
};

// The living members of one group: every pod that is neither finished nor deleted, pending and
// assigned alike, in the order in which the scheduler learned of them.
class GroupMembers {
 public:
  virtual ~GroupMembers() = default;

  virtual absl::string_view name() const = 0;  // "namespace/name"
  virtual absl::Span<const GroupMember> members() const = 0;
  virtual const MemberCounts& counts() const = 0;
  int assigned_count() const { return counts().assigned; }

  // The members by kind, in the order in which the kinds came: few, however many members there
  // are. A question about what members say costs as much as there are kinds.
  virtual absl::Span<const MemberKind> kinds() const = 0;
  // Another number whenever a kind came or went, and never that of another group.
  virtual uint64_t kinds_version() const = 0;
};

// Nodes with the same value of one label are a topology domain: a rack, a block, a zone.
struct TopologyConstraint {
  std::string key;  // of the label, or the name of a level of a ClusterNetworkTopology
  // All members in one domain, or the group does not start. Otherwise in one if that is possible.
  bool required = true;
  // If positive, not all members, but each slice of so many, by their ranks.
  int slice_size = 0;
};

// Which running members a preemptor may evict.
enum class DisruptionMode : uint8_t {
  kSingle,  // some of them: first those beyond the minimum
  kAll,     // all of them at once or none
};

// Which members count towards the minimum when one more is to start. Koordinator's match policies.
enum class MatchPolicy : uint8_t {
  kWaitingAndRunning,  // all that have a node or find one now
  kOnlyWaiting,        // only those that are not bound yet
  kOnceSatisfied,  // as the first; and none needs to once members are bound: they start one by one
};

// What becomes of members that find a node while the group is below its minimum.
enum class GangMode : uint8_t {
  kStrict,     // nothing: the group is placed whole or holds nothing
  kNonStrict,  // they hold their nodes and wait in Permit for the others, until the timeout
};

// What becomes of members that are bound when the binding of a sibling fails for good, and fewer
// than the minimum run.
enum class BindFailurePolicy : uint8_t {
  kRunInPart,  // they run on; the sibling is tried again as any pending member
  kGiveUp,     // they are evicted, and the group starts again as a whole
};

// A part of a group with a minimum of its own: a role, a gang among several that start together, a
// PodGroup below a CompositePodGroup.
struct Subgroup {
  std::string name;  // unique in the group, e.g. "namespace/name" of its PodGroup
  int parent = -1;   // position in GroupSpec::subgroups, less than its own; -1: the group itself
  // So many of its own members must run at once for it to start; 0 for one that has none.
  int min_member = 0;
  // So many of the subgroups right below it must start for it to start.
  int min_subgroups = 0;
  std::vector<TopologyConstraint> topology;  // of its members and of those of subgroups below it
};

// What a group plugin knows of one group.
struct GroupSpec {
  // The group starts when this many members can run at once, those already running included; 0 if
  // each of them may start by itself.
  int min_member = 1;
  MatchPolicy match_policy = MatchPolicy::kWaitingAndRunning;
  GangMode mode = GangMode::kStrict;
  // Its parts; empty if all members are alike to it. Then `min_member` counts the members of all
  // parts, and each part, or `min_subgroups` of those without a parent, must reach its own minimum.
  std::vector<Subgroup> subgroups;
  int min_subgroups = 0;  // 0: all of those without a parent
  // Narrowest last; of all members.
  std::vector<TopologyConstraint> topology;
  DisruptionMode disruption_mode = DisruptionMode::kSingle;
  // The priority of the group as a whole, which orders the queue. Absent: the lowest of its pending
  // members, so that no member brings the others forward.
  std::optional<int32_t> priority;
  // How long the group may wait for its minimum in Permit and, unmet, in the queue, before the
  // conditions of its members say so; 0 is no limit.
  absl::Duration timeout;
  // How long members of a group may run while fewer than its minimum do, before they are evicted
  // and the group starts again as a whole. Infinite: for ever.
  absl::Duration stale_after = absl::InfiniteDuration();
  BindFailurePolicy bind_failure_policy = BindFailurePolicy::kRunInPart;
  // How long the group waits before nodes are reserved for it. Infinite: none are.
  absl::Duration reserve_after = absl::InfiniteDuration();
  // Orders the group in the queue: when it was created.
  absl::Time creation_time;
  // The least time between two attempts when the group did not fit; 0 leaves it to the queue.
  absl::Duration backoff;
};

// How many more members must find a node at once for the next ones to start: 0 if the group has
// started, or each may by itself. Those that are being deleted do not count. `members` may be null.
inline int MissingMembers(const GroupSpec& spec, const GroupMembers* members) {
  if (members == nullptr) return spec.min_member;
  int counted = members->counts().running;
  const int staying = members->counts().staying;
  if (spec.match_policy == MatchPolicy::kOnceSatisfied && staying > 0) return 0;
  if (spec.match_policy == MatchPolicy::kOnlyWaiting) counted -= staying;
  return spec.min_member > counted ? spec.min_member - counted : 0;
}

// Implemented by the plugin that defines groups; at most one a profile. All calls come from the
// scheduling thread.
class GroupPlugin {
 public:
  virtual ~GroupPlugin() = default;

  // The name of the group `pod` belongs to ("namespace/name", or another text that is no other
  // group's); absent for a pod on its own. May depend on the pod's metadata and spec but for
  // deletionTimestamp and nodeName, and on objects for which GroupsOf() has an answer.
  virtual std::optional<std::string> GroupOf(const PodInfo& pod) const = 0;

  // The groups whose pods may be in another one when `object` comes, changes or goes. Asked before
  // the object store has the change.
  virtual std::vector<std::string> GroupsOf(const Object& object) const {
    (void)object;
    return {};
  }

  // Adds to `text` what the pod says of its group, other than its name: the same text for pods that
  // Spec() and SubgroupOf() may treat alike. Depends on the pod alone, on the same fields as
  // GroupOf(). Makes the kinds of GroupMembers::kinds().
  virtual void AppendDeclaration(const PodInfo& pod, std::string& text) const {
    (void)pod, (void)text;
  }

  // What is known of group `name`; absent if its definition has not been seen (yet).
  virtual std::optional<GroupSpec> Spec(absl::string_view name) const = 0;

  // The part of its group that `pod` is in: a position in Spec().subgroups, or -1 for none.
  virtual int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const {
    (void)pod, (void)spec;
    return -1;
  }

  // Whether GroupSpec::reserve_after may be finite: then it is followed when pods end.
  virtual bool ReservesForGroups() const { return false; }

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
  // The members of the group that the pod is in; null if it is in none, or is not known.
  virtual const GroupMembers* GroupWith(const PodInfo& pod) const {
    (void)pod;
    return nullptr;
  }
  // The name of the group that the pod of that uid is in; absent if none.
  virtual std::optional<std::string> GroupOfPod(absl::string_view uid) const {
    (void)uid;
    return std::nullopt;
  }
  // What the plugin that defines group `name` knows of it; absent without members.
  virtual std::optional<GroupSpec> Spec(absl::string_view name) const {
    (void)name;
    return std::nullopt;
  }
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_GROUP_H_
