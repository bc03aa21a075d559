// SPDX-License-Identifier: Apache-2.0
// Implementation of group_classes.h.
#include "engine/group_classes.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/filtered_nodes.h"
#include "engine/shared_by_members.h"

namespace berth {

bool AreEquivalent(const PodInfo& a, const PodInfo& b) {
  return a.SharesSpec(b) && a.priority() == b.priority();
}
namespace {

// Whether the filters of `mask` look at one node at a time and, of its pods, at what they take.
bool GoByWhatIsTaken(const Framework& framework, PluginMask mask, PluginMask node_by_node) {
  return (mask & ~node_by_node) == 0 &&
         (framework.signer().DependenciesOf(mask) & Aspect::kNodePods) == 0;
}

// What no plugin looks at one node at a time for: see AssignmentClass::only_competes. `state` is as
// PreFilter left it.
bool OnlyCompetes(const Framework& framework, const CycleState& state, const PodInfo& pod) {
  PodSignature signature;
  const PluginMask node_by_node = framework.signer().SignForNodes(pod, signature);
  return absl::c_all_of(framework.plugins().filter, [&](const Hook<FilterPlugin>& hook) {
    return (state.skips().filter & MaskOf(hook)) != 0 ||
           GoByWhatIsTaken(framework, MaskOf(hook), node_by_node);
  });
}

// On how many nodes the first pod could run now, as far as the filters know. 0 if it is rejected
// outright.
void Evaluate(const AttemptRequest& request, ClusterState& cluster, MemberClass& members) {
  const PodInfo& pod = *members.pods.front();
  const Framework& framework = *request.framework;
  const FilteredNodes filtered(framework, pod, cluster.nodes(), request.placement);
  if (!filtered.pre_filter.status.ok()) return;
  members.only_competes = OnlyCompetes(framework, filtered.state, pod);
  members.feasible = static_cast<int>(filtered.feasible().size());
}

}  // namespace

std::optional<std::string> EquivalenceKey(const Framework& framework,
                                          const Nominations& nominations, const PodInfo& pod) {
  PodSignature signature;
  if (framework.extenders().AnyInterested(pod) || !framework.signer().Sign(pod, signature).ok()) {
    return std::nullopt;
  }
  signature.Add(pod.priority());
  signature.Add(static_cast<int64_t>(pod.preemption_policy()));
  signature.Add(nominations.NominatedNode(pod));
  return signature.bytes();
}

std::vector<MemberClass> ClassifyMembers(const AttemptRequest& request, ClusterState& cluster) {
  std::vector<MemberClass> classes;
  absl::flat_hash_map<std::string, size_t> class_of;
  for (size_t i = 0; i < request.pods.size(); ++i) {
    const auto& pod = request.pods[i];
    size_t place = classes.size();
    if (std::optional<std::string> key =
            EquivalenceKey(*request.framework, cluster.nominations(), *pod)) {
      if (request.PartOf(i) != 0) absl::StrAppend(&*key, "/", request.PartOf(i));
      place = class_of.try_emplace(*std::move(key), place).first->second;
    }
    if (place == classes.size()) classes.push_back({{}, request.PartOf(i)});
    classes[place].pods.push_back(pod);
  }
  const absl::flat_hash_set<const PodInfo*> share =
      FindPodsThatShare(*request.framework, request.pods);
  for (MemberClass& members : classes) {
    Evaluate(request, cluster, members);
    members.only_competes =
        members.only_competes &&
        absl::c_none_of(members.pods, [&](const auto& pod) { return share.contains(pod.get()); });
  }
  std::stable_sort(classes.begin(), classes.end(), [](const MemberClass& a, const MemberClass& b) {
    return a.feasible < b.feasible;
  });
  return classes;
}

bool MayFitLater(const Framework& framework, const PodInfo& pod,
                 absl::Span<const Symbol> rejecting_plugins) {
  PodSignature signature;
  const PluginMask node_by_node = framework.signer().SignForNodes(pod, signature);
  return absl::c_any_of(rejecting_plugins, [&](Symbol plugin) {
    const uint8_t filter = framework.plugins().FilterIndex(plugin);
    return filter == NodeVerdicts::kNotFiltered ||
           !GoByWhatIsTaken(framework, MaskOf(framework.plugins().filter[filter]), node_by_node);
  });
}

}  // namespace berth
