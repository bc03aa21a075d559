// SPDX-License-Identifier: Apache-2.0
// The table of group marks.
#include "berth/api/group_marks.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

using Place = GroupMark::Place;

constexpr bool kNamesGroup = true;
constexpr bool kSaysMore = false;
constexpr absl::string_view kKoordinator = "Koordinator";
constexpr absl::string_view kVolcano = "Volcano and kube-batch";
constexpr absl::string_view kKubernetes = "Kubernetes";
constexpr absl::string_view kOldCoscheduling = "the first Coscheduling";

constexpr GroupMark kMarks[] = {
    // Those that are read come first: of a pod with several marks they count.
    {Place::kLabel, "scheduling.x-k8s.io/pod-group", "scheduler-plugins", kNamesGroup,
     "Coscheduling"},
    {Place::kLabel, "pod-group.scheduling.sigs.k8s.io", kKoordinator, kNamesGroup, "Coscheduling"},

    {Place::kAnnotation, "gang.scheduling.koordinator.sh/name", kKoordinator, kNamesGroup},
    {Place::kAnnotation, "gang.scheduling.koordinator.sh/min-available", kKoordinator, kSaysMore},
    {Place::kAnnotation, "gang.scheduling.koordinator.sh/total-number", kKoordinator, kSaysMore},
    {Place::kAnnotation, "gang.scheduling.koordinator.sh/mode", kKoordinator, kSaysMore},
    {Place::kAnnotation, "gang.scheduling.koordinator.sh/match-policy", kKoordinator, kSaysMore},
    {Place::kAnnotation, "gang.scheduling.koordinator.sh/groups", kKoordinator, kSaysMore},
    {Place::kAnnotation, "gang.scheduling.koordinator.sh/waiting-time", kKoordinator, kSaysMore},
    {Place::kAnnotation, "gang.scheduling.koordinator.sh/network-topology-spec", kKoordinator,
     kSaysMore},
    {Place::kAnnotation, "pod-group.scheduling.sigs.k8s.io/match-policy", kKoordinator, kSaysMore},

    {Place::kLabel, "pod-group.scheduling.sigs.k8s.io/name", kOldCoscheduling, kNamesGroup},
    {Place::kLabel, "pod-group.scheduling.sigs.k8s.io/min-available", kOldCoscheduling, kSaysMore},

    {Place::kAnnotation, "scheduling.k8s.io/group-name", kVolcano, kNamesGroup},
    {Place::kAnnotation, "scheduling.volcano.sh/group-name", "Volcano", kNamesGroup},
    {Place::kAnnotation, "scheduling.volcano.sh/group-min-member", "Volcano", kSaysMore},
    {Place::kKind, "PodGroup.scheduling.volcano.sh", "Volcano", kSaysMore},
    {Place::kKind, "PodGroup.scheduling.incubator.k8s.io", "kube-batch", kSaysMore},

    {Place::kAnnotation, "yunikorn.apache.org/task-group-name", "YuniKorn", kNamesGroup},
    {Place::kAnnotation, "yunikorn.apache.org/task-groups", "YuniKorn", kSaysMore},
    {Place::kAnnotation, "pod-group-name", "KAI", kNamesGroup},
    {Place::kKind, "PodGroup.scheduling.run.ai", "KAI", kSaysMore},

    {Place::kPodField, "workloadRef", kKubernetes, kNamesGroup},
    {Place::kPodField, "schedulingGroup", kKubernetes, kNamesGroup},
    {Place::kKind, "Workload.scheduling.k8s.io", kKubernetes, kSaysMore},
    {Place::kKind, "PodGroup.scheduling.k8s.io", kKubernetes, kSaysMore},
    {Place::kKind, "CompositePodGroup.scheduling.k8s.io", kKubernetes, kSaysMore},

    // Of other PodGroups than scheduler-plugins', written into one of its kind.
    {Place::kPodGroupField, "topologyConstraint", "KAI", kSaysMore},
    {Place::kPodGroupField, "subGroups", "KAI", kSaysMore},
    {Place::kPodGroupField, "queue", kVolcano, kSaysMore},
    {Place::kPodGroupField, "minTaskMember", "Volcano", kSaysMore},
    {Place::kPodGroupField, "networkTopology", "Volcano", kSaysMore},
    {Place::kPodGroupField, "subGroupPolicy", "Volcano", kSaysMore},
    {Place::kPodGroupField, "schedulingPolicy", kKubernetes, kSaysMore},
    {Place::kPodGroupField, "schedulingConstraints", kKubernetes, kSaysMore},
    {Place::kPodGroupField, "disruptionMode", kKubernetes, kSaysMore},
    {Place::kPodGroupField, "resourceClaims", kKubernetes, kSaysMore},
};

bool Has(const api::ObjectMeta& meta, const api::PodSpec& spec, const GroupMark& mark) {
  const auto has_text = [&](const google::protobuf::Map<std::string, std::string>& map) {
    if (map.empty()) return false;
    const auto found = map.find(std::string(mark.name));
    return found != map.end() && !found->second.empty();
  };
  switch (mark.place) {
    case Place::kLabel:
      return has_text(meta.labels());
    case Place::kAnnotation:
      return has_text(meta.annotations());
    case Place::kPodField:
      return mark.name == "workloadRef" ? spec.has_workload_ref() : spec.has_scheduling_group();
    case Place::kPodGroupField:
    case Place::kKind:
      return false;
  }
  return false;
}

}  // namespace

absl::Span<const GroupMark> GroupMarks() { return kMarks; }

const GroupMark* FindGroupMark(Place place, absl::string_view name) {
  using Key = std::pair<Place, absl::string_view>;
  static const auto& marks = *[] {
    auto* const by_name = new absl::flat_hash_map<Key, const GroupMark*>;
    for (const GroupMark& mark : kMarks) by_name->emplace(Key(mark.place, mark.name), &mark);
    return by_name;
  }();
  const auto found = marks.find(Key(place, name));
  return found == marks.end() ? nullptr : found->second;
}

absl::string_view GroupAdvice() {
  return "make a scheduling.x-k8s.io/v1alpha1 PodGroup, label its pods "
         "scheduling.x-k8s.io/pod-group, and enable Coscheduling";
}

const GroupMark* GroupMarkOf(const api::ObjectMeta& meta, const api::PodSpec& spec) {
  for (const GroupMark& mark : kMarks) {
    if (mark.names_group && Has(meta, spec, mark)) return &mark;
  }
  return nullptr;
}

std::string Describe(const GroupMark& mark) {
  switch (mark.place) {
    case Place::kLabel:
      return absl::StrCat("the label ", mark.name);
    case Place::kAnnotation:
      return absl::StrCat("the annotation ", mark.name);
    case Place::kPodField:
    case Place::kPodGroupField:
      return absl::StrCat("spec.", mark.name);
    case Place::kKind:
      return std::string(mark.name);
  }
  return "";
}

}  // namespace berth
