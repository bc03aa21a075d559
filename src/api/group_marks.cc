// SPDX-License-Identifier: Apache-2.0
// The table of group marks.
#include "api/group_marks.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

using MarkPlace = GroupMark::Place;

constexpr bool kNamesGroup = true;
constexpr bool kSaysMore = false;
constexpr absl::string_view kKoordinator = "Koordinator";
constexpr absl::string_view kVolcano = "Volcano and kube-batch";
constexpr absl::string_view kKubernetes = "Kubernetes";
constexpr absl::string_view kCoscheduling = "Coscheduling";
constexpr absl::string_view kOldCoscheduling = "the first Coscheduling";

constexpr GroupMark kMarks[] = {
    // Those that are read come first: of a pod with several marks they count.
    {MarkPlace::kLabel, "scheduling.x-k8s.io/pod-group", "scheduler-plugins", kNamesGroup,
     kCoscheduling},
    {MarkPlace::kLabel, "pod-group.scheduling.sigs.k8s.io", kKoordinator, kNamesGroup,
     kCoscheduling},

    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/name", kKoordinator, kNamesGroup,
     kCoscheduling},
    {MarkPlace::kLabel, "pod-group.scheduling.sigs.k8s.io/name", kOldCoscheduling, kNamesGroup,
     kCoscheduling},
    {MarkPlace::kAnnotation, "scheduling.k8s.io/group-name", kVolcano, kNamesGroup, kCoscheduling},
    {MarkPlace::kAnnotation, "scheduling.volcano.sh/group-name", "Volcano", kNamesGroup,
     kCoscheduling},
    {MarkPlace::kPodField, "schedulingGroup", kKubernetes, kNamesGroup, kCoscheduling},
    {MarkPlace::kPodField, "workloadRef", kKubernetes, kNamesGroup, kCoscheduling},

    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/min-available", kKoordinator,
     kSaysMore, kCoscheduling},
    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/total-number", kKoordinator, kSaysMore,
     kCoscheduling},
    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/mode", kKoordinator, kSaysMore,
     kCoscheduling},
    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/match-policy", kKoordinator, kSaysMore,
     kCoscheduling},
    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/groups", kKoordinator, kSaysMore,
     kCoscheduling},
    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/waiting-time", kKoordinator, kSaysMore,
     kCoscheduling},
    {MarkPlace::kAnnotation, "pod-group.scheduling.sigs.k8s.io/match-policy", kKoordinator,
     kSaysMore, kCoscheduling},
    {MarkPlace::kAnnotation, "gang.scheduling.koordinator.sh/network-topology-spec", kKoordinator,
     kSaysMore, kCoscheduling},
    {MarkPlace::kLabel, "pod-group.scheduling.sigs.k8s.io/min-available", kOldCoscheduling,
     kSaysMore, kCoscheduling},

    {MarkPlace::kAnnotation, "scheduling.volcano.sh/group-min-member", "Volcano", kSaysMore},
    {MarkPlace::kVolcanoPodGroupField, "queue", kVolcano, kSaysMore},
    {MarkPlace::kVolcanoPodGroupField, "networkTopology", "Volcano", kSaysMore},
    {MarkPlace::kVolcanoPodGroupField, "subGroupPolicy", "Volcano", kSaysMore},
    {MarkPlace::kKubernetesPodGroupField, "schedulingConstraints", kKubernetes, kSaysMore,
     kCoscheduling},
    {MarkPlace::kKubernetesPodGroupField, "resourceClaims", kKubernetes, kSaysMore},

    {MarkPlace::kAnnotation, "yunikorn.apache.org/task-group-name", "YuniKorn", kNamesGroup},
    {MarkPlace::kAnnotation, "yunikorn.apache.org/task-groups", "YuniKorn", kSaysMore},
    {MarkPlace::kAnnotation, "pod-group-name", "KAI", kNamesGroup},
    {MarkPlace::kLabel, "kueue.x-k8s.io/pod-group-name", "Kueue", kNamesGroup},
    {MarkPlace::kAnnotation, "kueue.x-k8s.io/pod-group-total-count", "Kueue", kSaysMore},
    {MarkPlace::kKind, "PodGroup.scheduling.run.ai", "KAI", kSaysMore},

    // Marks of other PodGroups than scheduler-plugins', written into one of its kind.
    {MarkPlace::kPodGroupField, "topologyConstraint", "KAI", kSaysMore},
    {MarkPlace::kPodGroupField, "subGroups", "KAI", kSaysMore},
    {MarkPlace::kPodGroupField, "queue", kVolcano, kSaysMore},
    {MarkPlace::kPodGroupField, "minTaskMember", "Volcano", kSaysMore},
    {MarkPlace::kPodGroupField, "networkTopology", "Volcano", kSaysMore},
    {MarkPlace::kPodGroupField, "subGroupPolicy", "Volcano", kSaysMore},
    {MarkPlace::kPodGroupField, "schedulingPolicy", kKubernetes, kSaysMore},
    {MarkPlace::kPodGroupField, "schedulingConstraints", kKubernetes, kSaysMore},
    {MarkPlace::kPodGroupField, "disruptionMode", kKubernetes, kSaysMore},
    {MarkPlace::kPodGroupField, "resourceClaims", kKubernetes, kSaysMore},
};

bool Has(const api::ObjectMeta& meta, const api::PodSpec& spec, const GroupMark& mark) {
  const auto has_text = [&](const google::protobuf::Map<std::string, std::string>& map) {
    if (map.empty()) return false;
    const auto found = map.find(std::string(mark.name));
    return found != map.end() && !found->second.empty();
  };
  switch (mark.place) {
    case MarkPlace::kLabel:
      return has_text(meta.labels());
    case MarkPlace::kAnnotation:
      return has_text(meta.annotations());
    case MarkPlace::kPodField:
      return mark.name == "workloadRef" ? spec.has_workload_ref() : spec.has_scheduling_group();
    case MarkPlace::kPodGroupField:
    case MarkPlace::kVolcanoPodGroupField:
    case MarkPlace::kKubernetesPodGroupField:
    case MarkPlace::kKind:
      return false;
  }
  return false;
}

}  // namespace

absl::Span<const GroupMark> GroupMarks() { return kMarks; }

const GroupMark* FindGroupMark(MarkPlace place, absl::string_view name) {
  using Key = std::pair<MarkPlace, absl::string_view>;
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
    case MarkPlace::kLabel:
      return absl::StrCat("the label ", mark.name);
    case MarkPlace::kAnnotation:
      return absl::StrCat("the annotation ", mark.name);
    case MarkPlace::kPodField:
    case MarkPlace::kPodGroupField:
    case MarkPlace::kVolcanoPodGroupField:
    case MarkPlace::kKubernetesPodGroupField:
      return absl::StrCat("spec.", mark.name);
    case MarkPlace::kKind:
      return std::string(mark.name);
  }
  return "";
}

}  // namespace berth
