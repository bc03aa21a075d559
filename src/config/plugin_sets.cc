// SPDX-License-Identifier: Apache-2.0
// The default plugins and the merge of plugin lists.
#include "config/plugin_sets.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace berth {
namespace {

struct DefaultPlugin {
  absl::string_view name;
  int32_t weight;  // 0: not given
};

// kube-scheduler v1.35 getDefaultPlugins(), feature gates at their defaults.
constexpr DefaultPlugin kDefaultPlugins[] = {
    {"SchedulingGates", 0},
    {"PrioritySort", 0},
    {"NodeUnschedulable", 0},
    {"NodeName", 0},
    {"TaintToleration", 3},
    {"NodeAffinity", 2},
    {"NodePorts", 0},
    {"NodeResourcesFit", 1},
    {"VolumeRestrictions", 0},
    {"NodeVolumeLimits", 0},
    {"VolumeBinding", 0},
    {"VolumeZone", 0},
    {"PodTopologySpread", 2},
    {"InterPodAffinity", 2},
    {"DynamicResources", 2},
    {"DefaultPreemption", 0},
    {"NodeResourcesBalancedAllocation", 1},
    {"ImageLocality", 1},
    {"DefaultBinder", 0},
};

struct Advice {
  absl::string_view plugin;
  absl::string_view text;
};

constexpr absl::string_view kVolumeLimits = "NodeVolumeLimits does its work";
constexpr absl::string_view kScoringStrategy =
    "use NodeResourcesFit with a scoringStrategy of this type";

constexpr Advice kAdvice[] = {
    // validation.go invalidPluginsByVersion: these four first.
    {"AzureDiskLimits", kVolumeLimits},
    {"CinderLimits", kVolumeLimits},
    {"EBSLimits", kVolumeLimits},
    {"GCEPDLimits", kVolumeLimits},
    {"GangScheduling", "use Coscheduling for gangs"},
    {"NodeDeclaredFeatures", "Berth does not have it"},
    {"NodeLabel", "use NodeAffinity with addedAffinity"},
    {"NodePreferAvoidPods", "taint the nodes instead"},
    {"NodeResourcesLeastAllocated", kScoringStrategy},
    {"NodeResourcesMostAllocated", kScoringStrategy},
    {"RequestedToCapacityRatio", kScoringStrategy},
    {"SelectorSpread", "use PodTopologySpread"},
    {"ServiceAffinity", "use InterPodAffinity"},
};
constexpr int kRemovedPlugins = 4;

}  // namespace

bool IsRemovedPlugin(absl::string_view name) {
  return std::any_of(kAdvice, kAdvice + kRemovedPlugins,
                     [name](const Advice& advice) { return advice.plugin == name; });
}

absl::string_view AdviceForKubeSchedulerPlugin(absl::string_view name) {
  for (const Advice& advice : kAdvice) {
    if (advice.plugin == name) return advice.text;
  }
  for (const DefaultPlugin& plugin : kDefaultPlugins) {
    if (plugin.name == name) return "it is kube-scheduler's, but not in this program";
  }
  return "";
}

PluginSet DefaultMultiPoint(const Registry& registry) {
  PluginSet set;
  for (const DefaultPlugin& plugin : kDefaultPlugins) {
    if (registry.Find(plugin.name) == nullptr) continue;
    set.enabled.push_back({.name = std::string(plugin.name), .weight = plugin.weight});
  }
  return set;
}

PluginSet MergePluginSet(const PluginSet& defaults, const PluginSet& custom) {
  PluginSet merged;
  std::set<absl::string_view> disabled;
  for (const PluginSet* set : {&custom, &defaults}) {
    for (const PluginEntry& entry : set->disabled) {
      merged.disabled.push_back(entry);
      disabled.insert(entry.name);
    }
  }
  // Where a plugin is enabled twice, the last one replaces the default and the others are appended.
  std::set<const PluginEntry*> replacements;
  const auto find_custom = [&](absl::string_view name) -> const PluginEntry* {
    const auto found = std::find_if(custom.enabled.rbegin(), custom.enabled.rend(),
                                    [&](const PluginEntry& entry) { return entry.name == name; });
    return found == custom.enabled.rend() ? nullptr : &*found;
  };
  for (const PluginEntry& entry : defaults.enabled) {
    if (disabled.contains("*") || disabled.contains(entry.name)) continue;
    const PluginEntry* replacement = find_custom(entry.name);
    if (replacement != nullptr) replacements.insert(replacement);
    merged.enabled.push_back(replacement != nullptr ? *replacement : entry);
  }
  for (const PluginEntry& entry : custom.enabled) {
    if (!replacements.contains(&entry)) merged.enabled.push_back(entry);
  }
  return merged;
}

}  // namespace berth
