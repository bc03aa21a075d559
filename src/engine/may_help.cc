// SPDX-License-Identifier: Apache-2.0
// Implementation of may_help.h.
#include "engine/may_help.h"

#include "absl/algorithm/container.h"
#include "berth/extensions/post_filter_bound.h"

namespace berth {
namespace {

constexpr PluginPoint kMayHelp{"MayHelp", Codes(), "running PostFilter plugin \"$0\": $1"};

bool MayHelp(const Framework& framework, const Hook<PostFilterPlugin>& hook, const PodInfo& pod) {
  auto* const bound = dynamic_cast<PostFilterBound*>(hook.plugin);
  if (bound == nullptr) return true;
  bool may_help = true;
  const Status asked = framework.plugins().calls.Guarded(kMayHelp, hook.name, [&] {
    may_help = bound->MayHelp(pod);
    return Status::Success();
  });
  return may_help || !asked.ok();
}

}  // namespace

bool MayAnyHelp(const Framework& framework, const PodInfo& pod) {
  return absl::c_any_of(framework.plugins().post_filter, [&](const Hook<PostFilterPlugin>& hook) {
    return MayHelp(framework, hook, pod);
  });
}

bool MayAnyHelp(const Framework& framework, absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  const PodInfo* last = nullptr;
  return absl::c_any_of(pods, [&](const std::shared_ptr<const PodInfo>& pod) {
    if (last != nullptr && pod->SharesSpec(*last)) return false;
    last = pod.get();
    return MayAnyHelp(framework, *pod);
  });
}

}  // namespace berth
