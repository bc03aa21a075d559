// SPDX-License-Identifier: Apache-2.0
// The pods as they are known now, from the watch and from answers.
#ifndef BERTH_SRC_KUBERNETES_WATCHED_PODS_H_
#define BERTH_SRC_KUBERNETES_WATCHED_PODS_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "berth/api/identity_map.h"
#include "berth/api/packed_pod.h"
#include "berth/cluster.h"
#include "berth/mutex.h"

namespace berth {

// Stands between the watch and its sink, and sees the pods go by. It holds the very states that it
// delivers, so they take no memory of their own. Threads: any.
class WatchedPods final : public WatchSink {
 public:
  // What comes from now on goes to `sink`. Before the first delivery.
  void SetSink(WatchSink& sink) { sink_ = &sink; }

  void Deliver(std::vector<WatchEvent> events) override;
  void DeliverOne(WatchEvent event) override;

  // Null if the watch has not shown it, or not any more.
  std::shared_ptr<const PackedPod> Find(const Identity& pod) const;
  // The answer to a write: the pod is at least as new as this. What the watch shows of it from
  // before that does not count.
  void TakeAnswer(const std::shared_ptr<const PackedPod>& pod);

 private:
  struct Known {
    std::shared_ptr<const PackedPod> pod;
    bool is_answer = false;  // the watch has not caught up with it
  };
  void See(const WatchEvent& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchSink* sink_ = nullptr;
  mutable Mutex mutex_;
  IdentityMap<Known, ByUid> pods_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_WATCHED_PODS_H_
