// SPDX-License-Identifier: Apache-2.0
// Implementation of profile_plugins.h.
#include "framework/profile_plugins.h"

#include "berth/columns/node_verdicts.h"

namespace berth {

const PluginArgs& ProfilePlugins::args(absl::string_view plugin) const {
  for (const Instance& instance : instances) {
    if (instance.name.view() == plugin) return instance.args;
  }
  static const PluginArgs& none = *new PluginArgs();
  return none;
}

std::vector<std::string> ProfilePlugins::Names(ExtensionPoint point) const {
  std::vector<std::string> names;
  ForEachPoint(*this, [&](ExtensionPoint at, const auto& hooks) {
    if (at != point) return;
    for (const auto& hook : hooks) names.emplace_back(hook.name.view());
  });
  return names;
}

uint8_t ProfilePlugins::FilterIndex(Symbol plugin) const {
  for (size_t i = 0; i < filter.size(); ++i) {
    if (filter[i].name == plugin) return static_cast<uint8_t>(i);
  }
  return NodeVerdicts::kNotFiltered;
}

void ProfilePlugins::SetVerdict(NodeRow row, const Status& status, NodeVerdicts& verdicts) const {
  if (status.ok()) {
    verdicts.Accept(row);
  } else {
    verdicts.Reject(row, status.code(), FilterIndex(status.plugin_symbol()));
  }
}

}  // namespace berth
