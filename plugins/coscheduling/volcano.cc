// SPDX-License-Identifier: Apache-2.0
// Volcano's PodGroup (scheduling.volcano.sh/v1beta1) and kube-batch's before it: pods name it in an
// annotation. As Volcano v1.12 pkg/scheduler/{api/job_info.go,plugins/gang}.
#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/scheduling_volcano_sh.pb.h"
#include "berth/api/time.h"
#include "plugins/coscheduling/gang_settings.h"
#include "plugins/coscheduling/group_api.h"

namespace berth {
namespace {

constexpr absl::string_view kVolcanoPodGroups = "podgroups.scheduling.volcano.sh";
// The pod's role in a Volcano job, by which minTaskMember counts.
constexpr absl::string_view kTask = "volcano.sh/task-spec";

// Empty for a pod that names none.
absl::string_view TaskOf(const PodInfo& pod) { return pod.annotation(kTask).value_or(""); }

// Tasks without a minimum are parts, too: of each the pods say where they have to be.
void AddOtherTasks(const GroupMembers& members, GroupSpec& spec) {
  for (const MemberKind& kind : members.kinds()) {
    const absl::string_view task = TaskOf(*kind.pod);
    const bool is_known =
        absl::c_any_of(spec.subgroups, [task](const Subgroup& part) { return part.name == task; });
    if (!is_known) spec.subgroups.push_back({.name = std::string(task)});
  }
}

class VolcanoApi final : public GroupApi {
 public:
  using GroupApi::GroupApi;

  absl::Span<const Kind> Kinds() const override {
    static constexpr Kind kKinds[] = {Kind::kVolcanoPodGroup};
    return kKinds;
  }
  bool Owns(const GroupName& name) const override { return name.resource == kVolcanoPodGroups; }

  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    for (const absl::string_view key :
         {"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}) {
      const std::optional<absl::string_view> name = pod.annotation(key);
      if (name.has_value() && !name->empty()) {
        return GroupName{pod.namespace_name().view(), kVolcanoPodGroups, NamePart(*name)}
            .ToString();
      }
    }
    return std::nullopt;
  }

  std::vector<std::string> GroupsOf(const Object& object) const override {
    if (object.kind() != Kind::kVolcanoPodGroup) return {};
    return {GroupName{object.namespace_name(), kVolcanoPodGroups, object.name()}.ToString()};
  }

  int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const override {
    const absl::string_view task = TaskOf(pod);
    for (size_t i = 0; i < spec.subgroups.size(); ++i) {
      if (spec.subgroups[i].name == task) return static_cast<int>(i);
    }
    return -1;
  }

  void AppendDeclaration(const PodInfo& pod, std::string& text) const override {
    if (const auto task = pod.annotation(kTask)) absl::StrAppend(&text, " task ", *task);
  }

  std::optional<GroupDefinition> Define(absl::string_view group,
                                        const GroupMembers* members) const override {
    const GroupName name = GroupName::Parse(group);
    const auto* const object =
        handle_.objects().Find<api::VolcanoPodGroup>(name.namespace_name, name.name);
    if (object == nullptr) return std::nullopt;
    GroupDefinition definition;
    GroupSpec& spec = definition.spec;
    const std::map<std::string, int32_t> roles(object->spec().min_task_member().begin(),
                                               object->spec().min_task_member().end());
    int64_t of_roles = 0;
    for (const auto& [role, minimum] : roles) {
      if (minimum <= 0) continue;
      spec.subgroups.push_back({.name = role, .min_member = minimum});
      of_roles += minimum;
    }
    if (!spec.subgroups.empty() && members != nullptr) AddOtherTasks(*members, spec);
    // Volcano's jobs without a minMember start at once.
    const int64_t minimum = std::max<int64_t>(object->spec().min_member(), of_roles);
    spec.min_member = static_cast<int>(std::clamp<int64_t>(minimum, 0, kMostMembers));
    if (!object->spec().priority_class_name().empty()) {
      spec.priority = PriorityOfClass(object->spec().priority_class_name());
    }
    spec.creation_time = ToTime(object->metadata().creation_timestamp());
    DefineLifecycle(object->metadata(), members, definition);
    return definition;
  }

  std::string Title(absl::string_view group) const override {
    const GroupName name = GroupName::Parse(group);
    return absl::StrCat("PodGroup ", name.namespace_name, "/", name.name, " of Volcano");
  }
};

}  // namespace

std::unique_ptr<GroupApi> MakeVolcanoApi(Handle& handle) {
  return std::make_unique<VolcanoApi>(handle);
}

}  // namespace berth
