// SPDX-License-Identifier: Apache-2.0
// Implementation of capability_finder.h.
#include "framework/capability_finder.h"

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/extensions/answered_outside.h"
#include "berth/extensions/extender.h"

namespace berth {
namespace {

bool IsPowerOfTen(int64_t number) {
  while (number >= 10 && number % 10 == 0) number /= 10;
  return number == 1;
}

// "a", "a and b", "a, b and c"
std::string JoinedWithAnd(absl::Span<const absl::string_view> words) {
  if (words.size() < 2) return absl::StrJoin(words, "");
  return absl::StrCat(absl::StrJoin(words.first(words.size() - 1), ", "), " and ", words.back());
}

}  // namespace

CapabilityFinder::CapabilityFinder(ProfilePlugins& plugins, Problems& problems)
    : plugins_(plugins), problems_(problems) {}

void CapabilityFinder::FindAll() {
  FindScoreExtensions();
  FindScoreResolutions();
  FindPreFilterExtensions();
  FindGroupPlugin();
  FindEvents();
  FindQueueOrder();
  FindObservers();
  FindExplainers();
  FindSigners();
  FindIncrementalForms();
}

void CapabilityFinder::AddError(int index, absl::string_view message) {
  const ProfilePlugins::Instance& instance = plugins_.instances[index];
  problems_.AddError(instance.where, plugins_.profile.Title(), absl::StrCat("plugins: ", message));
}

void CapabilityFinder::FindPreFilterExtensions() {
  for (const Hook<PreFilterPlugin>& hook : plugins_.pre_filter) {
    if (auto* extensions = plugins_.As<PreFilterExtensions>(hook.index)) {
      plugins_.pre_filter_extensions.push_back({extensions, hook.name, hook.index});
    }
  }
}

void CapabilityFinder::FindGroupPlugin() {
  int found = -1;
  for (int index = 0; index < plugins_.count(); ++index) {
    if (plugins_.As<GroupPlugin>(index) == nullptr || !DefinesGroups(index)) continue;
    if (found < 0) {
      found = index;
      plugins_.group_guard = Guard(*plugins_.As<GroupPlugin>(index), CounterOf(index));
      plugins_.group = plugins_.group_guard.get();
      plugins_.group_name = Name(index);
    } else {
      AddError(index, absl::StrCat(Name(index).view(), " defines pod groups, and so does ",
                                   Name(found).view(), "; a profile can have one such plugin"));
    }
    CheckGroupPoints(index);
  }
}

// A group plugin that only sorts the queue (which is the same for all profiles) leaves the pods
// of this profile on their own, as with kube-scheduler.
bool CapabilityFinder::DefinesGroups(int index) const {
  bool implements_any = false;
  for (int i = 0; i < kExtensionPointCount; ++i) {
    if (PointAt(i) == ExtensionPoint::kQueueSort) continue;
    if (plugins_.IsEnabled(index, PointAt(i))) return true;
    implements_any |= plugins_.Implements(index, PointAt(i));
  }
  return !implements_any;
}

// Half a group plugin would place half a group.
void CapabilityFinder::CheckGroupPoints(int index) {
  std::vector<absl::string_view> needed, missing;
  for (int i = 0; i < kExtensionPointCount; ++i) {
    if (PointAt(i) == ExtensionPoint::kQueueSort || !plugins_.Implements(index, PointAt(i)))
      continue;
    needed.push_back(ExtensionPointField(PointAt(i)));
    if (!plugins_.IsEnabled(index, PointAt(i))) missing.push_back(needed.back());
  }
  if (missing.empty()) return;
  AddError(index,
           absl::StrCat(Name(index).view(),
                        " defines pod groups and must be enabled at multiPoint, or at all of ",
                        JoinedWithAnd(needed), "; missing: ", absl::StrJoin(missing, ", ")));
}

void CapabilityFinder::FindScoreExtensions() {
  for (Hook<ScorePlugin>& hook : plugins_.score) {
    hook.extensions = plugins_.As<const ScoreExtensions>(hook.index);
    hook.uniform = plugins_.As<const UniformScorePlugin>(hook.index);
  }
}

void CapabilityFinder::FindScoreResolutions() {
  for (Hook<ScorePlugin>& hook : plugins_.score) {
    if (hook.plugin == nullptr) continue;  // reported
    hook.resolution = 0;                   // what a plugin that throws has
    Ask(hook.index, "ScoreResolution", [&] { hook.resolution = hook.plugin->ScoreResolution(); });
    if (!IsPowerOfTen(hook.resolution) || hook.resolution > kMaxScoreResolution) {
      AddError(hook.index, absl::StrCat("the ScoreResolution() of plugin \"", hook.name.view(),
                                        "\" is ", hook.resolution,
                                        "; it must be a power of ten up to ", kMaxScoreResolution));
      continue;
    }
    plugins_.score_resolution = std::max(plugins_.score_resolution, hook.resolution);
  }
}

void CapabilityFinder::FindQueueOrder() {
  for (int index = 0; index < plugins_.count(); ++index) {
    auto* const order = plugins_.As<QueueOrder>(index);
    if (order == nullptr) continue;
    plugins_.queue_order_guard = Guard(*order, CounterOf(index));
    plugins_.queue_order = plugins_.queue_order_guard.get();
    return;
  }
}

// Only plugins that can reject a pod are asked; their interfaces count, not where they are
// enabled.
void CapabilityFinder::FindEvents() {
  for (int index = 0; index < plugins_.count(); ++index) {
    if (!CanReject(index)) continue;
    PluginEvents events{Name(index), {}};
    if (const auto* extensions = plugins_.As<EnqueueExtensions>(index)) {
      AskEvents(index, *extensions, events);
    } else {
      events.events.push_back({{EventResource::Wildcard(), action::kAll, ""}, nullptr});
    }
    plugins_.events.push_back(std::move(events));
  }
  // kube-scheduler v1.35 runtime/framework.go: an extender registers no events, so that any event
  // requeues a pod that one has rejected.
  if (!plugins_.handle.extenders().empty()) {
    plugins_.events.push_back({Symbol::Intern(kExtenderName),
                               {{{EventResource::Wildcard(), action::kAll, ""}, nullptr}}});
  }
}

bool CapabilityFinder::CanReject(int index) const {
  for (const ExtensionPoint point :
       {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
        ExtensionPoint::kReserve, ExtensionPoint::kPermit, ExtensionPoint::kPlacementGenerate}) {
    if (plugins_.Implements(index, point)) return true;
  }
  return plugins_.As<GroupPlugin>(index) != nullptr;
}

void CapabilityFinder::AskEvents(int index, const EnqueueExtensions& extensions,
                                 PluginEvents& events) {
  std::string what;
  try {
    std::vector<ClusterEventWithHint> registered = extensions.EventsToRegister();
    for (ClusterEventWithHint& event : registered) {
      event.hint = Guard(std::move(event.hint), CounterOf(index));
      event.filter = Guard(std::move(event.filter), CounterOf(index));
    }
    events.events = std::move(registered);
    Ask(index, "HintsReadSpecOnly",
        [&] { events.hints_read_spec_only = extensions.HintsReadSpecOnly(); });
    const auto* const indexed = plugins_.As<const IndexedHints>(index);
    if (indexed != nullptr && events.hints_read_spec_only) {
      events.index = Guard(*indexed, CounterOf(index));
    }
    return;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "something that is not a std::exception";
  }
  AddError(index,
           absl::StrCat("plugin \"", Name(index).view(), "\" threw in EventsToRegister: ", what));
}

void CapabilityFinder::FindObservers() {
  for (int index = 0; index < plugins_.count(); ++index) {
    if (auto* observer = plugins_.As<AssignmentObserver>(index)) {
      plugins_.observer_guards.push_back(Guard(*observer, CounterOf(index)));
      plugins_.observers.push_back(plugins_.observer_guards.back().get());
    }
    if (auto* observer = plugins_.As<SyncObserver>(index)) {
      plugins_.sync_observers.push_back({observer, Name(index), index});
    }
    if (const auto* rules = plugins_.As<const NominationRules>(index)) {
      plugins_.nomination_rules.push_back({rules, Name(index), index});
    }
    if (plugins_.As<AnsweredOutside>(index) != nullptr) {
      plugins_.answered_outside.push_back(Name(index));
    }
  }
}

void CapabilityFinder::FindExplainers() {
  for (int index = 0; index < plugins_.count(); ++index) {
    if (const auto* plugin = plugins_.As<const ExplainPlugin>(index)) {
      plugins_.node_explainers.push_back({plugin, Name(index), index});
    }
    if (const auto* explainer = plugins_.As<const WaitingExplainer>(index)) {
      plugins_.waiting_explainers.push_back({explainer, Name(index), index});
    }
    if (auto* reporter = plugins_.As<UsageReporter>(index)) {
      plugins_.usage_reporters.push_back({reporter, Name(index), index});
    }
    if (auto* reporter = plugins_.As<QuotaReporter>(index)) {
      plugins_.quota_reporters.push_back({reporter, Name(index), index});
    }
  }
}

void CapabilityFinder::FindSigners() {
  std::set<int> seen;
  const auto add = [&](const auto& hooks) {
    for (const auto& hook : hooks) {
      if (!seen.insert(hook.index).second) continue;
      const auto* plugin = plugins_.As<const SignPlugin>(hook.index);
      // A plugin that throws is taken to depend on everything, which is always right.
      Aspects aspects = Aspect::kEverything;
      bool spec_only = false;
      if (plugin != nullptr) {
        Ask(hook.index, "DependsOn", [&] { aspects = plugin->DependsOn(); });
        Ask(hook.index, "SignsSpecOnly", [&] { spec_only = plugin->SignsSpecOnly(); });
      }
      plugins_.signers.push_back({{plugin, hook.name, hook.index}, aspects, spec_only});
    }
  };
  add(plugins_.filter);
  add(plugins_.score);
}

// What caches of verdicts and scores need.
void CapabilityFinder::FindIncrementalForms() {
  for (const Hook<FilterPlugin>& hook : plugins_.filter) {
    plugins_.domain_filters.push_back(plugins_.As<const DomainFilter>(hook.index));
    plugins_.object_filters.push_back(plugins_.As<const ObjectFilter>(hook.index));
    plugins_.resource_filters.push_back(plugins_.As<const ResourceFilter>(hook.index));
    if (auto* selective = plugins_.As<SelectiveFilter>(hook.index)) {
      plugins_.selective_filters.push_back({selective, hook.name, hook.index});
    }
  }
  for (const Hook<PreScorePlugin>& hook : plugins_.pre_score) {
    plugins_.domain_scorers.push_back(plugins_.As<DomainScorer>(hook.index));
    if (plugins_.domain_scorers.back() != nullptr) plugins_.domain_pre_scorers |= MaskOf(hook);
  }
}

}  // namespace berth
