// SPDX-License-Identifier: Apache-2.0
// Implementation of post_filter_bounds.h.
#include "engine/post_filter_bounds.h"

#include "absl/algorithm/container.h"

namespace berth {
namespace {

constexpr PluginPoint kMayHelp{"MayHelp", Codes(), "running PostFilter plugin \"$0\": $1"};
constexpr PluginPoint kFreesLowerPriorityOnly{"FreesLowerPriorityOnly", Codes(),
                                              "running PostFilter plugin \"$0\": $1"};

}  // namespace

PostFilterBounds::PostFilterBounds(const Framework& framework) : framework_(framework) {
  for (const Hook<PostFilterPlugin>& hook : framework.plugins().post_filter) {
    auto* const bound = dynamic_cast<PostFilterBound*>(hook.plugin);
    all_have_one_ &= bound != nullptr;
    bounds_.push_back({bound, hook.name, hook.index});
  }
}

bool PostFilterBounds::MayHelp(const Hook<PostFilterBound>& hook, const PodInfo& pod) const {
  bool may_help = true;
  const Status asked = framework_.plugins().calls.Guarded(kMayHelp, hook.name, [&] {
    may_help = hook.plugin->MayHelp(pod);
    return Status::Success();
  });
  return may_help || !asked.ok();
}

bool PostFilterBounds::MayAnyHelp(const PodInfo& pod) const {
  if (!all_have_one_) return true;
  return absl::c_any_of(bounds_,
                        [&](const Hook<PostFilterBound>& hook) { return MayHelp(hook, pod); });
}

bool PostFilterBounds::FreeLowerPriorityOnly(const PodInfo& pod) const {
  if (!all_have_one_) return false;
  return absl::c_all_of(bounds_, [&](const Hook<PostFilterBound>& hook) {
    if (!MayHelp(hook, pod)) return true;
    bool lower_only = false;
    const Status asked =
        framework_.plugins().calls.Guarded(kFreesLowerPriorityOnly, hook.name, [&] {
          lower_only = hook.plugin->FreesLowerPriorityOnly(pod);
          return Status::Success();
        });
    return lower_only && asked.ok();
  });
}

}  // namespace berth
