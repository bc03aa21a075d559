// SPDX-License-Identifier: Apache-2.0
// Implementation of framework_set.h.
#include "engine/framework_set.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "berth/extensions/every_profile.h"
#include "engine/cluster_state.h"
#include "engine/random_sequence.h"

namespace berth {
namespace {

// One queue serves all profiles, so they must agree on its order.
void CheckQueueSort(const Framework& first, const Framework& other, Problems& problems) {
  const auto quoted = [](absl::string_view text) { return absl::StrCat("\"", text, "\""); };
  const std::string& name = other.profile().scheduler_name;
  if (other.plugins().queue_sort_name() != first.plugins().queue_sort_name()) {
    problems.AddError(other.profile().where, other.profile().Title(),
                      absl::StrCat("different queue sort plugins for profile ", quoted(name), ": ",
                                   quoted(other.plugins().queue_sort_name().view()),
                                   ", first: ", quoted(first.plugins().queue_sort_name().view()),
                                   "; enable the same one in every profile"));
    return;
  }
  const absl::string_view plugin = first.plugins().queue_sort_name().view();
  if (first.plugins().args(plugin).ToString() != other.plugins().args(plugin).ToString()) {
    problems.AddError(other.profile().where, other.profile().Title(),
                      absl::StrCat("different queue sort plugin args for profile ", quoted(name)));
  }
}

// A plugin that every profile needs is in all or in none. Each profile without it is reported once.
void CheckEveryProfile(absl::Span<const Framework* const> profiles, Problems& problems) {
  absl::flat_hash_set<Symbol> checked;
  for (const Framework* const profile : profiles) {
    for (const Hook<FilterPlugin>& hook : profile->plugins().filter) {
      const auto* const needed = dynamic_cast<const EveryProfilePlugin*>(hook.plugin);
      if (needed == nullptr || !checked.insert(hook.name).second) continue;
      for (const Framework* const other : profiles) {
        const auto is_it = [&](const Hook<FilterPlugin>& own) { return own.name == hook.name; };
        if (absl::c_any_of(other->plugins().filter, is_it)) continue;
        const std::string title = other->profile().Title();
        problems.AddError(other->profile().where, title,
                          absl::StrCat("plugin \"", hook.name.view(), "\" is enabled in ",
                                       profile->profile().Title(), ", and not at filter in ", title,
                                       "; without it ", needed->WhyEveryProfile(),
                                       "; enable it in every profile, or in none"));
      }
    }
  }
}

}  // namespace

std::unique_ptr<FrameworkSet> FrameworkSet::Create(const KubeSchedulerConfiguration& configuration,
                                                   const Registry& registry,
                                                   const ClusterState& cluster, const Clock& clock,
                                                   RandomSequence& random,
                                                   SchedulerServices* services, Problems& problems,
                                                   const ExtenderList& extenders) {
  auto profiles = std::make_unique<FrameworkSet>();
  profiles->extenders_ = std::make_unique<const ExtenderList>(extenders);
  for (const Profile& profile : configuration.profiles) {
    Entry entry;
    entry.handle = std::make_unique<ProfileHandle>(profile.scheduler_name, cluster, clock, random,
                                                   *profiles->shared_, *profiles->counters_,
                                                   *profiles->extenders_, services);
    entry.framework = Framework::Create(profile, registry, *entry.handle, problems);
    if (entry.framework == nullptr) continue;
    entry.handle->SetFramework(entry.framework.get());
    profiles->all_.push_back(entry.framework.get());
    profiles->by_name_.emplace(Symbol::Intern(profile.scheduler_name), entry.framework.get());
    profiles->entries_.push_back(std::move(entry));
  }
  if (configuration.profiles.empty() && problems.ok()) {
    problems.AddError({}, "", "the configuration has no profile");
  }
  for (size_t i = 1; i < profiles->all_.size(); ++i) {
    CheckQueueSort(*profiles->all_[0], *profiles->all_[i], problems);
  }
  CheckEveryProfile(profiles->all_, problems);
  return problems.ok() && !profiles->all_.empty() ? std::move(profiles) : nullptr;
}

void AddTrouble(const PluginTrouble& trouble, std::vector<PluginTrouble>& troubles) {
  const auto place = [](const PluginTrouble& of) { return std::tie(of.plugin, of.point); };
  auto it = std::lower_bound(
      troubles.begin(), troubles.end(), trouble,
      [&](const PluginTrouble& a, const PluginTrouble& b) { return place(a) < place(b); });
  if (it == troubles.end() || place(*it) != place(trouble)) {
    troubles.insert(it, trouble);
    return;
  }
  if (it->faults == 0) it->first_fault = trouble.first_fault;
  it->faults += trouble.faults;
  it->slow_calls += trouble.slow_calls;
  it->slowest = std::max(it->slowest, trouble.slowest);
}

std::vector<PluginTrouble> FrameworkSet::troubles() const {
  std::vector<PluginTrouble> troubles;
  for (const Framework* framework : all_) {
    for (const auto& [where, counts] : framework->fault_log().by_plugin()) {
      AddTrouble({.plugin = where.first,
                  .point = where.second,
                  .faults = counts.faults,
                  .slow_calls = counts.slow,
                  .slowest = counts.longest,
                  .first_fault = counts.first_fault},
                 troubles);
    }
  }
  return troubles;
}

std::vector<Kind> FrameworkSet::watched_kinds() const {
  std::set<Kind> kinds = {Kind::kPod, Kind::kNode};
  for (const Entry& entry : entries_) {
    kinds.insert(entry.handle->watched().begin(), entry.handle->watched().end());
    for (const PluginEvents& plugin : entry.framework->plugins().events) {
      for (const ClusterEventWithHint& registered : plugin.events) {
        const EventResource& resource = registered.event.resource;
        if (resource.type == EventResource::kObject) kinds.insert(resource.kind);
      }
    }
  }
  return {kinds.begin(), kinds.end()};
}

void FrameworkSet::Check(const KubeSchedulerConfiguration& configuration, const Registry& registry,
                         Problems& problems) {
  const RealClock clock;
  RandomSequence random(0);
  const ClusterState cluster;
  Create(configuration, registry, cluster, clock, random, nullptr, problems);
}

const Framework* FrameworkSet::Find(Symbol scheduler_name) const {
  const auto it = by_name_.find(scheduler_name);
  return it == by_name_.end() ? nullptr : it->second;
}

}  // namespace berth
