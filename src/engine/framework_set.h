// SPDX-License-Identifier: Apache-2.0
// The profiles of a configuration, built over one cluster.
#ifndef BERTH_SRC_ENGINE_FRAMEWORK_SET_H_
#define BERTH_SRC_ENGINE_FRAMEWORK_SET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/clock.h"
#include "berth/configuration.h"
#include "berth/handle/counter.h"
#include "berth/scheduler.h"
#include "engine/profile_handle.h"
#include "framework/framework.h"

namespace berth {

// A Framework for each profile. Scheduling thread.
class FrameworkSet {
 public:
  // Builds every profile; all problems are collected, and null is returned if there are any. All
  // profiles must sort the queue with the same plugin and arguments. Everything given but
  // `extenders` must outlive the profiles; `services` may be null.
  static std::unique_ptr<FrameworkSet> Create(const KubeSchedulerConfiguration& configuration,
                                              const Registry& registry, const ClusterState& cluster,
                                              const Clock& clock, RandomSequence& random,
                                              SchedulerServices* services, Problems& problems,
                                              const ExtenderList& extenders = {});

  // What only the plugins themselves can refuse: builds the profiles over an empty cluster.
  static void Check(const KubeSchedulerConfiguration& configuration, const Registry& registry,
                    Problems& problems);

  // The profile of that schedulerName, or null.
  const Framework* Find(Symbol scheduler_name) const;
  // In the order of the configuration; never empty.
  const std::vector<const Framework*>& all() const { return all_; }

  // What the plugins look at, pods and nodes included, in the order of Kind.
  std::vector<Kind> watched_kinds() const;

  // What went wrong with plugins, of all profiles, by plugin and point.
  std::vector<PluginTrouble> troubles() const;
  // Any thread.
  std::map<std::string, int64_t> plugin_counters() const { return counters_->values(); }
  CounterSet& counters() const { return *counters_; }

 private:
  struct Entry {
    std::unique_ptr<ProfileHandle> handle;
    std::unique_ptr<Framework> framework;
  };
  std::unique_ptr<SharedObjects> shared_ = std::make_unique<SharedObjects>();
  std::unique_ptr<const ExtenderList> extenders_;
  std::unique_ptr<CounterSet> counters_ = std::make_unique<CounterSet>();
  std::vector<Entry> entries_;
  std::vector<const Framework*> all_;
  absl::flat_hash_map<Symbol, const Framework*> by_name_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_FRAMEWORK_SET_H_
