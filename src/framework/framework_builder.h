// SPDX-License-Identifier: Apache-2.0
// Builds a Framework: makes the plugin instances, puts them at their extension points, and finds
// out what else they can do. As kube-scheduler v1.35 framework/runtime NewFramework, but all
// problems are found at once.
#ifndef BERTH_SRC_FRAMEWORK_FRAMEWORK_BUILDER_H_
#define BERTH_SRC_FRAMEWORK_FRAMEWORK_BUILDER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "framework/framework.h"
#include "framework/plugin_calls.h"
#include "framework/plugin_guards.h"

namespace berth {

constexpr ExtensionPoint PointAt(int i) { return static_cast<ExtensionPoint>(i); }

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

  std::unique_ptr<Framework> Build();

 private:
  using Indexes = std::vector<int>;  // of plugins in the profile

  void AddError(const SourceLocation& where, absl::string_view field, absl::string_view message);

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

  void FindNeeded();
  void CheckNames(absl::string_view field, absl::string_view type, const PluginSet& set);
  void Instantiate(const PluginEntry& entry);
  PluginArgs ArgsOf(const PluginEntry& entry, const PluginRegistration& registration);
  absl::StatusOr<std::unique_ptr<Plugin>> Make(const PluginRegistration& registration,
                                               const PluginArgs& args);
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

  Indexes Order(ExtensionPoint point);
  Indexes OwnList(ExtensionPoint point);
  Indexes Expanded(ExtensionPoint point);
  static std::string AlreadyRegistered(const PluginEntry& entry, ExtensionPoint point);
  int64_t Weight(absl::string_view name) const;
  void CheckQueueSortAndBind();
  SourceLocation WhereOmitted(int index, ExtensionPoint point) const;
  void WarnOfUnwrittenState();
  void GuardQueueSort();
  FaultCounter CounterOf(int index) { return {names_[index], &framework_->fault_log_}; }

  const PluginEntry& Entry(int index) const {
    return *first_entries_.find(names_[index].view())->second;
  }

  // --- Beyond the extension points ---

  void FindPreFilterExtensions();
  void FindGroupPlugin();
  bool DefinesGroups(int index) const;
  void CheckGroupPoints(int index);
  void FindScoreExtensions();
  void FindScoreResolutions();
  void FindEvents();
  bool CanReject(int index);
  void AskEvents(int index, const EnqueueExtensions& extensions, Framework::PluginEvents& events);
  void FindObservers();
  void FindExplainers();
  // Runs what asks the plugin something that it may do without; a throw is counted as its fault.
  template <class Call>
  void Ask(int index, absl::string_view where, const Call& call) {
    framework_->calls_.GuardedVoid(where, names_[index], call);
  }
  void FindSigners();

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

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FRAMEWORK_BUILDER_H_
