// SPDX-License-Identifier: Apache-2.0
// Implementation of binding_runner.h.
#include "framework/binding_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/time.h"

namespace berth {
namespace {

constexpr PluginPoint kReserve{"Reserve", kRejections, "running Reserve plugin \"$0\": $1"};
constexpr PluginPoint kPermit{"Permit", kRejections | Codes(Code::kWait),
                              "running Permit plugin \"$0\": $1"};
constexpr PluginPoint kPreBindPreFlight{"PreBindPreFlight", Codes(Code::kSkip),
                                        "running PreBindPreFlight \"$0\": $1",
                                        "PreBindPreFlight $0 $1"};
constexpr PluginPoint kPreBind{"PreBind", kRejections | Codes(Code::kWait),
                               "running PreBind plugin \"$0\": $1"};
constexpr PluginPoint kPollPreBind{"PollPreBind", kRejections | Codes(Code::kWait),
                                   "running PreBind plugin \"$0\": $1"};
constexpr PluginPoint kBind{"Bind", kRejections | Codes(Code::kSkip),
                            "running Bind plugin \"$0\": $1"};

}  // namespace

Status BindingRunner::RunReserve(CycleState& state, const PodInfo& pod,
                                 absl::string_view node_name) const {
  CallTimer timer(plugins_.fault_log);
  for (const Hook<ReservePlugin>& hook : plugins_.reserve) {
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kReserve, hook.name, [&] { return hook.plugin->Reserve(state, pod, node_name); });
    timer.Lap(hook.name, kReserve.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

void BindingRunner::RunUnreserve(CycleState& state, const PodInfo& pod,
                                 absl::string_view node_name) const {
  CallTimer timer(plugins_.fault_log);
  for (auto hook = plugins_.reserve.rbegin(); hook != plugins_.reserve.rend(); ++hook) {
    timer.Start();
    plugins_.calls.GuardedVoid("Unreserve", hook->name,
                               [&] { hook->plugin->Unreserve(state, pod, node_name); });
    timer.Lap(hook->name, "Unreserve");
  }
}

PermitOutcome BindingRunner::RunPermit(CycleState& state, const PodInfo& pod,
                                       absl::string_view node_name) const {
  PermitOutcome outcome;
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PermitPlugin>& hook : plugins_.permit) {
    absl::Duration timeout;
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kPermit, hook.name, [&] { return hook.plugin->Permit(state, pod, node_name, timeout); });
    timer.Lap(hook.name, kPermit.name);
    if (status.IsWait()) {
      if (timeout <= absl::ZeroDuration()) {
        return {plugins_.calls.BadAnswer(
                    kPermit, hook.name,
                    absl::StrCat("returned \"Wait\" with a timeout of ", DurationToString(timeout),
                                 "; it must be positive")),
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

Status BindingRunner::RunPreBindPreFlight(CycleState& state, const PodInfo& pod,
                                          absl::string_view node_name) const {
  uint64_t skipped = 0;
  Status result = Status::Skip();
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PreBindPlugin>& hook : plugins_.pre_bind) {
    timer.Start();
    Status status = plugins_.calls.Guarded(kPreBindPreFlight, hook.name, [&] {
      return hook.plugin->PreBindPreFlight(state, pod, node_name);
    });
    timer.Lap(hook.name, kPreBindPreFlight.name);
    if (status.IsSkip()) {
      skipped |= MaskOf(hook);
    } else if (status.ok()) {
      result = Status::Success();
    } else {
      return status;
    }
  }
  state.skips().pre_bind = skipped;
  return result;
}

bool BindingRunner::HasPreBind(const CycleState& state) const {
  const PluginMask skipped = state.skips().pre_bind;
  return std::any_of(
      plugins_.pre_bind.begin(), plugins_.pre_bind.end(),
      [skipped](const Hook<PreBindPlugin>& hook) { return (skipped & MaskOf(hook)) == 0; });
}

Status BindingRunner::RunPreBind(CycleState& state, const PodInfo& pod,
                                 absl::string_view node_name) const {
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PreBindPlugin>& hook : plugins_.pre_bind) {
    if (state.skips().pre_bind & MaskOf(hook)) continue;
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kPreBind, hook.name, [&] { return hook.plugin->PreBind(state, pod, node_name); });
    timer.Lap(hook.name, kPreBind.name);
    if (!status.ok()) return status;
    state.skips().pre_bind |= MaskOf(hook);
  }
  return Status::Success();
}

Status BindingRunner::RunPollPreBind(CycleState& state, const PodInfo& pod,
                                     absl::string_view node_name) const {
  for (const Hook<PreBindPlugin>& hook : plugins_.pre_bind) {
    if (state.skips().pre_bind & MaskOf(hook)) continue;
    CallTimer timer(plugins_.fault_log);
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kPollPreBind, hook.name, [&] { return hook.plugin->PollPreBind(state, pod, node_name); });
    timer.Lap(hook.name, kPollPreBind.name);
    if (status.ok()) state.skips().pre_bind |= MaskOf(hook);
    return status;
  }
  return Status::Success();
}

Status BindingRunner::RunBind(CycleState& state, const PodInfo& pod,
                              absl::string_view node_name) const {
  CallTimer timer(plugins_.fault_log);
  if (std::optional<Status> bound = extenders_.RunBind(pod, node_name)) return *std::move(bound);
  for (const Hook<BindPlugin>& hook : plugins_.bind) {
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kBind, hook.name, [&] { return hook.plugin->Bind(state, pod, node_name); });
    timer.Lap(hook.name, kBind.name);
    if (!status.IsSkip()) return status;
  }
  return Status::Error(absl::StrCat("all Bind plugins skip pod \"", pod.key(), "\""));
}

void BindingRunner::RunPostBind(CycleState& state, const PodInfo& pod,
                                absl::string_view node_name) const {
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PostBindPlugin>& hook : plugins_.post_bind) {
    timer.Start();
    plugins_.calls.GuardedVoid("PostBind", hook.name,
                               [&] { hook.plugin->PostBind(state, pod, node_name); });
    timer.Lap(hook.name, "PostBind");
  }
}

PluginMask BindingRunner::BindingPlugins() const {
  PluginMask plugins = 0;
  for (const ExtensionPoint point :
       {ExtensionPoint::kReserve, ExtensionPoint::kPermit, ExtensionPoint::kPreBind,
        ExtensionPoint::kBind, ExtensionPoint::kPostBind}) {
    plugins |= plugins_.EnabledAt(point);
  }
  return plugins;
}

}  // namespace berth
