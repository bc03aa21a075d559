// SPDX-License-Identifier: Apache-2.0
// Evictions on their way: pods that are asked to go, until the cluster has answered.
#ifndef BERTH_SRC_ENGINE_EVICTIONS_H_
#define BERTH_SRC_ENGINE_EVICTIONS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/cluster.h"
#include "berth/executor.h"
#include "berth/framework/pod_info.h"

namespace berth {

// As kube-scheduler v1.35 framework/preemption prepareCandidateAsync: all victims but the last are
// evicted at once, the last one when the cluster has answered for the others, so that a preemptor
// that a victim's end requeues is requeued when everything is under way. Belongs to the scheduling
// thread; only the calls to the cluster run on the executor.
class Evictions {
 public:
  // What the engine does about the answers.
  class Listener {
   public:
    virtual ~Listener() = default;
    // The cluster refused: this victim stays.
    virtual void OnEvictionRefused(absl::string_view victim_uid) = 0;
    // Everything is answered; `all_go`: no victim was refused.
    virtual void OnEvictionsAnswered(const std::shared_ptr<const PodInfo>& preemptor,
                                     bool all_go) = 0;
  };

  // `post` brings work back to the scheduling thread, from any thread. Everything outlives this.
  Evictions(Executor& executor, std::function<void(std::function<void()>)> post, Listener& listener)
      : executor_(executor), post_(std::move(post)), listener_(listener) {}

  struct Victim {
    std::string message;  // of its DisruptionTarget condition
    RecordedEvent event;  // recorded once it is asked to go; names the pod
  };
  // `victims`: at least one.
  void Start(Cluster& cluster, std::shared_ptr<const PodInfo> preemptor,
             std::vector<Victim> victims);

  // Whether victims of this pod have not been answered yet.
  bool IsPreempting(absl::string_view preemptor_uid) const {
    return !under_way_.empty() && under_way_.contains(preemptor_uid);
  }
  bool idle() const { return under_way_.empty(); }

 private:
  struct Preemption {
    std::shared_ptr<const PodInfo> preemptor;
    std::vector<Victim> last;  // to be asked when the others are answered
    int unanswered = 0;
    bool all_go = true;
  };

  void Ask(Cluster& cluster, Preemption& preemption, Victim victim);
  void Answered(Cluster& cluster, const std::string& preemptor_uid, const std::string& victim_uid,
                bool goes);

  Executor& executor_;
  const std::function<void(std::function<void()>)> post_;
  Listener& listener_;
  absl::flat_hash_map<std::string, Preemption> under_way_;  // by the preemptor's uid
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_EVICTIONS_H_
