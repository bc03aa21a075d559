// SPDX-License-Identifier: Apache-2.0
// What the plugins of a profile say to people: about a node, a pod that waits, and what is in use.
#ifndef BERTH_SRC_FRAMEWORK_PLUGIN_REPORTS_H_
#define BERTH_SRC_FRAMEWORK_PLUGIN_REPORTS_H_

#include <vector>

#include "berth/extensions/explain.h"
#include "berth/extensions/quota_report.h"
#include "berth/extensions/usage.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/cycle_state.h"
#include "framework/profile_plugins.h"

namespace berth {

// What one plugin notes about a node.
struct PluginNotes {
  Symbol plugin;
  std::vector<NodeNote> notes;  // at least one
};

// Scheduling thread.
class PluginReports {
 public:
  // `plugins` outlives this.
  explicit PluginReports(const ProfilePlugins& plugins) : plugins_(plugins) {}

  // The notes of every plugin that has any, in the order of the profile.
  std::vector<PluginNotes> RunExplainNode(const CycleState& state, const PodInfo& pod,
                                          const NodeInfo& node) const;
  // What claims of the pod would get there, of all plugins.
  std::vector<PlannedAllocation> RunExplainAllocations(const CycleState& state, const PodInfo& pod,
                                                       const NodeInfo& node) const;
  // What the plugin of that name has to say about a rejection of its own: fills in plugin, detail,
  // reason, what the plugin adds, and the events it waits for.
  void ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                      WaitingFor& waiting) const;
  // What plugins report of resources that they give away in parts.
  std::vector<ResourceUsage> RunUsage(const NodeTable& nodes) const;
  bool HasQuotas() const { return !plugins_.quota_reporters.empty(); }
  // What plugins report of quotas.
  std::vector<QuotaFigure> RunReportQuotas() const;

 private:
  const ProfilePlugins& plugins_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_PLUGIN_REPORTS_H_
