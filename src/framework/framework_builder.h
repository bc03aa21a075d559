// SPDX-License-Identifier: Apache-2.0
// Builds what a Framework runs: makes the plugin instances and puts them at their extension points.
// As kube-scheduler v1.35 framework/runtime NewFramework, but all problems are found at once.
#ifndef BERTH_SRC_FRAMEWORK_FRAMEWORK_BUILDER_H_
#define BERTH_SRC_FRAMEWORK_FRAMEWORK_BUILDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "berth/extensions/state_use.h"
#include "framework/profile_plugins.h"

namespace berth {

class FrameworkBuilder {
 public:
  FrameworkBuilder(const Profile& profile, const Registry& registry, Handle& handle,
                   Problems& problems);

  // Null if there are problems.
  std::unique_ptr<const ProfilePlugins> Build();

 private:
  using Indexes = std::vector<int>;  // of plugins in the profile

  void AddError(const SourceLocation& where, absl::string_view field, absl::string_view message);

  // --- Instances ---

  void FindNeeded();
  void CheckNames(absl::string_view field, absl::string_view type, const PluginSet& set);
  void Instantiate(const PluginEntry& entry);
  PluginArgs ArgsOf(const PluginEntry& entry, const PluginRegistration& registration);
  absl::StatusOr<std::unique_ptr<Plugin>> Make(const PluginRegistration& registration,
                                               const PluginArgs& args);

  // --- Extension points ---

  template <class P>
  void FillPoint(ExtensionPoint point, std::vector<Hook<P>>& hooks);
  Indexes Order(ExtensionPoint point);
  Indexes OwnList(ExtensionPoint point);
  Indexes Expanded(ExtensionPoint point);
  static std::string AlreadyRegistered(const PluginEntry& entry, ExtensionPoint point);
  int64_t Weight(ExtensionPoint point, absl::string_view name) const;
  void CheckQueueSortAndBind();
  SourceLocation WhereOmitted(int index, ExtensionPoint point) const;
  void WarnOfUnwrittenState();
  void WarnOfUnwrittenState(int index, absl::Span<const StateUse> uses, absl::string_view reads,
                            absl::string_view outcome);
  void GuardQueueSort();

  absl::string_view Name(int index) const { return plugins_->instances[index].name.view(); }

  const Registry& registry_;
  Problems& problems_;
  const int errors_before_;
  std::unique_ptr<ProfilePlugins> plugins_;
  const Profile& profile_;          // the copy in plugins_: entries stay where they are
  std::vector<std::string> known_;  // every plugin of the registry
  std::vector<const PluginEntry*> needed_;
  std::set<std::string, std::less<>> needed_names_;
  absl::flat_hash_map<std::string, int> index_of_;
  std::set<const PluginEntry*> reported_duplicates_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FRAMEWORK_BUILDER_H_
