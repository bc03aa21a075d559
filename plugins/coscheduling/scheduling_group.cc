// SPDX-License-Identifier: Apache-2.0
// Kubernetes 1.37: a PodGroup (scheduling.k8s.io/v1beta1), which pods name in spec.schedulingGroup,
// and CompositePodGroups (v1alpha3) above it, which make trees. As kube-scheduler v1.37
// plugins/gangscheduling and schedule_one_podgroup.go, with their texts.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_v1beta1.pb.h"
#include "berth/api/time.h"
#include "plugins/coscheduling/gang_settings.h"
#include "plugins/coscheduling/group_api.h"

namespace berth {
namespace {

constexpr absl::string_view kKubernetesPodGroups = "podgroups.scheduling.k8s.io";
constexpr absl::string_view kComposites = "compositepodgroups.scheduling.k8s.io";
constexpr int kMostLevels = 4;

// Admits its children one by one: a basic one that wants nothing of them together.
bool IsOnlyAName(const api::CompositePodGroupSpec& spec) {
  return !spec.scheduling_policy().has_gang() && spec.scheduling_constraints().topology().empty() &&
         spec.parent_composite_pod_group_name().empty();
}

std::vector<TopologyConstraint> TopologyOf(const api::PodGroupSchedulingConstraints& constraints) {
  std::vector<TopologyConstraint> wanted;
  for (const api::PodGroupTopologyConstraint& one : constraints.topology()) {
    if (!one.key().empty()) wanted.push_back({.key = one.key(), .required = true});
  }
  return wanted;
}

int MinimumOf(const api::PodGroupSchedulingPolicy& policy) {
  return policy.has_gang() ? std::clamp(policy.gang().min_count(), 1, kMostMembers) : 0;
}

absl::string_view PolicyName(PreemptionPolicy policy) {
  return policy == PreemptionPolicy::kNever ? "Never" : "PreemptLowerPriority";
}

class SchedulingGroupApi final : public GroupApi {
 public:
  using GroupApi::GroupApi;

  absl::Span<const Kind> Kinds() const override {
    static constexpr Kind kKinds[] = {Kind::kKubernetesPodGroup, Kind::kCompositePodGroup};
    return kKinds;
  }
  bool Owns(const GroupName& name) const override {
    return name.resource == kKubernetesPodGroups || name.resource == kComposites;
  }

  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    if (!pod.spec().has_scheduling_group()) return std::nullopt;
    const std::string& name = pod.spec().scheduling_group().pod_group_name();
    if (name.empty()) return std::nullopt;
    return RootOf({pod.namespace_name().view(), kKubernetesPodGroups, NamePart(name)});
  }

  std::vector<std::string> GroupsOf(const Object& object) const override {
    if (object.kind() == Kind::kKubernetesPodGroup) {
      return {RootOf({object.namespace_name(), kKubernetesPodGroups, object.name()})};
    }
    if (object.kind() != Kind::kCompositePodGroup) return {};
    // If it was only a name its children are groups of their own, as before there was one of them
    // whose parent was unknown.
    std::vector<std::string> groups = {
        RootOf({object.namespace_name(), kComposites, object.name()})};
    for (const Node& child : ChildrenOf(object.namespace_name(), object.name())) {
      groups.push_back(GroupName{object.namespace_name(), child.resource, child.name}.ToString());
    }
    return groups;
  }

  int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const override {
    if (spec.subgroups.empty() || !pod.spec().has_scheduling_group()) return -1;
    const std::string name = absl::StrCat(pod.namespace_name().view(), "/",
                                          pod.spec().scheduling_group().pod_group_name());
    for (size_t i = 0; i < spec.subgroups.size(); ++i) {
      if (spec.subgroups[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  void AppendDeclaration(const PodInfo& pod, std::string& text) const override {
    if (!pod.spec().has_scheduling_group()) return;
    absl::StrAppend(&text, " of ", pod.spec().scheduling_group().pod_group_name());
  }

  std::optional<GroupDefinition> Define(absl::string_view group,
                                        const GroupMembers* members) const override {
    const GroupName name = GroupName::Parse(group);
    GroupDefinition definition;
    GroupSpec& spec = definition.spec;
    if (name.resource == kKubernetesPodGroups) {
      const api::KubernetesPodGroup* const object = FindPodGroup(name.namespace_name, name.name);
      if (object == nullptr) return std::nullopt;
      spec.min_member = MinimumOf(object->spec().scheduling_policy());
      spec.topology = TopologyOf(object->spec().scheduling_constraints());
      Fill(object->spec(), object->metadata(), spec);
      DefineLifecycle(object->metadata(), members, definition);
      return definition;
    }
    const api::CompositePodGroup* const object = FindComposite(name.namespace_name, name.name);
    if (object == nullptr) return std::nullopt;
    if (!object->spec().parent_composite_pod_group_name().empty()) {
      definition.problem = Status::UnschedulableAndUnresolvable(
          absl::StrCat("composite pod group \"", name.name,
                       "\" is in a tree of more than 4 levels, or in a cycle"));
    }
    spec.topology = TopologyOf(object->spec().scheduling_constraints());
    Fill(object->spec(), object->metadata(), spec);
    const api::CompositePodGroupPolicy& policy = object->spec().scheduling_policy();
    const std::vector<int> needs = AddChildren(name.namespace_name, name.name, -1, 2, spec);
    spec.min_subgroups = policy.has_gang() ? std::max(1, policy.gang().min_group_count()) : 0;
    spec.min_member = SumOfLeast(needs, spec.min_subgroups);
    DefineLifecycle(object->metadata(), members, definition);
    return definition;
  }

  // The rules of validatePodGroup() of 1.38, with its texts.
  Status Check(const GroupMembers& group, const GroupDefinition& definition) const override {
    const GroupName root = GroupName::Parse(group.name());
    const std::optional<PreemptionPolicy> policy = PreemptionPolicyOf(root);
    const auto check = [&](const PodInfo& first, const PodInfo& pod) {
      constexpr absl::string_view kAll = "all pods in a pod group hierarchy should have ";
      if (pod.scheduler_name() != first.scheduler_name()) {
        return Status::UnschedulableAndUnresolvable(
            absl::StrCat(kAll, "the same .spec.schedulerName set, got: \"",
                         first.scheduler_name().view(), "\" (\"", first.name(), "\") and \"",
                         pod.scheduler_name().view(), "\" (\"", pod.name(), "\")"));
      }
      if (definition.spec.priority.value_or(pod.priority()) != pod.priority()) {
        return Status::UnschedulableAndUnresolvable(
            absl::StrCat(kAll, "the same priority as the root pod group's priority, got ",
                         *definition.spec.priority, " (\"", root.name, "\") and ", pod.priority(),
                         " (\"", pod.name(), "\")"));
      }
      if (policy.value_or(pod.preemption_policy()) != pod.preemption_policy()) {
        return Status::UnschedulableAndUnresolvable(absl::StrCat(
            kAll, "the same preemption policy as the root pod group's preemption policy, got ",
            PolicyName(*policy), " (\"", root.name, "\") and ", PolicyName(pod.preemption_policy()),
            " (\"", pod.name(), "\")"));
      }
      return Status::Success();
    };
    const absl::Span<const MemberKind> kinds = group.kinds();
    if (absl::c_all_of(kinds, [&](const MemberKind& kind) {
          return check(*kinds.front().pod, *kind.pod).ok();
        })) {
      return Status::Success();
    }
    for (const GroupMember& member : group.members()) {  // the member to blame
      Status checked = check(*group.members().front().pod, *member.pod);
      if (!checked.ok()) return checked;
    }
    return Status::Success();
  }

  std::string Title(absl::string_view group) const override {
    const GroupName name = GroupName::Parse(group);
    return absl::StrCat(name.resource == kKubernetesPodGroups ? "PodGroup " : "CompositePodGroup ",
                        name.namespace_name, "/", name.name, " of Kubernetes");
  }
  Status NotDefined(const GroupMembers& group) const override {
    const GroupName name = GroupName::Parse(group.name());
    if (name.resource == kKubernetesPodGroups) {
      return Status::UnschedulableAndUnresolvable(absl::StrCat(
          "waiting for pod's pod group \"", name.name, "\" to appear in scheduling queue"));
    }
    return Quorum(name);
  }
  Status TooFewMembers(const GroupMembers& group, const GroupDefinition&, int, int) const override {
    const GroupName name = GroupName::Parse(group.name());
    if (name.resource == kComposites) return Quorum(name);
    return Status::UnschedulableAndUnresolvable(
        "waiting for minCount pods from a gang to appear in scheduling queue");
  }
  Status Unfit(const GroupMembers&, const GroupSpec& spec, int placed,
               const Status& cause) const override {
    return Status::Make(cause.code(),
                        {absl::StrCat("pod group is unschedulable, minCount (", spec.min_member,
                                      ") cannot be satisfied: ", placed,
                                      " scheduled, 0 remaining: ", cause.message())});
  }

 private:
  struct Node {
    absl::string_view resource;
    std::string name;
  };

  const api::KubernetesPodGroup* FindPodGroup(absl::string_view space,
                                              absl::string_view name) const {
    return handle_.objects().Find<api::KubernetesPodGroup>(space, name);
  }
  const api::CompositePodGroup* FindComposite(absl::string_view space,
                                              absl::string_view name) const {
    return handle_.objects().Find<api::CompositePodGroup>(space, name);
  }
  static Status Quorum(const GroupName& name) {
    return Status::UnschedulableAndUnresolvable(
        absl::StrCat("waiting for composite pod group \"", name.name, "\" tree to meet quorum"));
  }

  // The name of the group at the top of the tree, as far as it is known. Trees are at most four
  // levels; in one that has more, or a ring, it is where the count ends.
  std::string RootOf(const GroupName& from) const {
    std::string name(from.name);
    absl::string_view resource = from.resource;
    for (int level = 1; level < kMostLevels; ++level) {
      std::string parent;
      if (resource == kKubernetesPodGroups) {
        const api::KubernetesPodGroup* const group = FindPodGroup(from.namespace_name, name);
        if (group != nullptr) parent = group->spec().parent_composite_pod_group_name();
      } else {
        const api::CompositePodGroup* const group = FindComposite(from.namespace_name, name);
        if (group != nullptr) parent = group->spec().parent_composite_pod_group_name();
      }
      if (parent.empty()) break;
      parent = NamePart(parent);
      const api::CompositePodGroup* const above = FindComposite(from.namespace_name, parent);
      if (above != nullptr && IsOnlyAName(above->spec())) break;
      name = parent;
      resource = kComposites;
    }
    return GroupName{from.namespace_name, resource, name}.ToString();
  }

  template <class Spec>
  void Fill(const Spec& from, const api::ObjectMeta& meta, GroupSpec& spec) const {
    if (from.has_priority()) {
      spec.priority = from.priority();
    } else if (!from.priority_class_name().empty()) {
      spec.priority = PriorityOfClass(from.priority_class_name());
    }
    spec.disruption_mode =
        from.disruption_mode().has_all() ? DisruptionMode::kAll : DisruptionMode::kSingle;
    spec.creation_time = ToTime(meta.creation_timestamp());
  }

  std::optional<PreemptionPolicy> PreemptionPolicyOf(const GroupName& root) const {
    std::string text;
    if (root.resource == kKubernetesPodGroups) {
      const api::KubernetesPodGroup* const group = FindPodGroup(root.namespace_name, root.name);
      if (group != nullptr) text = group->spec().preemption_policy();
    } else {
      const api::CompositePodGroup* const group = FindComposite(root.namespace_name, root.name);
      if (group != nullptr) text = group->spec().preemption_policy();
    }
    if (text == "Never") return PreemptionPolicy::kNever;
    if (text == "PreemptLowerPriority") return PreemptionPolicy::kPreemptLowerPriority;
    return std::nullopt;
  }

  // Adds what is below `parent`, which is at `position`. Returns how many pods each child takes at
  // least.
  std::vector<int> AddChildren(absl::string_view space, absl::string_view parent, int position,
                               int level, GroupSpec& spec) const {
    std::vector<int> needs;
    if (level > kMostLevels) return needs;
    for (const Node& child : ChildrenOf(space, parent)) {
      const int own = static_cast<int>(spec.subgroups.size());
      const std::string key = absl::StrCat(space, "/", child.name);
      if (child.resource == kKubernetesPodGroups) {
        const auto& of = FindPodGroup(space, child.name)->spec();
        spec.subgroups.push_back({.name = key,
                                  .parent = position,
                                  .min_member = MinimumOf(of.scheduling_policy()),
                                  .topology = TopologyOf(of.scheduling_constraints())});
        needs.push_back(spec.subgroups.back().min_member);
        continue;
      }
      const auto& of = FindComposite(space, child.name)->spec();
      const int groups = of.scheduling_policy().has_gang()
                             ? std::max(1, of.scheduling_policy().gang().min_group_count())
                             : 0;
      spec.subgroups.push_back({.name = absl::StrCat("CompositePodGroup ", key),
                                .parent = position,
                                .min_subgroups = groups,
                                .topology = TopologyOf(of.scheduling_constraints())});
      needs.push_back(SumOfLeast(AddChildren(space, child.name, own, level + 1, spec), groups));
    }
    return needs;
  }

  static int SumOfLeast(std::vector<int> needs, int count) {
    std::sort(needs.begin(), needs.end());
    int64_t sum = 0;
    for (int i = 0; i < std::min<int>(count, static_cast<int>(needs.size())); ++i) sum += needs[i];
    return static_cast<int>(std::min<int64_t>(sum, kMostMembers));
  }

  // By name, PodGroups first.
  const std::vector<Node>& ChildrenOf(absl::string_view space, absl::string_view parent) const {
    const ObjectStore& objects = handle_.objects();
    const std::pair<uint64_t, uint64_t> versions = {objects.version(Kind::kKubernetesPodGroup),
                                                    objects.version(Kind::kCompositePodGroup)};
    if (versions != versions_) {
      versions_ = versions;
      children_.clear();
      for (const Object* object : objects.List(Kind::kKubernetesPodGroup)) {
        AddChild(*object, kKubernetesPodGroups,
                 object->As<api::KubernetesPodGroup>().spec().parent_composite_pod_group_name());
      }
      for (const Object* object : objects.List(Kind::kCompositePodGroup)) {
        AddChild(*object, kComposites,
                 object->As<api::CompositePodGroup>().spec().parent_composite_pod_group_name());
      }
      for (auto& [above, below] : children_) {
        std::stable_sort(below.begin(), below.end(), [](const Node& a, const Node& b) {
          return std::make_pair(a.resource != kKubernetesPodGroups, absl::string_view(a.name)) <
                 std::make_pair(b.resource != kKubernetesPodGroups, absl::string_view(b.name));
        });
      }
    }
    static const std::vector<Node>& kNone = *new std::vector<Node>;
    const auto found = children_.find(absl::StrCat(space, "/", parent));
    return found == children_.end() ? kNone : found->second;
  }
  void AddChild(const Object& object, absl::string_view resource, const std::string& parent) const {
    if (parent.empty()) return;
    children_[absl::StrCat(object.namespace_name(), "/", NamePart(parent))].push_back(
        {resource, std::string(object.name())});
  }

  // What is below each CompositePodGroup, as of these versions.
  mutable std::map<std::string, std::vector<Node>> children_;
  mutable std::pair<uint64_t, uint64_t> versions_ = {~uint64_t{0}, ~uint64_t{0}};
};

}  // namespace

std::unique_ptr<GroupApi> MakeSchedulingGroupApi(Handle& handle) {
  return std::make_unique<SchedulingGroupApi>(handle);
}

}  // namespace berth
