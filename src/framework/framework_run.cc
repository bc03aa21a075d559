// SPDX-License-Identifier: Apache-2.0
// Framework: the points around the search for a node, from PreEnqueue to PostBind.
#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "berth/api/time.h"
#include "framework/framework.h"
#include "framework/plugin_calls.h"

namespace berth {
namespace {

constexpr PluginPoint kPreEnqueue{"PreEnqueue", kRejections,
                                  "running PreEnqueue plugin \"$0\": $1"};
constexpr PluginPoint kPostFilter{"PostFilter", kRejections, "$1",
                                  "running PostFilter plugin \"$0\": $1"};
constexpr PluginPoint kReserve{"Reserve", kRejections, "running Reserve plugin \"$0\": $1"};
constexpr PluginPoint kPermit{"Permit", kRejections | Codes(Code::kWait),
                              "running Permit plugin \"$0\": $1"};
constexpr PluginPoint kPreBindPreFlight{"PreBindPreFlight", Codes(Code::kSkip),
                                        "running PreBindPreFlight \"$0\": $1",
                                        "PreBindPreFlight $0 $1"};
constexpr PluginPoint kPreBind{"PreBind", kRejections, "running PreBind plugin \"$0\": $1"};
constexpr PluginPoint kBind{"Bind", kRejections | Codes(Code::kSkip),
                            "running Bind plugin \"$0\": $1"};

}  // namespace

Status Framework::RunPreEnqueue(const PodInfo& pod, Symbol first) const {
  CallTimer timer(fault_log_);
  const auto run = [&](const Hook<PreEnqueuePlugin>& hook) {
    timer.Start();
    Status status =
        calls_.Guarded(kPreEnqueue, hook.name, [&] { return hook.plugin->PreEnqueue(pod); });
    timer.Lap(hook.name, kPreEnqueue.name);
    return status;
  };
  for (const Hook<PreEnqueuePlugin>& hook : pre_enqueue_) {
    if (hook.name != first) continue;
    Status status = run(hook);
    if (!status.ok()) return status;
  }
  for (const Hook<PreEnqueuePlugin>& hook : pre_enqueue_) {
    if (hook.name == first) continue;
    Status status = run(hook);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

// Until a plugin succeeds, errs or says that nothing can help. If none does, the pod is
// unschedulable for all their reasons; the first one that failed is blamed, and the last result
// that changes the pod's nomination stands.
Status Framework::RunPostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                                PostFilterResult& result) const {
  result = {};
  WorkBudget& budget = state.work_budget();
  CallTimer timer(fault_log_);
  std::vector<std::string> reasons;
  Symbol rejector;
  absl::Time retry_at = absl::InfiniteFuture();
  for (const Hook<PostFilterPlugin>& hook : post_filter_) {
    PostFilterResult of_plugin;
    budget.Refill();
    timer.Start();
    Status status = calls_.Guarded(kPostFilter, hook.name, [&] {
      return hook.plugin->PostFilter(state, pod, statuses, of_plugin);
    });
    timer.Lap(hook.name, kPostFilter.name);
    if (status.code() != Code::kUnschedulable) budget.Refill();  // it has an answer
    of_plugin.plugin = hook.name;
    if (status.ok() || status.code() == Code::kUnschedulableAndUnresolvable || budget.yielded()) {
      result = std::move(of_plugin);
      return status;
    }
    if (status.IsError()) {
      result = PostFilterResult();
      return status;
    }
    retry_at = std::min(retry_at, of_plugin.retry_at);
    if (of_plugin.nominated_node.has_value()) result = std::move(of_plugin);
    reasons.insert(reasons.end(), status.reasons().begin(), status.reasons().end());
    if (rejector.empty()) rejector = hook.name;
  }
  result.retry_at = retry_at;
  return Status::Make(Code::kUnschedulable, std::move(reasons)).WithPlugin(rejector);
}

Status Framework::RunReserve(CycleState& state, const PodInfo& pod,
                             absl::string_view node_name) const {
  CallTimer timer(fault_log_);
  for (const Hook<ReservePlugin>& hook : reserve_) {
    timer.Start();
    Status status = calls_.Guarded(kReserve, hook.name,
                                   [&] { return hook.plugin->Reserve(state, pod, node_name); });
    timer.Lap(hook.name, kReserve.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

void Framework::RunUnreserve(CycleState& state, const PodInfo& pod,
                             absl::string_view node_name) const {
  CallTimer timer(fault_log_);
  for (auto hook = reserve_.rbegin(); hook != reserve_.rend(); ++hook) {
    timer.Start();
    calls_.GuardedVoid("Unreserve", hook->name,
                       [&] { hook->plugin->Unreserve(state, pod, node_name); });
    timer.Lap(hook->name, "Unreserve");
  }
}

PermitOutcome Framework::RunPermit(CycleState& state, const PodInfo& pod,
                                   absl::string_view node_name) const {
  PermitOutcome outcome;
  CallTimer timer(fault_log_);
  for (const Hook<PermitPlugin>& hook : permit_) {
    absl::Duration timeout;
    timer.Start();
    Status status = calls_.Guarded(
        kPermit, hook.name, [&] { return hook.plugin->Permit(state, pod, node_name, timeout); });
    timer.Lap(hook.name, kPermit.name);
    if (status.IsWait()) {
      if (timeout <= absl::ZeroDuration()) {
        return {calls_.BadAnswer(kPermit, hook.name,
                                 absl::StrCat("returned \"Wait\" with a timeout of ",
                                              DurationToString(timeout), "; it must be positive")),
                {}};
      }
      outcome.waits.push_back({hook.name, std::min(timeout, kMaxPermitTimeout), timeout});
    } else if (!status.ok()) {
      return {std::move(status), {}};
    }
  }
  if (!outcome.waits.empty()) {
    outcome.status = Status::Make(
        Code::kWait,
        {absl::StrCat("one or more plugins asked to wait and no plugin rejected pod \"", pod.name(),
                      "\"")});
  }
  return outcome;
}

Status Framework::RunPreBindPreFlight(CycleState& state, const PodInfo& pod,
                                      absl::string_view node_name) const {
  uint64_t skipped = 0;
  Status result = Status::Skip();
  CallTimer timer(fault_log_);
  for (const Hook<PreBindPlugin>& hook : pre_bind_) {
    timer.Start();
    Status status = calls_.Guarded(kPreBindPreFlight, hook.name, [&] {
      return hook.plugin->PreBindPreFlight(state, pod, node_name);
    });
    timer.Lap(hook.name, kPreBindPreFlight.name);
    if (status.IsSkip()) {
      skipped |= SkipBit(hook);
    } else if (status.ok()) {
      result = Status::Success();
    } else {
      return status;
    }
  }
  state.skips().pre_bind = skipped;
  return result;
}

Status Framework::RunPreBind(CycleState& state, const PodInfo& pod,
                             absl::string_view node_name) const {
  CallTimer timer(fault_log_);
  for (const Hook<PreBindPlugin>& hook : pre_bind_) {
    if (state.skips().pre_bind & SkipBit(hook)) continue;
    timer.Start();
    Status status = calls_.Guarded(kPreBind, hook.name,
                                   [&] { return hook.plugin->PreBind(state, pod, node_name); });
    timer.Lap(hook.name, kPreBind.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status Framework::RunBind(CycleState& state, const PodInfo& pod,
                          absl::string_view node_name) const {
  CallTimer timer(fault_log_);
  for (const Hook<BindPlugin>& hook : bind_) {
    timer.Start();
    Status status =
        calls_.Guarded(kBind, hook.name, [&] { return hook.plugin->Bind(state, pod, node_name); });
    timer.Lap(hook.name, kBind.name);
    if (!status.IsSkip()) return status;
  }
  return Status::Error(absl::StrCat("all Bind plugins skip pod \"", pod.key(), "\""));
}

void Framework::RunPostBind(CycleState& state, const PodInfo& pod,
                            absl::string_view node_name) const {
  CallTimer timer(fault_log_);
  for (const Hook<PostBindPlugin>& hook : post_bind_) {
    timer.Start();
    calls_.GuardedVoid("PostBind", hook.name,
                       [&] { hook.plugin->PostBind(state, pod, node_name); });
    timer.Lap(hook.name, "PostBind");
  }
}

void Framework::RunDeferred(absl::string_view what, absl::string_view plugin,
                            const std::function<void()>& work) const {
  const Symbol name = Symbol::Intern(plugin);
  CallTimer timer(fault_log_);
  timer.Start();
  calls_.GuardedVoid(what, name, work);
  timer.Lap(name, what);
}

void Framework::RunOnSynced() const {
  CallTimer timer(fault_log_);
  for (const Hook<SyncObserver>& hook : sync_observers_) {
    timer.Start();
    calls_.GuardedVoid("OnSynced", hook.name, [&] { hook.plugin->OnSynced(); });
    timer.Lap(hook.name, "OnSynced");
  }
}

void Framework::RunBeforeJournalOverflow() const {
  CallTimer timer(fault_log_);
  for (const Hook<SyncObserver>& hook : sync_observers_) {
    timer.Start();
    calls_.GuardedVoid("BeforeJournalOverflow", hook.name,
                       [&] { hook.plugin->BeforeJournalOverflow(); });
    timer.Lap(hook.name, "BeforeJournalOverflow");
  }
}

void Framework::ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                               WaitingFor& waiting) const {
  const Symbol plugin = rejection.plugin_symbol();
  waiting.plugin = std::string(plugin.view());
  waiting.detail = rejection.message();
  waiting.reason = rejection.IsError() ? WaitingReason::kPluginError : WaitingReason::kRejected;
  for (const PluginEvents& registered : events_) {
    if (registered.plugin != plugin) continue;
    for (const ClusterEventWithHint& with_hint : registered.events) {
      with_hint.event.AppendNames(waiting.next_events);
    }
  }
  if (rejection.IsError()) return;
  CallTimer timer(fault_log_);
  for (const Hook<const WaitingExplainer>& hook : explainers_) {
    if (hook.name != plugin) continue;
    timer.Start();
    calls_.GuardedVoid("ExplainWaiting", plugin,
                       [&] { hook.plugin->ExplainWaiting(pod, rejection, nodes, waiting); });
    timer.Lap(plugin, "ExplainWaiting");
  }
}

std::vector<ResourceUsage> Framework::RunUsage(const NodeTable& nodes) const {
  std::vector<ResourceUsage> all;
  CallTimer timer(fault_log_);
  for (const Hook<UsageReporter>& hook : usage_reporters_) {
    timer.Start();
    calls_.GuardedVoid("Usage", hook.name, [&] {
      for (ResourceUsage& usage : hook.plugin->Usage(nodes)) all.push_back(std::move(usage));
    });
    timer.Lap(hook.name, "Usage");
  }
  return all;
}

PluginMask Framework::PlacementPlugins() const {
  PluginMask plugins = 0;
  const auto add = [&](const auto& hooks) {
    for (const auto& hook : hooks) plugins |= SkipBit(hook);
  };
  add(reserve_);
  add(permit_);
  add(pre_bind_);
  add(bind_);
  add(post_bind_);
  return plugins;
}

Aspects Framework::FilterDependenciesOf(PluginMask plugins) const {
  PluginMask with_filter = 0;
  for (const Hook<FilterPlugin>& hook : filter_) with_filter |= SkipBit(hook);
  return DependenciesOf(plugins & with_filter);
}

}  // namespace berth
