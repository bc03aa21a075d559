// SPDX-License-Identifier: Apache-2.0
// What the plugins of a profile can do beyond their extension points: groups, events, observing,
// signing, explaining.
#include <algorithm>
#include <exception>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/framework_builder.h"

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

void FrameworkBuilder::FindPreFilterExtensions() {
  for (const Hook<PreFilterPlugin>& hook : framework_->pre_filter_) {
    if (auto* extensions = As<PreFilterExtensions>(hook.index)) {
      framework_->pre_filter_extensions_.push_back({extensions, hook.name, hook.index});
    }
  }
}

void FrameworkBuilder::FindGroupPlugin() {
  int found = -1;
  for (int index = 0; index < plugin_count(); ++index) {
    if (As<GroupPlugin>(index) == nullptr || !DefinesGroups(index)) continue;
    if (found < 0) {
      found = index;
      framework_->group_guard_ = Guard(*As<GroupPlugin>(index), CounterOf(index));
      framework_->group_plugin_ = framework_->group_guard_.get();
      framework_->group_plugin_name_ = names_[index];
    } else {
      AddError(Entry(index).where, "plugins",
               absl::StrCat(names_[index].view(), " defines pod groups, and so does ",
                            names_[found].view(), "; a profile can have one such plugin"));
    }
    CheckGroupPoints(index);
  }
}

// A group plugin that only sorts the queue (which is the same for all profiles) leaves the pods
// of this profile on their own, as with kube-scheduler.
bool FrameworkBuilder::DefinesGroups(int index) const {
  bool implements_any = false;
  for (int i = 0; i < kExtensionPointCount; ++i) {
    if (PointAt(i) == ExtensionPoint::kQueueSort) continue;
    if (IsEnabled(index, PointAt(i))) return true;
    implements_any |= Implements(index, PointAt(i));
  }
  return !implements_any;
}

// Half a group plugin would place half a group.
void FrameworkBuilder::CheckGroupPoints(int index) {
  std::vector<absl::string_view> needed, missing;
  for (int i = 0; i < kExtensionPointCount; ++i) {
    if (PointAt(i) == ExtensionPoint::kQueueSort || !Implements(index, PointAt(i))) continue;
    needed.push_back(ExtensionPointField(PointAt(i)));
    if (!IsEnabled(index, PointAt(i))) missing.push_back(needed.back());
  }
  if (missing.empty()) return;
  AddError(Entry(index).where, "plugins",
           absl::StrCat(names_[index].view(),
                        " defines pod groups and must be enabled at multiPoint, or at all of ",
                        JoinedWithAnd(needed), "; missing: ", absl::StrJoin(missing, ", ")));
}

void FrameworkBuilder::FindScoreExtensions() {
  for (Hook<ScorePlugin>& hook : framework_->score_) {
    hook.extensions = As<const ScoreExtensions>(hook.index);
  }
}

void FrameworkBuilder::FindScoreResolutions() {
  for (Hook<ScorePlugin>& hook : framework_->score_) {
    if (hook.plugin == nullptr) continue;  // reported
    hook.resolution = 0;                   // what a plugin that throws has
    Ask(hook.index, "ScoreResolution", [&] { hook.resolution = hook.plugin->ScoreResolution(); });
    if (!IsPowerOfTen(hook.resolution) || hook.resolution > kMaxScoreResolution) {
      AddError(
          Entry(hook.index).where, "plugins",
          absl::StrCat("the ScoreResolution() of plugin \"", hook.name.view(), "\" is ",
                       hook.resolution, "; it must be a power of ten up to ", kMaxScoreResolution));
      continue;
    }
    framework_->score_resolution_ = std::max(framework_->score_resolution_, hook.resolution);
  }
}

// Only plugins that can reject a pod are asked; their interfaces count, not where they are
// enabled.
void FrameworkBuilder::FindEvents() {
  for (int index = 0; index < plugin_count(); ++index) {
    if (!CanReject(index)) continue;
    Framework::PluginEvents events{names_[index], {}};
    if (const auto* extensions = As<EnqueueExtensions>(index)) {
      AskEvents(index, *extensions, events);
    } else {
      events.events.push_back({{EventResource::Wildcard(), action::kAll, ""}, nullptr});
    }
    framework_->events_.push_back(std::move(events));
  }
}

bool FrameworkBuilder::CanReject(int index) {
  for (const ExtensionPoint point :
       {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
        ExtensionPoint::kReserve, ExtensionPoint::kPermit}) {
    if (Implements(index, point)) return true;
  }
  return As<GroupPlugin>(index) != nullptr;
}

void FrameworkBuilder::AskEvents(int index, const EnqueueExtensions& extensions,
                                 Framework::PluginEvents& events) {
  std::string what = "something that is not a std::exception";
  try {
    std::vector<ClusterEventWithHint> registered = extensions.EventsToRegister();
    for (ClusterEventWithHint& event : registered) {
      event.hint = Guard(std::move(event.hint), CounterOf(index));
    }
    events.events = std::move(registered);
    Ask(index, "HintsReadSpecOnly",
        [&] { events.hints_read_spec_only = extensions.HintsReadSpecOnly(); });
    return;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  AddError(Entry(index).where, "plugins",
           absl::StrCat("plugin \"", names_[index].view(), "\" threw in EventsToRegister: ", what));
}

void FrameworkBuilder::FindObservers() {
  for (int index = 0; index < plugin_count(); ++index) {
    if (auto* observer = As<AssignmentObserver>(index)) {
      framework_->observer_guards_.push_back(Guard(*observer, CounterOf(index)));
      framework_->observers_.push_back(framework_->observer_guards_.back().get());
    }
    if (auto* observer = As<SyncObserver>(index)) {
      framework_->sync_observers_.push_back({observer, names_[index], index});
    }
  }
}

void FrameworkBuilder::FindExplainers() {
  for (int index = 0; index < plugin_count(); ++index) {
    if (const auto* plugin = As<const ExplainPlugin>(index)) {
      framework_->explain_.push_back({plugin, names_[index], index});
    }
    if (const auto* explainer = As<const WaitingExplainer>(index)) {
      framework_->explainers_.push_back({explainer, names_[index], index});
    }
    if (auto* reporter = As<UsageReporter>(index)) {
      framework_->usage_reporters_.push_back({reporter, names_[index], index});
    }
  }
}

void FrameworkBuilder::FindSigners() {
  std::set<int> seen;
  const auto add = [&](const auto& hooks) {
    for (const auto& hook : hooks) {
      if (!seen.insert(hook.index).second) continue;
      const auto* plugin = As<const SignPlugin>(hook.index);
      // A plugin that throws is taken to depend on everything, which is always right.
      Aspects aspects = Aspect::kEverything;
      bool spec_only = false;
      if (plugin != nullptr) {
        Ask(hook.index, "DependsOn", [&] { aspects = plugin->DependsOn(); });
        Ask(hook.index, "SignsSpecOnly", [&] { spec_only = plugin->SignsSpecOnly(); });
      }
      framework_->signer_.Add({{plugin, hook.name, hook.index}, aspects, spec_only});
    }
  };
  add(framework_->filter_);
  add(framework_->score_);
  for (const Hook<FilterPlugin>& hook : framework_->filter_) {
    framework_->domain_filters_.push_back(As<const DomainFilter>(hook.index));
    framework_->object_filters_.push_back(As<const ObjectFilter>(hook.index));
    if (framework_->object_filters_.back() != nullptr &&
        framework_->domain_filters_.back() == nullptr) {
      framework_->all_object_filters_ |= PluginMask{1} << hook.index;
    }
    framework_->room_filters_.push_back(As<const ResourceFilter>(hook.index));
  }
  for (const Hook<PreScorePlugin>& hook : framework_->pre_score_) {
    framework_->domain_scorers_.push_back(As<DomainScorer>(hook.index));
  }
}

}  // namespace berth
