// SPDX-License-Identifier: Apache-2.0
// One profile of a KubeSchedulerConfiguration after defaults and merging: which plugins it lists
// at which extension point, and their arguments.
#ifndef BERTH_CONFIG_PROFILE_H_
#define BERTH_CONFIG_PROFILE_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/framework/args.h"

namespace berth {

// In the order of the configuration's fields.
enum class ExtensionPoint : uint8_t {
  kPreEnqueue,
  kQueueSort,
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
  kPlacementGenerate,
  kPlacementFeasible,
  kPlacementScore,
};
inline constexpr int kExtensionPointCount = 15;

// Whether the plugins of the point have weights.
constexpr bool HasWeights(ExtensionPoint point) {
  return point == ExtensionPoint::kScore || point == ExtensionPoint::kPlacementScore;
}

// As kube-scheduler's metrics and messages spell it: "PreFilter".
absl::string_view ExtensionPointName(ExtensionPoint point);
// The configuration's field: "preFilter".
absl::string_view ExtensionPointField(ExtensionPoint point);

struct PluginEntry {
  std::string name;
  int32_t weight = 0;    // 0: not given
  SourceLocation where;  // empty for defaults
};

struct PluginSet {
  std::vector<PluginEntry> enabled;
  std::vector<PluginEntry> disabled;
};

struct Profile {
  std::string scheduler_name = "default-scheduler";
  std::optional<int32_t> percentage_of_nodes_to_score;
  // Merged with the defaults (mergePluginSet), multiPoint not yet expanded: that takes instances.
  PluginSet multi_point;
  std::array<PluginSet, kExtensionPointCount> points;
  // By plugin name; decoded and validated. A plugin that is not here gets its default arguments.
  std::map<std::string, PluginArgs> args;
  SourceLocation where;
  int number = 0;  // among the profiles of its configuration, from 1; 0: not known

  // What problems call it: "profile training", or "profile 2" if it has no name.
  std::string Title() const;

  PluginSet& at(ExtensionPoint point) { return points[static_cast<size_t>(point)]; }
  const PluginSet& at(ExtensionPoint point) const { return points[static_cast<size_t>(point)]; }
};

}  // namespace berth

#endif  // BERTH_CONFIG_PROFILE_H_
