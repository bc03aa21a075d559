// SPDX-License-Identifier: Apache-2.0
// Pods for which nobody could be evicted yet, since claims were still being written.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_PREEMPTORS_AWAITING_WRITES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_PREEMPTORS_AWAITING_WRITES_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "berth/framework/pod_info.h"
#include "berth/mutex.h"

namespace berth {

// A pod on its way to its node gives no device back when it is evicted in a dry run: what its
// claims get is promised, and not written. A preemptor that meets such a pod is noted, by its spec,
// until it is tried again: the write wakes it. Any thread.
class PreemptorsAwaitingWrites {
 public:
  void Note(const PodInfo& preemptor) {
    const MutexLock lock(mutex_);
    specs_.insert(preemptor.shared_spec());
  }
  void Forget(const PodInfo& preemptor) {
    const MutexLock lock(mutex_);
    specs_.erase(preemptor.shared_spec());
  }
  // Nothing is being written.
  void ForgetAll() {
    const MutexLock lock(mutex_);
    specs_.clear();
  }
  bool Has(const PodInfo& preemptor) const {
    const MutexLock lock(mutex_);
    return specs_.contains(preemptor.shared_spec());
  }

 private:
  mutable Mutex mutex_;
  absl::flat_hash_set<std::shared_ptr<const void>> specs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_PREEMPTORS_AWAITING_WRITES_H_
