// SPDX-License-Identifier: Apache-2.0
// One session of a served plugin: the messages of a scheduler's profile, and what the plugin
// answers. What carries them is in plugin_server.cc.
#ifndef BERTH_SRC_REMOTE_PLUGIN_SERVED_SESSION_H_
#define BERTH_SRC_REMOTE_PLUGIN_SERVED_SESSION_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/executor.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/plugin.h"
#include "berth/mutex.h"
#include "berth/remote_plugins.h"
#include "berth/v1/plugin.pb.h"
#include "remote/plugin/served_evaluation.h"
#include "remote/plugin/served_handle.h"

namespace berth {

// A plugin instance, the nodes, and the pods that are under way.
class ServedSession {
 public:
  // `send` is called from any thread, until the session is destroyed.
  ServedSession(const ServedPlugin& served, const v1::Start& start,
                std::function<void(v1::FromPlugin)> send);
  ~ServedSession();

  // Makes the plugin. Before any Handle(). Error: what its factory says.
  absl::Status Begin();
  // Takes in what comes after Start, and sends the answer, if there is one. Error: InvalidArgument;
  // the session ends.
  absl::Status Handle(const v1::ToPlugin& message);

 private:
  // A pod that has been reserved, until it is bound or given back.
  struct PodState {
    std::shared_ptr<const PodInfo> pod;
    CycleState state;
  };

  template <class P>
  P* As() const {
    return dynamic_cast<P*>(plugin_.get());
  }
  void RunLater(std::function<void()> work);
  absl::Status Apply(const v1::Update& update) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Evaluate(const v1::Evaluate& question) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PostFilter(const v1::PostFilter& question) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Call(const v1::PodCall& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The pod with what its PreFilter writes, which the points after it may read.
  std::shared_ptr<PodState> NewState(std::shared_ptr<const PodInfo> pod)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<PodState>> StateOf(const api::Pod& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(const PodInfo& pod) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Permit(uint64_t id, PodState& pod, const std::string& node)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer(uint64_t id, const Status& status, absl::Duration wait = absl::ZeroDuration());

  const ServedPlugin& served_;
  const std::function<void(v1::FromPlugin)> send_;
  ServedNodes nodes_;
  ServedHandle handle_;
  std::unique_ptr<Plugin> plugin_;
  std::unique_ptr<ServedEvaluation> evaluation_;
  Mutex mutex_;
  // By uid. A plugin that serves neither Reserve nor PostBind is not told of a pod's end: when
  // there are many, the older half is forgotten.
  std::map<std::string, std::shared_ptr<PodState>> pods_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<PodState>> older_pods_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Executor> pool_;  // last: its work uses the rest
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_SERVED_SESSION_H_
