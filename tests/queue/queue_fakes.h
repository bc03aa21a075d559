// SPDX-License-Identifier: Apache-2.0
// Plugins made for tests of the queue.
#ifndef BERTH_TESTS_QUEUE_QUEUE_FAKES_H_
#define BERTH_TESTS_QUEUE_QUEUE_FAKES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/extensions/group.h"
#include "berth/framework/queue_sort.h"

namespace berth::testing {

// Higher priority first, then who came first; a group counts from its creation.
class ByPriority final : public QueueSortPlugin {
 public:
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    if (a.pod->priority() != b.pod->priority()) return a.pod->priority() > b.pod->priority();
    if (by_name && Time(a) == Time(b)) return a.pod->name() < b.pod->name();
    return Time(a) < Time(b);
  }

  bool IsByPriorityAndTime() const override { return by_time; }

  bool by_name = false;  // where they came at the same time
  bool by_time = false;  // there are no groups

 private:
  static absl::Time Time(const QueuedPodInfo& pod) {
    return pod.group.empty() ? pod.timestamp : pod.group_timestamp;
  }
};

// Groups by the label "group"; a group is ready when as many members are known as `specs` says, and
// never if it says nothing.
class LabelGroups final : public GroupPlugin {
 public:
  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    const Symbol* name = pod.labels().Find("group");
    if (name == nullptr) return std::nullopt;
    return absl::StrCat(pod.namespace_name().view(), "/", name->view());
  }
  std::optional<GroupSpec> Spec(absl::string_view name) const override {
    const auto it = specs.find(name);
    if (it == specs.end()) return std::nullopt;
    return it->second;
  }
  Status ReadyToSchedule(const GroupMembers& group) const override {
    const std::optional<GroupSpec> spec = Spec(group.name());
    if (!spec.has_value()) return Status::Unschedulable("no such group");
    if (static_cast<int>(group.members().size()) >= spec->min_member) return Status::Success();
    return Status::Unschedulable(
        absl::StrCat(group.members().size(), " of ", spec->min_member, " members"));
  }
  Status GroupUnschedulable(const GroupMembers&, int, const Status& cause) const override {
    return cause;
  }

  std::map<std::string, GroupSpec, std::less<>> specs;
};

// Gates every pod that has scheduling gates.
inline Status GateByList(const PodInfo& pod, Symbol) {
  if (pod.scheduling_gates().empty()) return Status::Success();
  return Status::UnschedulableAndUnresolvable("has gates").WithPlugin(Symbol::Intern("Gates"));
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_QUEUE_QUEUE_FAKES_H_
