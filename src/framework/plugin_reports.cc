// SPDX-License-Identifier: Apache-2.0
// Implementation of plugin_reports.h.
#include "framework/plugin_reports.h"

#include <string>
#include <utility>

namespace berth {

std::vector<PluginNotes> PluginReports::RunExplainNode(const CycleState& state, const PodInfo& pod,
                                                       const NodeInfo& node) const {
  std::vector<PluginNotes> all;
  for (const Hook<const ExplainPlugin>& hook : plugins_.node_explainers) {
    PluginNotes notes{hook.name, {}};
    plugins_.calls.GuardedVoid("ExplainNode", hook.name,
                               [&] { notes.notes = hook.plugin->ExplainNode(state, pod, node); });
    if (!notes.notes.empty()) all.push_back(std::move(notes));
  }
  return all;
}

std::vector<PlannedAllocation> PluginReports::RunExplainAllocations(const CycleState& state,
                                                                    const PodInfo& pod,
                                                                    const NodeInfo& node) const {
  std::vector<PlannedAllocation> all;
  for (const Hook<const ExplainPlugin>& hook : plugins_.node_explainers) {
    plugins_.calls.GuardedVoid("ExplainAllocations", hook.name, [&] {
      for (PlannedAllocation& planned : hook.plugin->ExplainAllocations(state, pod, node)) {
        all.push_back(std::move(planned));
      }
    });
  }
  return all;
}

void PluginReports::ExplainWaiting(const PodInfo& pod, const Status& rejection,
                                   const NodeTable& nodes, WaitingFor& waiting) const {
  const Symbol plugin = rejection.plugin_symbol();
  waiting.plugin = std::string(plugin.view());
  waiting.detail = rejection.message();
  waiting.reason = rejection.IsError() ? WaitingReason::kPluginError : WaitingReason::kRejected;
  for (const PluginEvents& registered : plugins_.events) {
    if (registered.plugin != plugin) continue;
    for (const ClusterEventWithHint& with_hint : registered.events) {
      with_hint.event.AppendNames(waiting.next_events);
    }
  }
  if (rejection.IsError()) return;
  CallTimer timer(plugins_.fault_log);
  for (const Hook<const WaitingExplainer>& hook : plugins_.waiting_explainers) {
    if (hook.name != plugin) continue;
    timer.Start();
    plugins_.calls.GuardedVoid("ExplainWaiting", plugin, [&] {
      hook.plugin->ExplainWaiting(pod, rejection, nodes, waiting);
    });
    timer.Lap(plugin, "ExplainWaiting");
  }
}

std::vector<QuotaFigure> PluginReports::RunReportQuotas() const {
  std::vector<QuotaFigure> all;
  CallTimer timer(plugins_.fault_log);
  for (const Hook<QuotaReporter>& hook : plugins_.quota_reporters) {
    timer.Start();
    plugins_.calls.GuardedVoid("ReportQuotas", hook.name, [&] {
      for (QuotaFigure& figure : hook.plugin->ReportQuotas()) all.push_back(std::move(figure));
    });
    timer.Lap(hook.name, "ReportQuotas");
  }
  return all;
}

std::vector<ResourceUsage> PluginReports::RunUsage(const NodeTable& nodes) const {
  std::vector<ResourceUsage> all;
  CallTimer timer(plugins_.fault_log);
  for (const Hook<UsageReporter>& hook : plugins_.usage_reporters) {
    timer.Start();
    plugins_.calls.GuardedVoid("Usage", hook.name, [&] {
      for (ResourceUsage& usage : hook.plugin->Usage(nodes)) all.push_back(std::move(usage));
    });
    timer.Lap(hook.name, "Usage");
  }
  return all;
}

}  // namespace berth
