// SPDX-License-Identifier: Apache-2.0
// Implementation of post_filter_bounds.h.
#include "engine/post_filter_bounds.h"

#include "absl/algorithm/container.h"

namespace berth {
namespace {

constexpr PluginPoint kMayHelp{"MayHelp", Codes(), "running PostFilter plugin \"$0\": $1"};

}  // namespace

PostFilterBounds::PostFilterBounds(const Framework& framework) : framework_(framework) {
  for (const Hook<PostFilterPlugin>& hook : framework.plugins().post_filter) {
    auto* const bound = dynamic_cast<PostFilterBound*>(hook.plugin);
    all_have_one_ &= bound != nullptr;
    bounds_.push_back({bound, hook.name, hook.index});
  }
}

bool PostFilterBounds::MayAnyHelp(const PodInfo& pod) const {
  if (!all_have_one_) return true;
  return absl::c_any_of(bounds_, [&](const Hook<PostFilterBound>& hook) {
    bool may_help = true;
    const Status asked = framework_.plugins().calls.Guarded(kMayHelp, hook.name, [&] {
      may_help = hook.plugin->MayHelp(pod);
      return Status::Success();
    });
    return may_help || !asked.ok();
  });
}

}  // namespace berth
