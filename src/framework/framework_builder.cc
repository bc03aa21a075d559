// SPDX-License-Identifier: Apache-2.0
// Implementation of framework_builder.h: from a profile to plugin instances at their extension
// points.
#include "framework/framework_builder.h"

#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/near_miss.h"
#include "berth/extensions/point_choice.h"
#include "framework/capability_finder.h"
#include "framework/plugin_guards.h"

namespace berth {
namespace {

constexpr int kMaxPlugins = 64;  // a bit each in CycleState::Skips

// kube-scheduler's "total score of Score plugins could overflow" cannot happen with so few plugins.
static_assert(std::numeric_limits<int64_t>::max() / kMaxNodeScore / kMaxScoreResolution /
                  kMaxPlugins >
              std::numeric_limits<int32_t>::max());

// "FilterPlugin"
std::string TypeName(ExtensionPoint point) {
  return absl::StrCat(ExtensionPointName(point), "Plugin");
}

const PluginEntry* FindEntry(const std::vector<PluginEntry>& entries, absl::string_view name) {
  const auto it =
      absl::c_find_if(entries, [&](const PluginEntry& entry) { return entry.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

}  // namespace

FrameworkBuilder::FrameworkBuilder(const Profile& profile, const Registry& registry, Handle& handle,
                                   Problems& problems)
    : registry_(registry),
      problems_(problems),
      errors_before_(problems.errors()),
      plugins_(std::make_unique<ProfilePlugins>(profile, handle)),
      profile_(plugins_->profile) {
  for (const auto& [name, registration] : registry.plugins()) known_.push_back(name);
}

std::unique_ptr<const ProfilePlugins> FrameworkBuilder::Build() {
  FindNeeded();
  if (needed_.size() > kMaxPlugins) {
    AddError(
        profile_.where, "plugins",
        absl::StrCat("enables ", needed_.size(), " plugins; a profile can have ", kMaxPlugins));
    return nullptr;
  }
  for (const PluginEntry* entry : needed_) Instantiate(*entry);
  ProfilePlugins::ForEachPoint(
      *plugins_, [this](ExtensionPoint point, auto& hooks) { FillPoint(point, hooks); });
  CheckQueueSortAndBind();
  WarnOfUnwrittenState();
  CapabilityFinder(*plugins_, problems_).FindAll();
  if (problems_.errors() != errors_before_) return nullptr;
  GuardQueueSort();
  return std::move(plugins_);
}

void FrameworkBuilder::AddError(const SourceLocation& where, absl::string_view field,
                                absl::string_view message) {
  problems_.AddError(where, profile_.Title(), absl::StrCat(field, ": ", message));
}

// Every enabled plugin once, in the order of the profile: multiPoint first.
void FrameworkBuilder::FindNeeded() {
  CheckNames("multiPoint", "plugin", profile_.multi_point);
  for (int i = 0; i < kExtensionPointCount; ++i) {
    CheckNames(ExtensionPointField(PointAt(i)), TypeName(PointAt(i)), profile_.points[i]);
  }
}

// Stricter than kube-scheduler in that names under `disabled` must exist too.
void FrameworkBuilder::CheckNames(absl::string_view field, absl::string_view type,
                                  const PluginSet& set) {
  const auto unknown = [&](const PluginEntry& entry, absl::string_view list) {
    AddError(
        entry.where, absl::StrCat("plugins.", field, ".", list),
        absl::StrCat(type, " \"", entry.name, "\" does not exist", DidYouMean(entry.name, known_)));
  };
  for (const PluginEntry& entry : set.enabled) {
    if (registry_.Find(entry.name) == nullptr) {
      unknown(entry, "enabled");
    } else if (needed_names_.insert(entry.name).second) {
      needed_.push_back(&entry);
    }
  }
  for (const PluginEntry& entry : set.disabled) {
    if (entry.name != "*" && registry_.Find(entry.name) == nullptr) unknown(entry, "disabled");
  }
}

void FrameworkBuilder::Instantiate(const PluginEntry& entry) {
  const PluginRegistration& registration = *registry_.Find(entry.name);
  const PluginArgs args = ArgsOf(entry, registration);
  const auto mismatch = std::make_shared<std::string>();
  absl::StatusOr<std::unique_ptr<Plugin>> plugin = Make(registration, args.ReportingTo(mismatch));
  std::string trouble;
  if (!mismatch->empty()) {
    trouble = *mismatch;
  } else if (!plugin.ok()) {
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
  index_of_.emplace(entry.name, plugins_->count());
  plugins_->instances.push_back(
      {*std::move(plugin), Symbol::Intern(entry.name), args, entry.where});
}

// The profile's, which were checked when they were made, or the defaults, which may lack something.
PluginArgs FrameworkBuilder::ArgsOf(const PluginEntry& entry,
                                    const PluginRegistration& registration) {
  const auto given = profile_.args.find(entry.name);
  if (given != profile_.args.end()) return given->second;
  PluginArgs defaults = PluginArgs::Defaults(registration.args);
  if (registration.args == nullptr) return defaults;
  Problems found;
  registration.args->Validate(Value(), "", defaults.value(), found);
  for (const Problem& problem : found) {
    if (problem.severity == Severity::kWarning) continue;
    AddError(entry.where, "plugins",
             absl::StrCat(entry.name, " has no arguments: args.", problem.message));
  }
  return defaults;
}

absl::StatusOr<std::unique_ptr<Plugin>> FrameworkBuilder::Make(
    const PluginRegistration& registration, const PluginArgs& args) {
  try {
    return registration.factory(args, plugins_->handle);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("its factory threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("its factory threw something that is not a std::exception");
  }
}

template <class P>
void FrameworkBuilder::FillPoint(ExtensionPoint point, std::vector<Hook<P>>& hooks) {
  PluginMask& implemented = plugins_->implemented[static_cast<size_t>(point)];
  for (int index = 0; index < plugins_->count(); ++index) {
    if (plugins_->As<P>(index) == nullptr) continue;
    const auto* const choice = plugins_->As<const PointChoice>(index);
    if (choice == nullptr || choice->Serves(point)) implemented |= PluginMask{1} << index;
  }
  for (const int index : Order(point)) {
    plugins_->enabled[static_cast<size_t>(point)] |= PluginMask{1} << index;
    hooks.push_back({plugins_->As<P>(index), plugins_->instances[index].name, index,
                     HasWeights(point) ? Weight(point, Name(index)) : 0});
  }
}

// The plugins of one point: those of multiPoint that the point's own list names too, in the order
// of that list; the others of multiPoint; the rest of the point's own list.
FrameworkBuilder::Indexes FrameworkBuilder::Order(ExtensionPoint point) {
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

FrameworkBuilder::Indexes FrameworkBuilder::OwnList(ExtensionPoint point) {
  Indexes list;
  for (const PluginEntry& entry : profile_.at(point).enabled) {
    const auto it = index_of_.find(entry.name);
    if (it == index_of_.end()) continue;  // reported already
    const std::string field = absl::StrCat("plugins.", ExtensionPointField(point), ".enabled");
    if (!plugins_->Implements(it->second, point)) {
      const auto* const choice = plugins_->As<const PointChoice>(it->second);
      const std::string why = choice == nullptr ? "" : choice->WhyNot(point);
      AddError(entry.where, field,
               absl::StrCat("plugin \"", entry.name, "\" does not extend ", TypeName(point),
                            " plugin", why.empty() ? "" : ": ", why));
    } else if (absl::c_linear_search(list, it->second)) {
      AddError(entry.where, field, AlreadyRegistered(entry, point));
    } else {
      list.push_back(it->second);
    }
  }
  return list;
}

// What multiPoint brings to the point, in its order.
FrameworkBuilder::Indexes FrameworkBuilder::Expanded(ExtensionPoint point) {
  const PluginSet& own = profile_.at(point);
  Indexes list;
  if (FindEntry(own.disabled, "*") != nullptr) return list;
  for (const PluginEntry& entry : profile_.multi_point.enabled) {
    const auto it = index_of_.find(entry.name);
    if (it == index_of_.end() || !plugins_->Implements(it->second, point)) continue;
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

std::string FrameworkBuilder::AlreadyRegistered(const PluginEntry& entry, ExtensionPoint point) {
  return absl::StrCat("plugin \"", entry.name, "\" already registered as \"", TypeName(point),
                      "\"");
}

int64_t FrameworkBuilder::Weight(ExtensionPoint point, absl::string_view name) const {
  const PluginEntry* entry = FindEntry(profile_.at(point).enabled, name);
  if (entry == nullptr) entry = FindEntry(profile_.multi_point.enabled, name);
  return entry->weight == 0 ? 1 : entry->weight;
}

void FrameworkBuilder::CheckQueueSortAndBind() {
  const auto& sorts = plugins_->queue_sort;
  // A plugin that was not found above may have been the one that is missing here.
  const bool complete = problems_.errors() == errors_before_;
  if (sorts.size() > 1 || (sorts.empty() && complete)) {
    std::string names = absl::StrJoin(sorts, ", ", [](std::string* out, const auto& hook) {
      absl::StrAppend(out, hook.name.view());
    });
    if (!names.empty()) names = absl::StrCat(" (", names, "); disable all but one at queueSort");
    SourceLocation where = profile_.where;
    for (const auto& hook : sorts) {  // the last one that is in the file, not in the defaults
      if (plugins_->instances[hook.index].where.line != 0)
        where = plugins_->instances[hook.index].where;
    }
    AddError(where, "plugins.queueSort",
             absl::StrCat("only one queue sort plugin required for profile with scheduler name \"",
                          profile_.scheduler_name, "\", but got ", sorts.size(), names));
  }
  if (plugins_->bind.empty() && complete) {
    AddError(profile_.where, "plugins.bind",
             absl::StrCat("at least one bind plugin is needed for profile with scheduler name \"",
                          profile_.scheduler_name, "\""));
  }
}

// What in the file keeps the plugin from the point.
SourceLocation FrameworkBuilder::WhereOmitted(int index, ExtensionPoint point) const {
  for (const absl::string_view name : {Name(index), absl::string_view("*")}) {
    const PluginEntry* const disabled = FindEntry(profile_.at(point).disabled, name);
    if (disabled != nullptr) return disabled->where;
  }
  return plugins_->instances[index].where;
}

// A plugin that is enabled at one point of a pair only may read state that was never written. Which
// pairs it has it says itself (StateUsePlugin), or it is taken to have the usual ones.
void FrameworkBuilder::WarnOfUnwrittenState() {
  constexpr StateUse kUsual[] = {{ExtensionPoint::kFilter, ExtensionPoint::kPreFilter},
                                 {ExtensionPoint::kScore, ExtensionPoint::kPreScore}};
  for (int index = 0; index < plugins_->count(); ++index) {
    const auto* const says = plugins_->As<const StateUsePlugin>(index);
    if (says == nullptr) {
      WarnOfUnwrittenState(index, kUsual, "if it reads", "every pod fails");
      continue;
    }
    plugins_->calls.GuardedVoid("StateUses", plugins_->instances[index].name, [&] {
      WarnOfUnwrittenState(index, says->StateUses(), "it reads", "and finds nothing");
    });
  }
}

// One warning a plugin, whatever it is not enabled at.
void FrameworkBuilder::WarnOfUnwrittenState(int index, absl::Span<const StateUse> uses,
                                            absl::string_view reads, absl::string_view outcome) {
  std::map<ExtensionPoint, std::vector<absl::string_view>> readers_of;  // by who would write
  for (const StateUse& use : uses) {
    if (plugins_->IsEnabled(index, use.reader) && !plugins_->IsEnabled(index, use.writer) &&
        plugins_->Implements(index, use.writer)) {
      readers_of[use.writer].push_back(ExtensionPointField(use.reader));
    }
  }
  if (readers_of.empty()) return;
  std::vector<std::string> lacks;
  for (const auto& [writer, readers] : readers_of) {
    const absl::Span<const absl::string_view> but_the_last(readers.data(), readers.size() - 1);
    lacks.push_back(absl::StrCat("at ", absl::StrJoin(but_the_last, ", "),
                                 but_the_last.empty() ? "" : " and ", readers.back(),
                                 " but not at ", ExtensionPointField(writer)));
  }
  problems_.AddWarning(
      WhereOmitted(index, readers_of.begin()->first), profile_.Title(),
      absl::StrCat("plugins: plugin \"", Name(index), "\" is enabled ", absl::StrJoin(lacks, ", "),
                   "; ", reads, " what it writes there, ", outcome, ": enable it at both"));
}

void FrameworkBuilder::GuardQueueSort() {
  Hook<QueueSortPlugin>& hook = plugins_->queue_sort.front();
  plugins_->queue_sort_guard = Guard(*hook.plugin, FaultCounter{hook.name, &plugins_->fault_log});
  hook.plugin = plugins_->queue_sort_guard.get();
}

}  // namespace berth
