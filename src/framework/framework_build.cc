// From a profile to plugin instances at their extension points. As kube-scheduler v1.35
// framework/runtime NewFramework, but all problems are found at once.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "framework/framework.h"
#include "framework/framework_guards.h"
#include "framework/near_miss.h"

namespace berth {
namespace {

constexpr int kMaxPlugins = 64;  // a bit each in CycleState::Skips

// kube-scheduler's "total score of Score plugins could overflow" cannot happen with so few plugins.
static_assert(std::numeric_limits<int64_t>::max() / kMaxNodeScore / kMaxScoreResolution /
                  kMaxPlugins >
              std::numeric_limits<int32_t>::max());

constexpr ExtensionPoint PointAt(int i) { return static_cast<ExtensionPoint>(i); }

// "FilterPlugin"
std::string TypeName(ExtensionPoint point) {
  return absl::StrCat(ExtensionPointName(point), "Plugin");
}

const PluginEntry* FindEntry(const std::vector<PluginEntry>& entries, absl::string_view name) {
  const auto it =
      absl::c_find_if(entries, [&](const PluginEntry& entry) { return entry.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

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

class FrameworkBuilder {
 public:
  FrameworkBuilder(const Profile& profile, const Registry& registry, Handle& handle,
                   Problems& problems)
      : registry_(registry),
        handle_(handle),
        problems_(problems),
        errors_before_(problems.errors()),
        framework_(new Framework()),
        profile_(framework_->profile_) {
    framework_->profile_ = profile;
    framework_->handle_ = &handle;
    for (const auto& [name, registration] : registry.plugins()) known_.push_back(name);
  }

  std::unique_ptr<Framework> Build() {
    FindNeeded();
    if (needed_.size() > kMaxPlugins) {
      AddError(
          profile_.where, "plugins",
          absl::StrCat("enables ", needed_.size(), " plugins; a profile can have ", kMaxPlugins));
      return nullptr;
    }
    for (const PluginEntry* entry : needed_) Instantiate(*entry);
    ForEachPoint([this](ExtensionPoint point, auto& hooks) { FillPoint(point, hooks); });
    CheckQueueSortAndBind();
    FindScoreResolutions();
    FindPreFilterExtensions();
    FindGroupPlugin();
    FindEvents();
    FindObservers();
    FindExplainers();
    FindSigners();
    if (problems_.errors() != errors_before_) return nullptr;
    GuardQueueSort();
    return std::move(framework_);
  }

 private:
  using Indexes = std::vector<int>;  // of plugins in the profile

  void AddError(const SourceLocation& where, absl::string_view field, absl::string_view message) {
    problems_.AddError(where, absl::StrCat("profile ", profile_.scheduler_name),
                       absl::StrCat(field, ": ", message));
  }

  // Calls visit(point, hooks) for every extension point.
  template <class Visit>
  void ForEachPoint(const Visit& visit) {
    Framework& f = *framework_;
    visit(ExtensionPoint::kPreEnqueue, f.pre_enqueue_);
    visit(ExtensionPoint::kQueueSort, f.queue_sort_);
    visit(ExtensionPoint::kPreFilter, f.pre_filter_);
    visit(ExtensionPoint::kFilter, f.filter_);
    visit(ExtensionPoint::kPostFilter, f.post_filter_);
    visit(ExtensionPoint::kPreScore, f.pre_score_);
    visit(ExtensionPoint::kScore, f.score_);
    visit(ExtensionPoint::kReserve, f.reserve_);
    visit(ExtensionPoint::kPermit, f.permit_);
    visit(ExtensionPoint::kPreBind, f.pre_bind_);
    visit(ExtensionPoint::kBind, f.bind_);
    visit(ExtensionPoint::kPostBind, f.post_bind_);
  }

  // --- Instances ---

  // Every enabled plugin once, in the order of the profile: multiPoint first.
  void FindNeeded() {
    CheckNames("multiPoint", "plugin", profile_.multi_point);
    for (int i = 0; i < kExtensionPointCount; ++i) {
      CheckNames(ExtensionPointField(PointAt(i)), TypeName(PointAt(i)), profile_.points[i]);
    }
  }

  // Stricter than kube-scheduler in that names under `disabled` must exist too.
  void CheckNames(absl::string_view field, absl::string_view type, const PluginSet& set) {
    const auto unknown = [&](const PluginEntry& entry, absl::string_view list) {
      AddError(entry.where, absl::StrCat("plugins.", field, ".", list),
               absl::StrCat(type, " \"", entry.name, "\" does not exist",
                            DidYouMean(entry.name, known_)));
    };
    for (const PluginEntry& entry : set.enabled) {
      if (registry_.Find(entry.name) == nullptr) {
        unknown(entry, "enabled");
      } else if (first_entries_.emplace(entry.name, &entry).second) {
        needed_.push_back(&entry);
      }
    }
    for (const PluginEntry& entry : set.disabled) {
      if (entry.name != "*" && registry_.Find(entry.name) == nullptr) unknown(entry, "disabled");
    }
  }

  void Instantiate(const PluginEntry& entry) {
    const PluginRegistration& registration = *registry_.Find(entry.name);
    const auto given = profile_.args.find(entry.name);
    const PluginArgs args =
        given != profile_.args.end() ? given->second : PluginArgs::Defaults(registration.args);
    absl::StatusOr<std::unique_ptr<Plugin>> plugin = Make(registration, args);
    std::string trouble;
    if (!plugin.ok()) {
      trouble = std::string(plugin.status().message());
    } else if (*plugin == nullptr) {
      trouble = "its factory returned null";
    } else if ((*plugin)->Name() != entry.name) {
      trouble = absl::StrCat("its Name() is \"", (*plugin)->Name(), "\"");
    }
    if (!trouble.empty()) {
      AddError(entry.where, "plugins",
               absl::StrCat("initializing plugin \"", entry.name, "\": ", trouble));
      return;
    }
    index_of_.emplace(entry.name, static_cast<int>(framework_->plugins_.size()));
    names_.push_back(Symbol::Intern(entry.name));
    framework_->plugins_.push_back(std::move(*plugin));
    framework_->args_.push_back(args);
  }

  absl::StatusOr<std::unique_ptr<Plugin>> Make(const PluginRegistration& registration,
                                               const PluginArgs& args) {
    try {
      return registration.factory(args, handle_);
    } catch (const std::exception& error) {
      return absl::InternalError(absl::StrCat("its factory threw: ", error.what()));
    } catch (...) {
      return absl::InternalError("its factory threw something that is not a std::exception");
    }
  }

  int plugin_count() const { return static_cast<int>(names_.size()); }

  // The plugin as a T, or null.
  template <class T>
  T* As(int index) {
    return dynamic_cast<T*>(framework_->plugins_[index].get());
  }

  // --- Extension points ---

  template <class P>
  void FillPoint(ExtensionPoint point, std::vector<Hook<P>>& hooks) {
    uint64_t& implemented = implemented_[static_cast<size_t>(point)];
    for (int index = 0; index < plugin_count(); ++index) {
      if (As<P>(index) != nullptr) implemented |= uint64_t{1} << index;
    }
    for (const int index : Order(point)) {
      enabled_[static_cast<size_t>(point)] |= uint64_t{1} << index;
      hooks.push_back({As<P>(index), names_[index], index,
                       point == ExtensionPoint::kScore ? Weight(names_[index].view()) : 0});
    }
  }

  bool Implements(int index, ExtensionPoint point) const {
    return implemented_[static_cast<size_t>(point)] >> index & 1;
  }
  bool IsEnabled(int index, ExtensionPoint point) const {
    return enabled_[static_cast<size_t>(point)] >> index & 1;
  }

  // The plugins of one point: those of multiPoint that the point's own list names too, in the order
  // of that list; the others of multiPoint; the rest of the point's own list.
  Indexes Order(ExtensionPoint point) {
    const Indexes own = OwnList(point);
    const Indexes expanded = Expanded(point);
    Indexes order;
    absl::c_copy_if(own, std::back_inserter(order),
                    [&](int index) { return absl::c_linear_search(expanded, index); });
    for (const Indexes& part : {expanded, own}) {
      absl::c_copy_if(part, std::back_inserter(order),
                      [&](int index) { return !absl::c_linear_search(order, index); });
    }
    return order;
  }

  Indexes OwnList(ExtensionPoint point) {
    Indexes list;
    for (const PluginEntry& entry : profile_.at(point).enabled) {
      const auto it = index_of_.find(entry.name);
      if (it == index_of_.end()) continue;  // reported already
      const std::string field = absl::StrCat("plugins.", ExtensionPointField(point), ".enabled");
      if (!Implements(it->second, point)) {
        AddError(entry.where, field,
                 absl::StrCat("plugin \"", entry.name, "\" does not extend ", TypeName(point),
                              " plugin"));
      } else if (absl::c_linear_search(list, it->second)) {
        AddError(entry.where, field, AlreadyRegistered(entry, point));
      } else {
        list.push_back(it->second);
      }
    }
    return list;
  }

  // What multiPoint brings to the point, in its order.
  Indexes Expanded(ExtensionPoint point) {
    const PluginSet& own = profile_.at(point);
    Indexes list;
    if (FindEntry(own.disabled, "*") != nullptr) return list;
    for (const PluginEntry& entry : profile_.multi_point.enabled) {
      const auto it = index_of_.find(entry.name);
      if (it == index_of_.end() || !Implements(it->second, point)) continue;
      if (FindEntry(own.disabled, entry.name) != nullptr) continue;
      if (!absl::c_linear_search(list, it->second)) {
        list.push_back(it->second);
      } else if (FindEntry(own.enabled, entry.name) == nullptr &&
                 reported_duplicates_.insert(&entry).second) {
        AddError(entry.where, "plugins.multiPoint.enabled", AlreadyRegistered(entry, point));
      }
    }
    return list;
  }

  static std::string AlreadyRegistered(const PluginEntry& entry, ExtensionPoint point) {
    return absl::StrCat("plugin \"", entry.name, "\" already registered as \"", TypeName(point),
                        "\"");
  }

  int64_t Weight(absl::string_view name) const {
    const PluginEntry* entry = FindEntry(profile_.at(ExtensionPoint::kScore).enabled, name);
    if (entry == nullptr) entry = FindEntry(profile_.multi_point.enabled, name);
    return entry->weight == 0 ? 1 : entry->weight;
  }

  void CheckQueueSortAndBind() {
    const auto& sorts = framework_->queue_sort_;
    // A plugin that was not found above may have been the one that is missing here.
    const bool complete = problems_.errors() == errors_before_;
    if (sorts.size() > 1 || (sorts.empty() && complete)) {
      std::string names = absl::StrJoin(sorts, ", ", [](std::string* out, const auto& hook) {
        absl::StrAppend(out, hook.name.view());
      });
      if (!names.empty()) names = absl::StrCat(" (", names, "); disable all but one at queueSort");
      SourceLocation where = profile_.where;
      for (const auto& hook : sorts) {  // the last one that is in the file, not in the defaults
        if (Entry(hook.index).where.line != 0) where = Entry(hook.index).where;
      }
      AddError(
          where, "plugins.queueSort",
          absl::StrCat("only one queue sort plugin required for profile with scheduler name \"",
                       profile_.scheduler_name, "\", but got ", sorts.size(), names));
    }
    if (framework_->bind_.empty() && complete) {
      AddError(profile_.where, "plugins.bind",
               absl::StrCat("at least one bind plugin is needed for profile with scheduler name \"",
                            profile_.scheduler_name, "\""));
    }
  }

  void GuardQueueSort() {
    Hook<QueueSortPlugin>& hook = framework_->queue_sort_.front();
    framework_->queue_sort_guard_ = Guard(*hook.plugin, CounterOf(hook.index));
    hook.plugin = framework_->queue_sort_guard_.get();
  }

  FaultCounter CounterOf(int index) { return {names_[index], &framework_->fault_log_}; }

  const PluginEntry& Entry(int index) const {
    return *first_entries_.find(names_[index].view())->second;
  }

  // --- Beyond the extension points ---

  void FindPreFilterExtensions() {
    for (const Hook<PreFilterPlugin>& hook : framework_->pre_filter_) {
      if (auto* extensions = As<PreFilterExtensions>(hook.index)) {
        framework_->pre_filter_extensions_.push_back({extensions, hook.name, hook.index});
      }
    }
  }

  void FindGroupPlugin() {
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
  bool DefinesGroups(int index) const {
    bool implements_any = false;
    for (int i = 0; i < kExtensionPointCount; ++i) {
      if (PointAt(i) == ExtensionPoint::kQueueSort) continue;
      if (IsEnabled(index, PointAt(i))) return true;
      implements_any |= Implements(index, PointAt(i));
    }
    return !implements_any;
  }

  // Half a group plugin would place half a group.
  void CheckGroupPoints(int index) {
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

  void FindScoreResolutions() {
    for (Hook<ScorePlugin>& hook : framework_->score_) {
      if (hook.plugin == nullptr) continue;  // reported
      hook.resolution = 0;                   // what a plugin that throws has
      try {
        hook.resolution = hook.plugin->ScoreResolution();
      } catch (...) {
      }
      if (!IsPowerOfTen(hook.resolution) || hook.resolution > kMaxScoreResolution) {
        AddError(Entry(hook.index).where, "plugins",
                 absl::StrCat("the ScoreResolution() of plugin \"", hook.name.view(), "\" is ",
                              hook.resolution, "; it must be a power of ten up to ",
                              kMaxScoreResolution));
        continue;
      }
      framework_->score_resolution_ = std::max(framework_->score_resolution_, hook.resolution);
    }
  }

  // Only plugins that can reject a pod are asked; their interfaces count, not where they are
  // enabled.
  void FindEvents() {
    for (int index = 0; index < plugin_count(); ++index) {
      if (!CanReject(index)) continue;
      Framework::PluginEvents events{names_[index], {}};
      if (const auto* extensions = As<EnqueueExtensions>(index)) {
        events.events = AskEvents(index, *extensions);
      } else {
        events.events.push_back({{EventResource::Wildcard(), action::kAll, ""}, nullptr});
      }
      framework_->events_.push_back(std::move(events));
    }
  }

  bool CanReject(int index) {
    for (const ExtensionPoint point :
         {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
          ExtensionPoint::kReserve, ExtensionPoint::kPermit}) {
      if (Implements(index, point)) return true;
    }
    return As<GroupPlugin>(index) != nullptr;
  }

  std::vector<ClusterEventWithHint> AskEvents(int index, const EnqueueExtensions& extensions) {
    std::string what = "something that is not a std::exception";
    try {
      std::vector<ClusterEventWithHint> events = extensions.EventsToRegister();
      for (ClusterEventWithHint& event : events) {
        event.hint = Guard(std::move(event.hint), CounterOf(index));
      }
      return events;
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    AddError(
        Entry(index).where, "plugins",
        absl::StrCat("plugin \"", names_[index].view(), "\" threw in EventsToRegister: ", what));
    return {};
  }

  void FindObservers() {
    for (int index = 0; index < plugin_count(); ++index) {
      if (auto* observer = As<AssignmentObserver>(index)) {
        framework_->observer_guards_.push_back(Guard(*observer, CounterOf(index)));
        framework_->observers_.push_back(framework_->observer_guards_.back().get());
      }
    }
  }

  void FindExplainers() {
    for (int index = 0; index < plugin_count(); ++index) {
      if (const auto* plugin = As<const ExplainPlugin>(index)) {
        framework_->explain_.push_back({plugin, names_[index], index});
      }
      if (const auto* explainer = As<const WaitingExplainer>(index)) {
        framework_->explainers_.push_back({explainer, names_[index], index});
      }
    }
  }

  // A plugin that throws is taken to depend on everything, which is always right.
  static Aspects DependsOn(const SignPlugin& plugin) {
    try {
      return plugin.DependsOn();
    } catch (...) {
      return Aspect::kEverything;
    }
  }

  void FindSigners() {
    std::set<int> seen;
    const auto add = [&](const auto& hooks) {
      for (const auto& hook : hooks) {
        if (!seen.insert(hook.index).second) continue;
        const auto* plugin = As<const SignPlugin>(hook.index);
        framework_->signers_.push_back(
            {{plugin, hook.name, hook.index}, plugin ? DependsOn(*plugin) : Aspect::kEverything});
      }
    };
    add(framework_->filter_);
    add(framework_->score_);
  }

  const Registry& registry_;
  Handle& handle_;
  Problems& problems_;
  const int errors_before_;
  std::unique_ptr<Framework> framework_;
  const Profile& profile_;          // the framework's copy: entries stay where they are
  std::vector<std::string> known_;  // every plugin of the registry
  std::vector<const PluginEntry*> needed_;
  absl::flat_hash_map<std::string, const PluginEntry*> first_entries_;  // by plugin
  absl::flat_hash_map<std::string, int> index_of_;
  std::vector<Symbol> names_;  // by index
  uint64_t implemented_[kExtensionPointCount] = {}, enabled_[kExtensionPointCount] = {};
  std::set<const PluginEntry*> reported_duplicates_;
};

std::unique_ptr<Framework> Framework::Create(const Profile& profile, const Registry& registry,
                                             Handle& handle, Problems& problems) {
  return FrameworkBuilder(profile, registry, handle, problems).Build();
}

std::vector<std::string> Framework::PluginNames(ExtensionPoint point) const {
  const auto names = [](const auto& hooks) {
    std::vector<std::string> list;
    for (const auto& hook : hooks) list.emplace_back(hook.name.view());
    return list;
  };
  switch (point) {
    case ExtensionPoint::kPreEnqueue:
      return names(pre_enqueue_);
    case ExtensionPoint::kQueueSort:
      return names(queue_sort_);
    case ExtensionPoint::kPreFilter:
      return names(pre_filter_);
    case ExtensionPoint::kFilter:
      return names(filter_);
    case ExtensionPoint::kPostFilter:
      return names(post_filter_);
    case ExtensionPoint::kPreScore:
      return names(pre_score_);
    case ExtensionPoint::kScore:
      return names(score_);
    case ExtensionPoint::kReserve:
      return names(reserve_);
    case ExtensionPoint::kPermit:
      return names(permit_);
    case ExtensionPoint::kPreBind:
      return names(pre_bind_);
    case ExtensionPoint::kBind:
      return names(bind_);
    case ExtensionPoint::kPostBind:
      return names(post_bind_);
  }
  return {};
}

const PluginArgs& Framework::args(absl::string_view plugin) const {
  for (size_t i = 0; i < plugins_.size(); ++i) {
    if (plugins_[i]->Name() == plugin) return args_[i];
  }
  static const PluginArgs& none = *new PluginArgs();
  return none;
}

}  // namespace berth
