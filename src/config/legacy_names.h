// SPDX-License-Identifier: Apache-2.0
// What the names of older configurations mean in v1: predicates and priorities of a Policy, plugins
// that ended. Source: kube-scheduler v1.22 framework/plugins/legacy_registry.go.
#ifndef BERTH_SRC_CONFIG_LEGACY_NAMES_H_
#define BERTH_SRC_CONFIG_LEGACY_NAMES_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace berth {

constexpr absl::string_view kFit = "NodeResourcesFit";

struct OldName {
  absl::string_view name;
  std::vector<absl::string_view> plugins;  // of v1; none: it has no equal
  absl::string_view why = "";
};

// Null if no version had such a name.
const OldName* FindPredicate(absl::string_view name);
const OldName* FindPriority(absl::string_view name);
// Plugins of older versions that v1 does not have.
const OldName* FindOldPlugin(absl::string_view name);

// Three plugins, and three priorities, are scoring strategies of NodeResourcesFit now: its type, or
// "" for all others.
absl::string_view StrategyOf(absl::string_view old_plugin);
absl::string_view StrategyOfPriority(absl::string_view priority);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_LEGACY_NAMES_H_
