// SPDX-License-Identifier: Apache-2.0
// Kubernetes 1.35: a pod group of a Workload (scheduling.k8s.io/v1alpha1), which pods name in
// spec.workloadRef. As kube-scheduler v1.35 plugins/gangscheduling, with its texts.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_v1alpha1.pb.h"
#include "berth/api/time.h"
#include "plugins/coscheduling/gang_settings.h"
#include "plugins/coscheduling/group_api.h"

namespace berth {
namespace {

constexpr absl::string_view kWorkloads = "workloads.scheduling.k8s.io";

// "workload/podGroup" or "workload/podGroup/replicaKey": none of them has a slash.
struct WorkloadGroup {
  absl::string_view workload, pod_group;

  static WorkloadGroup Parse(absl::string_view name) {
    const size_t first = name.find('/');
    if (first == absl::string_view::npos) return {name, ""};
    const absl::string_view rest = name.substr(first + 1);
    return {name.substr(0, first), rest.substr(0, rest.find('/'))};
  }
};

class WorkloadApi final : public GroupApi {
 public:
  using GroupApi::GroupApi;

  absl::Span<const Kind> Kinds() const override {
    static constexpr Kind kKinds[] = {Kind::kAlphaWorkload};
    return kKinds;
  }
  bool Owns(const GroupName& name) const override { return name.resource == kWorkloads; }

  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    if (!pod.spec().has_workload_ref()) return std::nullopt;
    const api::WorkloadReference& ref = pod.spec().workload_ref();
    if (ref.name().empty()) return std::nullopt;
    const std::string replica = ref.pod_group_replica_key().empty()
                                    ? ""
                                    : absl::StrCat("/", NamePart(ref.pod_group_replica_key()));
    return absl::StrCat(pod.namespace_name().view(), "/", kWorkloads, "/", NamePart(ref.name()),
                        "/", NamePart(ref.pod_group()), replica);
  }

  // Which group a pod is in depends on the pod alone.
  std::vector<std::string> GroupsOf(const Object&) const override { return {}; }
  bool Concerns(const Object& object, absl::string_view group) const override {
    const GroupName name = GroupName::Parse(group);
    return object.kind() == Kind::kAlphaWorkload &&
           object.namespace_name() == name.namespace_name &&
           object.name() == WorkloadGroup::Parse(name.name).workload;
  }
  int SubgroupOf(const PodInfo&, const GroupSpec&) const override { return -1; }
  void AppendDeclaration(const PodInfo&, std::string&) const override {}

  std::optional<GroupDefinition> Define(absl::string_view group,
                                        const GroupMembers* members) const override {
    const api::AlphaWorkload* const workload = Find(group);
    const api::WorkloadPodGroup* const pod_group = FindPodGroup(workload, group);
    if (pod_group == nullptr) return std::nullopt;
    GroupDefinition definition;
    const api::WorkloadPodGroupPolicy& policy = pod_group->policy();
    definition.spec.min_member = policy.has_gang() ? std::max(1, policy.gang().min_count()) : 0;
    definition.spec.creation_time = ToTime(workload->metadata().creation_timestamp());
    DefineLifecycle(workload->metadata(), members, definition);
    return definition;
  }

  std::string Title(absl::string_view group) const override {
    const GroupName name = GroupName::Parse(group);
    return absl::StrCat("Workload ", name.namespace_name, "/", name.name);
  }
  Status NotDefined(const GroupMembers& group) const override {
    const WorkloadGroup parts = WorkloadGroup::Parse(GroupName::Parse(group.name()).name);
    if (Find(group.name()) == nullptr) {
      return Status::UnschedulableAndUnresolvable(absl::StrCat(
          "waiting for pods's workload \"", parts.workload, "\" to appear in scheduling queue"));
    }
    return Status::UnschedulableAndUnresolvable(absl::StrCat("pod group \"", parts.pod_group,
                                                             "\" doesn't exist for a workload \"",
                                                             parts.workload, "\""));
  }
  Status TooFewMembers(const GroupMembers&, const GroupDefinition&, int, int) const override {
    return Status::UnschedulableAndUnresolvable(
        "waiting for minCount pods from a gang to appear in scheduling queue");
  }

 private:
  const api::AlphaWorkload* Find(absl::string_view group) const {
    const GroupName name = GroupName::Parse(group);
    return handle_.objects().Find<api::AlphaWorkload>(name.namespace_name,
                                                      WorkloadGroup::Parse(name.name).workload);
  }
  static const api::WorkloadPodGroup* FindPodGroup(const api::AlphaWorkload* workload,
                                                   absl::string_view group) {
    if (workload == nullptr) return nullptr;
    const WorkloadGroup parts = WorkloadGroup::Parse(GroupName::Parse(group).name);
    for (const api::WorkloadPodGroup& one : workload->spec().pod_groups()) {
      if (one.name() == parts.pod_group) return &one;
    }
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<GroupApi> MakeWorkloadApi(Handle& handle) {
  return std::make_unique<WorkloadApi>(handle);
}

}  // namespace berth
