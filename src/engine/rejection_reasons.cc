// SPDX-License-Identifier: Apache-2.0
// Implementation of waiting.h.
#include "engine/rejection_reasons.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/group_marks.h"
#include "berth/api/amounts.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

int64_t RequestOf(const PodInfo& pod, absl::string_view resource) {
  return resource == kPodsResource ? 1 : pod.requests().Get(ResourceIdOf(resource));
}

const ReasonCounts::value_type* Dominant(const ReasonCounts& reasons) {
  const ReasonCounts::value_type* best = nullptr;
  const auto rank = [](const ReasonCounts::value_type& entry) {
    return std::make_tuple(entry.second.nodes, entry.second.resolvable);
  };
  for (const auto& entry : reasons) {
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  return best;
}

void CountByPlugin(const Framework& framework, const NodeFailure& failure, WaitingFor& waiting) {
  const RejectorCounts counts = failure.diagnosis.CountRejectors();
  const int excluded = counts[NodeVerdicts::kNotFiltered];
  if (excluded > 0) {
    waiting.nodes_by_plugin.push_back({std::string(failure.narrowed_by.view()), excluded});
  }
  for (size_t i = 0; i < framework.plugins().filter.size(); ++i) {
    if (counts[i] == 0) continue;
    waiting.nodes_by_plugin.push_back(
        {std::string(framework.plugins().filter[i].name.view()), counts[i]});
  }
  const int by_extenders = counts[NodeVerdicts::kExtender];
  if (by_extenders > 0)
    waiting.nodes_by_plugin.push_back({std::string(kExtenderName), by_extenders});
}

// What is free of the resource that is short, where nothing else is in the way.
void MeasureFree(const NodeFailure& failure, uint8_t rejector, WaitingFor& waiting) {
  const FreeCapacity free =
      failure.diagnosis.MeasureFree({waiting.resource, rejector, waiting.needed});
  waiting.all_free = SaturatingAdd(waiting.all_free, free.all_free);
  waiting.most_free = std::max(waiting.most_free, free.most_free);
  for (const Binder::Member& member : failure.placed) {
    waiting.all_free =
        SaturatingAdd(waiting.all_free, RequestOf(*member.placement.pod, waiting.resource));
  }
}

}  // namespace

WaitingPtr WhyRejected(const Framework& framework, const PodInfo& pod, const NodeTable& nodes,
                       const Status& status) {
  auto waiting = std::make_shared<WaitingFor>();
  framework.reports().ExplainWaiting(pod, status, nodes, *waiting);
  return waiting;
}

WaitingPtr WhyNoNodes() {
  auto waiting = std::make_shared<WaitingFor>();
  waiting->reason = WaitingReason::kNoNodes;
  waiting->detail = "no nodes available to schedule pods";
  waiting->next_events = {"Node/Add"};
  return waiting;
}

WaitingPtr WhyNoNodeFits(const Framework& framework, const PodInfo& pod, const NodeTable& nodes,
                         const NodeFailure& failure) {
  const ReasonCounts::value_type* dominant = Dominant(failure.reasons);
  auto waiting = std::make_shared<WaitingFor>();
  waiting->nodes = nodes.size();
  CountByPlugin(framework, failure, *waiting);
  if (dominant == nullptr) {  // rejected without a word
    waiting->reason = WaitingReason::kRejected;
    if (!waiting->nodes_by_plugin.empty()) {
      waiting->plugin = waiting->nodes_by_plugin.front().plugin;
      waiting->rejecting_nodes = waiting->nodes_by_plugin.front().nodes;
    }
    return waiting;
  }
  const auto& [reason, count] = *dominant;
  const Symbol plugin = count.plugin.empty() ? failure.narrowed_by : count.plugin;
  waiting->rejecting_nodes = count.nodes;
  const Code code = count.resolvable ? Code::kUnschedulable : Code::kUnschedulableAndUnresolvable;
  framework.reports().ExplainWaiting(pod, Status::Make(code, {reason}).WithPlugin(plugin), nodes,
                                     *waiting);
  if (waiting->reason == WaitingReason::kInsufficientResources && !waiting->resource.empty()) {
    MeasureFree(failure, framework.plugins().FilterIndex(plugin), *waiting);
  }
  return waiting;
}

WaitingPtr WhyGroupWaits(const WaitingFor& of_member, int needed, int placeable,
                         const std::string& blocking, int64_t requests) {
  auto waiting = std::make_shared<WaitingFor>(of_member);
  waiting->members_needed = needed;
  waiting->members_placeable = placeable;
  waiting->blocking_pod = blocking;
  if (waiting->reason == WaitingReason::kInsufficientResources && !waiting->resource.empty() &&
      needed > 1 && waiting->all_free >= requests) {
    waiting->reason = WaitingReason::kGangFragmented;
  }
  return waiting;
}

std::string WhyAlone(const Framework& framework, const PodInfo& pod) {
  if (framework.plugins().group != nullptr && framework.plugins().group->GroupOf(pod).has_value()) {
    return "";
  }
  const GroupMark* mark = nullptr;
  pod.packed()->ReadOwn(
      [&](const api::Pod& own) { mark = GroupMarkOf(own.metadata(), pod.spec()); });
  if (mark == nullptr) return "";
  if (mark->reader.empty()) {
    return absl::StrCat(Describe(*mark), " names its gang, which is not read; ", GroupAdvice());
  }
  return absl::StrCat(Describe(*mark), " names its gang, which ", framework.profile().Title(),
                      " does not read; enable ", mark->reader, " in it");
}

WaitingPtr WhyVictimsMayNotGoYet(const WaitingFor& of_pod, absl::Time until) {
  auto waiting = std::make_shared<WaitingFor>(of_pod);
  waiting->reason = WaitingReason::kMinRuntime;
  waiting->until = until;
  waiting->next_events.push_back("MinRuntimeOver");
  return waiting;
}

}  // namespace berth
