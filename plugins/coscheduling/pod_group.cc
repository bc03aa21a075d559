// SPDX-License-Identifier: Apache-2.0
// The gangs of scheduler-plugins and Koordinator, which share their names: "namespace/name". A
// PodGroup (scheduling.x-k8s.io/v1alpha1) defines one, or, without an object, its members do.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/api/time.h"
#include "plugins/coscheduling/gang_settings.h"
#include "plugins/coscheduling/group_api.h"
#include "plugins/coscheduling/topology_settings.h"

namespace berth {
namespace {

// The label of scheduler-plugins, and Koordinator's.
std::optional<absl::string_view> LabelOf(const PodInfo& pod, bool& is_koordinator) {
  static const Symbol kLabel = Symbol::Intern("scheduling.x-k8s.io/pod-group");
  static const Symbol kKoordinatorLabel = Symbol::Intern("pod-group.scheduling.sigs.k8s.io");
  const Symbol* name = pod.labels().Find(kLabel);
  is_koordinator = name == nullptr;
  if (is_koordinator) name = pod.labels().Find(kKoordinatorLabel);
  if (name == nullptr || name->empty()) return std::nullopt;
  return name->view();
}

// The pod's gang; whether Koordinator's settings say so, whose defaults count then.
struct Gang {
  std::string name;
  bool is_koordinator;
};

std::optional<Gang> GangOf(const PodInfo& pod) {
  bool is_koordinator = false;
  if (const auto name = LabelOf(pod, is_koordinator)) return Gang{NamePart(*name), is_koordinator};
  if (const auto name = KoordinatorGangName(AnnotationsOf(pod))) return Gang{NamePart(*name), true};
  if (const auto name = LabelPairGangName(pod)) return Gang{NamePart(*name), true};
  return std::nullopt;
}

std::string KeyOf(const PodInfo& pod, const Gang& gang) {
  return absl::StrCat(pod.namespace_name().view(), "/", gang.name);
}

class PodGroupApi final : public GroupApi {
 public:
  using GroupApi::GroupApi;

  absl::Span<const Kind> Kinds() const override {
    static constexpr Kind kKinds[] = {Kind::kPodGroup};
    return kKinds;
  }
  bool Owns(const GroupName& name) const override { return name.resource.empty(); }

  // The pod says first which gangs start together; then its PodGroup does.
  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    const std::optional<Gang> gang = GangOf(pod);
    if (!gang.has_value()) return std::nullopt;
    std::string key = KeyOf(pod, *gang);
    const std::vector<std::string> together = ReadGangGroups(AnnotationsOf(pod));
    if (!together.empty()) return Together(std::move(key), together);
    return GroupOfGang(key);
  }

  std::vector<std::string> GroupsOf(const Object& object) const override {
    if (object.kind() != Kind::kPodGroup) return {};
    return {GroupOfGang(std::string(object.key()))};
  }

  int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const override {
    const std::optional<Gang> gang = GangOf(pod);
    if (!gang.has_value()) return -1;
    const std::string key = KeyOf(pod, *gang);
    for (size_t i = 0; i < spec.subgroups.size(); ++i) {
      if (spec.subgroups[i].name == key) return static_cast<int>(i);
    }
    return -1;
  }

  std::string Title(absl::string_view group) const override {
    const bool are_several = group.find(',') != absl::string_view::npos;
    return absl::StrCat(are_several ? "PodGroups " : "PodGroup ", group);
  }

  void AppendDeclaration(const PodInfo& pod, std::string& text) const override {
    const std::optional<Gang> gang = GangOf(pod);
    if (!gang.has_value()) return;
    bool is_koordinator = false;
    const bool has_label = LabelOf(pod, is_koordinator).has_value();
    absl::StrAppend(&text, gang->name, has_label ? " L" : " ", gang->is_koordinator ? "K" : "");
    AppendKoordinatorWords(AnnotationsOf(pod), text);
    AppendLabelPair(pod, text);
  }

  std::optional<GroupDefinition> Define(absl::string_view group,
                                        const GroupMembers* members) const override {
    const std::vector<std::string> gangs = absl::StrSplit(group, ',');
    if (gangs.size() == 1) return DefineGang(gangs.front(), members);
    std::optional<GroupDefinition> all;
    for (const std::string& gang : gangs) {
      const std::optional<GroupDefinition> one = DefineGang(gang, members);
      if (!one.has_value()) return std::nullopt;
      if (!all.has_value()) {
        all = one;
        all->spec.min_member = all->total_members = 0;
        all->has_min_resources = false;  // of several gangs none's counts for the others
      }
      all->spec.subgroups.push_back({.name = gang, .min_member = one->spec.min_member});
      // Koordinator's gangs that start together say the same, and mean all of them.
      if (all->spec.topology.empty()) all->spec.topology = one->spec.topology;
      all->spec.min_member = std::min(kMostMembers, all->spec.min_member) +
                             std::min(kMostMembers, one->spec.min_member);
      all->total_members =
          std::min(kMostMembers, all->total_members) +
          std::min(kMostMembers, std::max(one->total_members, one->spec.min_member));
      all->spec.creation_time = std::min(all->spec.creation_time, one->spec.creation_time);
      if (one->spec.mode == GangMode::kStrict) all->spec.mode = GangMode::kStrict;
      all->stale_after = std::min(all->stale_after.value_or(absl::InfiniteDuration()),
                                  one->stale_after.value_or(absl::InfiniteDuration()));
      if (one->spec.bind_failure_policy == BindFailurePolicy::kGiveUp) {
        all->spec.bind_failure_policy = BindFailurePolicy::kGiveUp;
      }
      if (!one->problem.ok()) all->problem = one->problem;
    }
    return all;
  }

  Status NotDefined(const GroupMembers& group) const override {
    const std::vector<std::string> gangs = absl::StrSplit(group.name(), ',');
    for (const std::string& gang : gangs) {
      if (DefineGang(gang, &group).has_value()) continue;
      for (const MemberKind& kind : group.kinds()) {
        const std::optional<Gang> of = GangOf(*kind.pod);
        bool is_koordinator = false;
        const bool has_label = LabelOf(*kind.pod, is_koordinator).has_value();
        if (!of.has_value() || KeyOf(*kind.pod, *of) != gang || has_label) continue;
        return Status::Unschedulable(absl::StrCat(
            Title(gang), " not found, and no pod of it says min-available as a number of pods"));
      }
      return Status::Unschedulable(absl::StrCat(Title(gang), " not found"));
    }
    return GroupApi::NotDefined(group);
  }

 private:
  const api::PodGroup* FindPodGroup(absl::string_view gang) const {
    const std::pair<absl::string_view, absl::string_view> name =
        absl::StrSplit(gang, absl::MaxSplits('/', 1));
    return handle_.objects().Find<api::PodGroup>(name.first, name.second);
  }

  // Koordinator's GangGroupId: the names, sorted.
  static std::string Together(std::string gang, std::vector<std::string> gangs) {
    if (std::find(gangs.begin(), gangs.end(), gang) == gangs.end()) return gang;
    return absl::StrJoin(gangs, ",");
  }

  std::string GroupOfGang(const std::string& gang) const {
    const api::PodGroup* const object = FindPodGroup(gang);
    if (object == nullptr || object->metadata().annotations_size() == 0) return gang;
    const std::vector<std::string> together = ReadGangGroups(AnnotationsOf(object->metadata()));
    return together.empty() ? gang : Together(gang, together);
  }

  // Its PodGroup's settings count; without one, those of all kinds of members together.
  std::optional<GroupDefinition> DefineGang(const std::string& gang,
                                            const GroupMembers* members) const {
    const api::PodGroup* const object = FindPodGroup(gang);
    GroupDefinition definition;
    GroupSpec& spec = definition.spec;
    GangSettings settings;
    bool is_koordinator = false;
    absl::Time oldest = absl::InfiniteFuture();
    std::vector<const PodInfo*> pods;
    if (members != nullptr) {
      for (const MemberKind& kind : members->kinds()) {
        const std::optional<Gang> of = GangOf(*kind.pod);
        if (!of.has_value() || KeyOf(*kind.pod, *of) != gang) continue;
        is_koordinator |= of->is_koordinator;
        pods.push_back(kind.pod.get());
        if (object != nullptr) continue;
        oldest = std::min(oldest, kind.pod->creation_time());
        settings.Add(ReadKoordinatorSettings(AnnotationsOf(*kind.pod)));
        settings.Add(ReadLabelPair(*kind.pod));
      }
    }
    if (object != nullptr) {
      if (object->metadata().annotations_size() > 0) {
        settings = ReadKoordinatorSettings(AnnotationsOf(object->metadata()));
        TopologySettings where = ReadTopologySettings(AnnotationsOf(object->metadata()));
        spec.topology = std::move(where.topology);
        settings.illegal.insert(settings.illegal.end(), where.illegal.begin(), where.illegal.end());
      }
      settings.min_member = std::max(1, object->spec().min_member());
      if (object->spec().schedule_timeout_seconds() > 0) {
        settings.waiting_time = absl::Seconds(object->spec().schedule_timeout_seconds());
      }
      spec.creation_time = ToTime(object->metadata().creation_timestamp());
      definition.has_min_resources = !object->spec().min_resources().empty();
    } else {
      spec.creation_time = oldest;
    }
    if (!settings.min_member.has_value()) return std::nullopt;
    spec.min_member = *settings.min_member;
    spec.mode = settings.mode.value_or(GangMode::kStrict);
    spec.match_policy = settings.match_policy.value_or(
        is_koordinator ? MatchPolicy::kOnceSatisfied : MatchPolicy::kWaitingAndRunning);
    spec.timeout = settings.waiting_time.value_or(absl::ZeroDuration());
    // One that is less than the minimum says nothing.
    definition.total_members = settings.total_members.value_or(0);
    definition.notes = std::move(settings.illegal);
    DefineLifecycle(object == nullptr ? nullptr : &object->metadata(), pods, definition);
    return definition;
  }
};

}  // namespace

std::unique_ptr<GroupApi> MakePodGroupApi(Handle& handle) {
  return std::make_unique<PodGroupApi>(handle);
}

}  // namespace berth
