// SPDX-License-Identifier: Apache-2.0
// Implementation of free_resources_on_nodes.h.
#include "engine/free_resources_on_nodes.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

bool NeedsRoom(const ProfilePlugins& plugins, Symbol name) {
  return absl::c_any_of(plugins.events, [&](const PluginEvents& events) {
    return events.plugin == name &&
           absl::c_any_of(events.events, [](const auto& event) { return event.waits_for_room; });
  });
}

bool ReadsNodeObjectsOnly(const ProfilePlugins& plugins, int index) {
  return absl::c_any_of(plugins.signers, [&](const Signer& signer) {
    return signer.index == index && signer.plugin != nullptr &&
           signer.depends_on != Aspect::kNothing &&
           (signer.depends_on & ~Aspect::kOfNodeObject) == 0;
  });
}

// See Profile::others.
PluginMask Others(const ProfilePlugins& plugins) {
  PluginMask before = 0, others = 0;
  bool needs_room = false;
  for (const Hook<FilterPlugin>& hook : plugins.filter) {
    needs_room = NeedsRoom(plugins, hook.name);
    (needs_room || ReadsNodeObjectsOnly(plugins, hook.index) ? before : others) |= MaskOf(hook);
    if (needs_room) break;  // a row without room gets no further
  }
  for (const Hook<PreFilterPlugin>& hook : plugins.pre_filter) others |= MaskOf(hook) & ~before;
  return needs_room ? others : kAllPlugins;
}

}  // namespace

bool FreeResourcesOnNodes::WasAllThatLacked(const PodFailure& failure) {
  const Profile* const profile = ProfileOf(*failure.pod);
  return profile != nullptr && !IsHeldForOthers() && (profile->others & ~failure.skipped) == 0;
}

FreeResourcesOnNodes::Profile::Profile(const Framework& of)
    : name(Symbol::Intern(of.profile().scheduler_name)),
      framework(&of),
      others(Others(of.plugins())),
      post_filters(of) {}

const FreeResourcesOnNodes::Profile* FreeResourcesOnNodes::ProfileOf(const PodInfo& pod) {
  for (const Profile& known : known_profiles_) {
    if (known.name == pod.scheduler_name()) return &known;
  }
  const Framework* const framework = profiles_.Find(pod.scheduler_name());
  return framework == nullptr ? nullptr : &known_profiles_.emplace_back(*framework);
}

FreeResources FreeResourcesOnNodes::FreeOn(Symbol node) const {
  constexpr FreeResources kNone{.milli_cpu = -1, .memory_bytes = -1};
  const NodeInfo* const info = cluster_.cache().FindNode(node);
  if (info == nullptr || !info->has_node()) return kNone;
  if (static_cast<int64_t>(info->pods().size()) >= info->allowed_pods()) return kNone;
  // A pod that requests nothing of a resource fits where too much is taken of it.
  const auto free = [&](ResourceId resource) {
    return std::max<int64_t>(0,
                             info->allocatable().Get(resource) - info->requested().Get(resource));
  };
  return {.milli_cpu = free(kCpu), .memory_bytes = free(kMemory)};
}

// Then an attempt may change for which pods it is held, and room may come where no pod left.
bool FreeResourcesOnNodes::IsHeldForOthers() const {
  return cluster_.nominations().size() > 0 || reservations_.is_active();
}

bool FreeResourcesOnNodes::OnlyFreeResourcesHelp(const PodInfo& pod) {
  const Profile* const profile = ProfileOf(pod);
  if (profile == nullptr || profile->framework->extenders().AnyInterested(pod)) return false;
  if (IsHeldForOthers()) return false;
  cluster_.Refresh();
  return !profile->post_filters.MayAnyHelp(pod);
}

}  // namespace berth
