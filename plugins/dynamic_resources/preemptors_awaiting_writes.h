// SPDX-License-Identifier: Apache-2.0
// Pods for which nobody could be evicted yet: what claims say was still to change.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_PREEMPTORS_AWAITING_WRITES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_PREEMPTORS_AWAITING_WRITES_H_

#include <algorithm>
#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "berth/framework/pod_info.h"
#include "berth/mutex.h"

namespace berth {

// A pod may give no device back when it is evicted in a dry run, and yet do so later. If it is on
// its way to its node, what its claims get is promised, and not written. If others have its claim
// reserved, they may leave it: or have left, and the controller of claims has not said so yet. A
// preemptor that meets such a pod is noted, by its spec, until it is tried again: what is written
// to a claim wakes it. Any thread.
class PreemptorsAwaitingWrites {
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

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_PREEMPTORS_AWAITING_WRITES_H_
