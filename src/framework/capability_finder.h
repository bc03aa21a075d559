// SPDX-License-Identifier: Apache-2.0
// Finds out what the plugins of a profile can do beyond their extension points: groups, events,
// observing, signing, explaining.
#ifndef BERTH_SRC_FRAMEWORK_CAPABILITY_FINDER_H_
#define BERTH_SRC_FRAMEWORK_CAPABILITY_FINDER_H_

#include "absl/strings/string_view.h"
#include "framework/plugin_guards.h"
#include "framework/profile_plugins.h"

namespace berth {

class CapabilityFinder {
 public:
  // `plugins` has its instances and extension points. Both outlive this.
  CapabilityFinder(ProfilePlugins& plugins, Problems& problems);

  // Fills in the rest of `plugins`; what a plugin may not say goes to `problems`.
  void FindAll();

 private:
  void FindPreFilterExtensions();
  void FindGroupPlugin();
  bool DefinesGroups(int index) const;
  void CheckGroupPoints(int index);
  void FindScoreExtensions();
  void FindScoreResolutions();
  void FindQueueOrder();
  void FindEvents();
  bool CanReject(int index) const;
  void AskEvents(int index, const EnqueueExtensions& extensions, PluginEvents& events);
  void FindObservers();
  void FindExplainers();
  void FindSigners();
  void FindIncrementalForms();

  // Runs what asks the plugin something that it may do without; a throw is counted as its fault.
  template <class Call>
  void Ask(int index, absl::string_view where, const Call& call) {
    plugins_.calls.GuardedVoid(where, Name(index), call);
  }
  void AddError(int index, absl::string_view message);
  Symbol Name(int index) const { return plugins_.instances[index].name; }
  FaultCounter CounterOf(int index) const { return {Name(index), &plugins_.fault_log}; }

  ProfilePlugins& plugins_;
  Problems& problems_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_CAPABILITY_FINDER_H_
