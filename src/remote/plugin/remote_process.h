// SPDX-License-Identifier: Apache-2.0
// The process of a remote plugin as the plugin asks it: with the nodes told before each question,
// and a session that ends when an answer makes no sense.
#ifndef BERTH_SRC_REMOTE_PLUGIN_REMOTE_PROCESS_H_
#define BERTH_SRC_REMOTE_PLUGIN_REMOTE_PROCESS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/postfilter.h"
#include "berth/handle/counter.h"
#include "berth/mutex.h"
#include "remote/plugin/description.h"
#include "remote/plugin/node_mirror.h"
#include "remote/plugin/remote_args.h"
#include "remote/plugin/session.h"
#include "remote/plugin/verdicts.h"

namespace berth {

// Threads: one at a time, but for Call() and Tell(), which are for any.
class RemoteProcess {
 public:
  struct Options {
    RemotePluginArgs args;
    v1::Start start;
    absl::Duration start_wait;  // for the process, the first time
    // Both on threads of this.
    std::function<void()> on_up;
    std::function<void(absl::string_view why)> on_down;
    std::function<void(const v1::FromPlugin&)> on_message;  // that is no answer
  };
  // `description` and `questions`, which counts, outlive it. Connects when it is first asked.
  RemoteProcess(Options options, const RemoteDescription& description, Counter& questions);
  // Nothing of `options` is called any more when it returns.
  ~RemoteProcess();

  // Whether it can be asked: it is connected, and knows the nodes as they are in `nodes`. Waits for
  // that the first time, at most as long as startTimeout. The other calls need it right before.
  absl::Status Ready(const NodeTable& nodes);

  // Grows when what was said so far is not to be used again: another process may be there, or this
  // one was at fault.
  int64_t generation() const { return generation_; }
  void Forget() { ++generation_; }

  // PreFilter, Filter and Score of the pod for all nodes.
  absl::StatusOr<Verdicts> Evaluate(const PodInfo& pod, PointMask points);
  // The same for `node`, a state of the node of that index; the verdict is that of index 0.
  absl::StatusOr<Verdicts> EvaluateOn(const PodInfo& pod, PointMask points, uint32_t index,
                                      const NodeInfo& node);
  // What to do about a pod that fits nowhere. An error is not the process's verdict, but a fault.
  absl::StatusOr<Status> PostFilter(const PodInfo& pod, const NodeStatuses& statuses,
                                    const NodeTable& nodes, PostFilterResult& result);

  // What it was told, as of Ready().
  const NodeMirror& nodes() const { return mirror_; }

  // A point of a pod that has a node.
  absl::StatusOr<v1::CallResult> Call(v1::PodPoint point, const PodInfo& pod,
                                      absl::string_view node_name, absl::Duration deadline);
  // The same without an answer. One that is not connected is not told: it learns from the pods on
  // the nodes what holds.
  void Tell(v1::PodPoint point, const PodInfo& pod, absl::string_view node_name);

 private:
  SessionKeeper& Keeper();
  absl::StatusOr<Verdicts> Ask(const PodInfo& pod, PointMask points,
                               const v1::HypotheticalNode* hypothetical);
  // Ends the session: its peer is at fault.
  absl::Status Fault(const absl::Status& status);

  const Options options_;
  const RemoteDescription& description_;
  Counter& questions_;
  NodeMirror mirror_;
  std::shared_ptr<Session> session_;  // the latest; may be broken
  uint64_t session_id_ = 0;           // that the mirror is of
  bool knows_nodes_ = false;
  bool waited_ = false;  // for a process that is not there at the start
  absl::Time told_since_ = absl::InfinitePast();
  int64_t generation_ = 0;
  // Last: its threads call the rest.
  Mutex keeper_mutex_;
  std::unique_ptr<SessionKeeper> keeper_ ABSL_GUARDED_BY(keeper_mutex_);
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_REMOTE_PROCESS_H_
