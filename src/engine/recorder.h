// SPDX-License-Identifier: Apache-2.0
// What is written to the cluster of pods: conditions, events, nominated nodes.
#ifndef BERTH_SRC_ENGINE_RECORDER_H_
#define BERTH_SRC_ENGINE_RECORDER_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/identity_map.h"
#include "berth/cluster.h"
#include "berth/executor.h"
#include "engine/attempt.h"
#include "engine/binder.h"
#include "engine/pending_patches.h"

namespace berth {

// Belongs to the scheduling thread; only patches run on the executor.
class Recorder {
 public:
  // Both outlive this, and what is on the executor.
  Recorder(Cluster& cluster, Executor& executor) : cluster_(cluster), patches_(cluster, executor) {}

  // Writes the pod's condition and event, unless they repeat what was written last.
  void Failed(const PodFailure& failure);
  void Bound(const AssumedPod& placement);
  void Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text);
  void WarnAbout(const Object& object, Symbol scheduler_name, absl::string_view reason,
                 absl::string_view text);
  // The pod's nominated node; empty: it has none any more.
  void PatchNomination(const PodInfo& pod, absl::string_view node_name);
  void Record(RecordedEvent event);

  // The pod is not pending any more: forgets what was said of it, and what was to be said.
  void Forget(const Identity& pod) {
    last_written_.Erase(pod);
    patches_.Drop(pod);
  }

 private:
  Cluster& cluster_;
  PendingPatches patches_;
  // What was written last of each pending pod, so that only what is new is written.
  IdentityMap<std::string, ByUid> last_written_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_RECORDER_H_
