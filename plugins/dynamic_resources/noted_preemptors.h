// SPDX-License-Identifier: Apache-2.0
// Pods for which nobody could be evicted yet, though not because of those who could be.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_NOTED_PREEMPTORS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_NOTED_PREEMPTORS_H_

#include <algorithm>
#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "berth/framework/pod_info.h"
#include "berth/mutex.h"

namespace berth {

// A preemptor is noted, by its spec, for which the dry runs of evictions failed by what
// DynamicResources says, whichever plugin had rejected it: so it waits for what changes of devices
// and claims. Any thread.
class NotedPreemptors {
 public:
  void Note(const PodInfo& preemptor) {
    const MutexLock lock(mutex_);
    specs_.insert(preemptor.shared_spec());
    if (specs_.size() <= most_) return;
    absl::erase_if(specs_, [](const auto& spec) { return spec.use_count() == 1; });
    most_ = std::max(kMany, 2 * specs_.size());
  }
  void Forget(const PodInfo& preemptor) {
    const MutexLock lock(mutex_);
    specs_.erase(preemptor.shared_spec());
  }
  bool Has(const PodInfo& preemptor) const {
    const MutexLock lock(mutex_);
    return specs_.contains(preemptor.shared_spec());
  }

 private:
  // So many are noted before those are looked for of which all pods are gone.
  static constexpr size_t kMany = 64;

  mutable Mutex mutex_;
  absl::flat_hash_set<std::shared_ptr<const void>> specs_ ABSL_GUARDED_BY(mutex_);
  size_t most_ ABSL_GUARDED_BY(mutex_) = kMany;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_NOTED_PREEMPTORS_H_
