// SPDX-License-Identifier: Apache-2.0
// Implementation of legacy_names.h.
#include "config/legacy_names.h"

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// legacy_registry.go: RegisterMandatory..., registerPredicateConfigProducer.
const std::vector<OldName>& Predicates() {
  static const auto& names = *new std::vector<OldName>{
      {"PodFitsHostPorts", {"NodePorts"}},
      {"PodFitsPorts", {"NodePorts"}},
      {"PodFitsResources", {kFit}},
      {"HostName", {"NodeName"}},
      {"MatchNodeSelector", {"NodeAffinity"}},
      {"NoVolumeZoneConflict", {"VolumeZone"}},
      {"MaxCSIVolumeCountPred", {"NodeVolumeLimits"}},
      {"MaxEBSVolumeCount", {"NodeVolumeLimits"}, "in-tree volumes are counted as those of CSI"},
      {"MaxGCEPDVolumeCount", {"NodeVolumeLimits"}, "in-tree volumes are counted as those of CSI"},
      {"MaxAzureDiskVolumeCount",
       {"NodeVolumeLimits"},
       "in-tree volumes are counted as those of CSI"},
      {"MaxCinderVolumeCount", {"NodeVolumeLimits"}, "in-tree volumes are counted as those of CSI"},
      {"NoDiskConflict", {"VolumeRestrictions"}},
      {"GeneralPredicates", {kFit, "NodeName", "NodePorts", "NodeAffinity"}},
      {"PodToleratesNodeTaints", {"TaintToleration"}},
      {"CheckNodeUnschedulable", {"NodeUnschedulable"}},
      {"CheckVolumeBinding", {"VolumeBinding"}},
      {"MatchInterPodAffinity", {"InterPodAffinity"}},
      {"EvenPodsSpread", {"PodTopologySpread"}},
      {"CheckNodeCondition", {"TaintToleration"}, "nodes in that condition are tainted"},
      {"CheckNodeMemoryPressure", {"TaintToleration"}, "nodes in that condition are tainted"},
      {"CheckNodeDiskPressure", {"TaintToleration"}, "nodes in that condition are tainted"},
      {"CheckNodePIDPressure", {"TaintToleration"}, "nodes in that condition are tainted"},
  };
  return names;
}

const std::vector<OldName>& Priorities() {
  static const auto& names = *new std::vector<OldName>{
      {"SelectorSpreadPriority",
       {"PodTopologySpread"},
       "its default constraints spread by host and zone"},
      {"ServiceSpreadingPriority",
       {"PodTopologySpread"},
       "its default constraints spread by host and zone"},
      {"EvenPodsSpreadPriority", {"PodTopologySpread"}},
      {"InterPodAffinityPriority", {"InterPodAffinity"}},
      {"LeastRequestedPriority", {kFit}},
      {"MostRequestedPriority", {kFit}},
      {"RequestedToCapacityRatioPriority", {kFit}},
      {"BalancedResourceAllocation", {"NodeResourcesBalancedAllocation"}},
      {"NodeAffinityPriority", {"NodeAffinity"}},
      {"TaintTolerationPriority", {"TaintToleration"}},
      {"ImageLocalityPriority", {"ImageLocality"}},
      {"NodePreferAvoidPodsPriority",
       {},
       "the annotation is not read any more; taint the nodes instead"},
      {"EqualPriority", {}, "it never decided anything"},
      {"ResourceLimitsPriority", {}, "it ended with Kubernetes 1.20"},
  };
  return names;
}

const std::vector<OldName>& OldPlugins() {
  static const auto& names = *new std::vector<OldName>{
      {"NodeLabel", {}, "use NodeAffinity with addedAffinity"},
      {"ServiceAffinity", {}, "use podAffinity in the pods"},
      {"NodePreferAvoidPods", {}, "the annotation is not read any more; taint the nodes instead"},
      {"NodeResourceLimits", {}, "it ended with Kubernetes 1.20"},
      {"SelectorSpread", {}, "PodTopologySpread's default constraints spread by host and zone"},
      {"DefaultPodTopologySpread",
       {},
       "PodTopologySpread's default constraints spread by host and zone"},
      {"EBSLimits", {}, "NodeVolumeLimits does its work"},
      {"GCEPDLimits", {}, "NodeVolumeLimits does its work"},
      {"AzureDiskLimits", {}, "NodeVolumeLimits does its work"},
      {"CinderLimits", {}, "NodeVolumeLimits does its work"},
  };
  return names;
}

const OldName* Find(const std::vector<OldName>& names, absl::string_view name) {
  const auto found = absl::c_find_if(names, [&](const OldName& old) { return old.name == name; });
  return found == names.end() ? nullptr : &*found;
}

}  // namespace

const OldName* FindPredicate(absl::string_view name) { return Find(Predicates(), name); }
const OldName* FindPriority(absl::string_view name) { return Find(Priorities(), name); }
const OldName* FindOldPlugin(absl::string_view name) { return Find(OldPlugins(), name); }

absl::string_view StrategyOf(absl::string_view old_plugin) {
  if (old_plugin == "NodeResourcesLeastAllocated") return "LeastAllocated";
  if (old_plugin == "NodeResourcesMostAllocated") return "MostAllocated";
  return old_plugin == "RequestedToCapacityRatio" ? "RequestedToCapacityRatio" : "";
}

absl::string_view StrategyOfPriority(absl::string_view priority) {
  if (priority == "LeastRequestedPriority") return "LeastAllocated";
  if (priority == "MostRequestedPriority") return "MostAllocated";
  return priority == "RequestedToCapacityRatioPriority" ? "RequestedToCapacityRatio" : "";
}

}  // namespace berth
