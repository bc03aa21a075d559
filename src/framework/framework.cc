// SPDX-License-Identifier: Apache-2.0
// Implementation of framework.h.
#include "framework/framework.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/framework_builder.h"

namespace berth {
namespace {

constexpr PluginPoint kPreEnqueue{"PreEnqueue", kRejections,
                                  "running PreEnqueue plugin \"$0\": $1"};
constexpr PluginPoint kPostFilter{"PostFilter", kRejections, "$1",
                                  "running PostFilter plugin \"$0\": $1"};

}  // namespace

std::unique_ptr<Framework> Framework::Create(const Profile& profile, const Registry& registry,
                                             Handle& handle, Problems& problems) {
  std::unique_ptr<const ProfilePlugins> plugins =
      FrameworkBuilder(profile, registry, handle, problems).Build();
  return plugins == nullptr ? nullptr : std::make_unique<Framework>(std::move(plugins));
}

Framework::Framework(std::unique_ptr<const ProfilePlugins> plugins)
    : plugins_(std::move(plugins)) {}

Status Framework::RunPreEnqueue(const PodInfo& pod, Symbol first) const {
  CallTimer timer(plugins_->fault_log);
  const auto run = [&](const Hook<PreEnqueuePlugin>& hook) {
    timer.Start();
    Status status = plugins_->calls.Guarded(kPreEnqueue, hook.name,
                                            [&] { return hook.plugin->PreEnqueue(pod); });
    timer.Lap(hook.name, kPreEnqueue.name);
    return status;
  };
  for (const Hook<PreEnqueuePlugin>& hook : plugins_->pre_enqueue) {
    if (hook.name != first) continue;
    Status status = run(hook);
    if (!status.ok()) return status;
  }
  for (const Hook<PreEnqueuePlugin>& hook : plugins_->pre_enqueue) {
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
  CallTimer timer(plugins_->fault_log);
  std::vector<std::string> reasons;
  Symbol rejector;
  absl::Time retry_at = absl::InfiniteFuture();
  for (const Hook<PostFilterPlugin>& hook : plugins_->post_filter) {
    PostFilterResult of_plugin;
    budget.Refill();
    timer.Start();
    Status status = plugins_->calls.Guarded(kPostFilter, hook.name, [&] {
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

void Framework::RunDeferred(absl::string_view what, absl::string_view plugin,
                            const std::function<void()>& work) const {
  const Symbol name = Symbol::Intern(plugin);
  CallTimer timer(plugins_->fault_log);
  timer.Start();
  plugins_->calls.GuardedVoid(what, name, work);
  timer.Lap(name, what);
}

void Framework::RunOnSynced() const {
  CallTimer timer(plugins_->fault_log);
  for (const Hook<SyncObserver>& hook : plugins_->sync_observers) {
    timer.Start();
    plugins_->calls.GuardedVoid("OnSynced", hook.name, [&] { hook.plugin->OnSynced(); });
    timer.Lap(hook.name, "OnSynced");
  }
}

void Framework::RunBeforeJournalOverflow() const {
  CallTimer timer(plugins_->fault_log);
  for (const Hook<SyncObserver>& hook : plugins_->sync_observers) {
    timer.Start();
    plugins_->calls.GuardedVoid("BeforeJournalOverflow", hook.name,
                                [&] { hook.plugin->BeforeJournalOverflow(); });
    timer.Lap(hook.name, "BeforeJournalOverflow");
  }
}

}  // namespace berth
