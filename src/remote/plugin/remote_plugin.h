// SPDX-License-Identifier: Apache-2.0
// The plugin of a profile that stands for one in another process.
#ifndef BERTH_SRC_REMOTE_PLUGIN_REMOTE_PLUGIN_H_
#define BERTH_SRC_REMOTE_PLUGIN_REMOTE_PLUGIN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "berth/extensions/answered_outside.h"
#include "berth/extensions/observer.h"
#include "berth/extensions/point_choice.h"
#include "berth/framework/bind.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "berth/mutex.h"
#include "remote/plugin/description.h"
#include "remote/plugin/pod_fields.h"
#include "remote/plugin/remote_args.h"
#include "remote/plugin/remote_process.h"
#include "remote/plugin/verdicts.h"

namespace berth {

// The process is asked about all nodes in one call, at the first of PreFilter, Filter and Score.
// Its answer is cached: for the pod's cycle, or, if the plugin signs pods, for all pods of that
// signature; of the nodes that were told again since, it is asked again. So the per-node calls of
// the framework, such as the confirmation of the chosen node, cost no call to the process.
class RemotePlugin : public Plugin,
                     public PointChoice,
                     public SyncObserver,
                     public PreFilterPlugin,
                     public FilterPlugin,
                     public PostFilterPlugin,
                     public ScorePlugin,
                     public ReservePlugin,
                     public PermitPlugin,
                     public AnsweredOutside,
                     public PreBindPlugin,
                     public BindPlugin,
                     public PostBindPlugin,
                     public EnqueueExtensions,
                     public SignPlugin {
 public:
  // What a PluginFactory does, for the plugin of that name. Asks the process who it is, or reads
  // its saved description if it cannot be reached.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(absl::string_view name,
                                                        const PluginArgs& args, Handle& handle);
  // The same without a process: it may be enabled at all points, and says nothing. To check the
  // rest of a configuration.
  static std::unique_ptr<Plugin> CreateUnasked(absl::string_view name, const PluginArgs& args,
                                               Handle& handle);

  absl::string_view Name() const override { return name_; }
  // PreFilter is also where Filter learns that a cycle begins.
  bool Serves(ExtensionPoint point) const override;
  std::string WhyNot(ExtensionPoint point) const override;
  // Connects, and waits until the process knows the nodes, at most as long as startTimeout.
  void OnSynced() override;

  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult& result) override;
  Status Filter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override;
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result) override;
  absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  Status Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  void Unreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  Status Permit(CycleState& state, const PodInfo& pod, absl::string_view node_name,
                absl::Duration& timeout) override;
  Status PreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  Status Bind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;
  void PostBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return description_.events;
  }
  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  Aspects DependsOn() const override;

 protected:
  RemotePlugin(std::string name, RemotePluginArgs args, RemoteDescription description,
               PointMask points, Handle& handle);

  const RemoteDescription& description() const { return description_; }

 private:
  using VerdictsPtr = std::shared_ptr<const Verdicts>;
  struct CycleVerdicts;  // of one pod and cycle

  static v1::Start MakeStart(absl::string_view name, const RemotePluginArgs& args, PointMask points,
                             const Handle& handle);
  RemoteProcess::Options ProcessOptions();

  // --- The scheduling thread; mutex_ keeps room for parallel calls ---

  // What the process says of the pod, good for these rows. Null if it has failed: then `failure` is
  // what the point returns.
  VerdictsPtr VerdictsFor(const CycleState& state, const PodInfo& pod,
                          absl::Span<const NodeRow> rows, absl::string_view point,
                          Status& failure) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same of one node, which may be another than the snapshot's; sets the index of the node in
  // it.
  VerdictsPtr VerdictsOf(const CycleState& state, const PodInfo& pod, const NodeInfo& node,
                         absl::string_view point, uint32_t& index, Status& failure) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<VerdictsPtr> Find(const CycleState& state, const PodInfo& pod,
                                   absl::Span<const NodeRow> rows) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<VerdictsPtr> FindOf(const CycleState& state, const PodInfo& pod,
                                     const NodeInfo& node, uint32_t& index) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<VerdictsPtr> Ask(const PodInfo& pod) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsGoodFor(const Verdicts& verdicts, absl::Span<const NodeRow> rows) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberRejected(const PodInfo& pod) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Counts a failure of the process at that point. Returns what becomes of it: `error`, or, if
  // failures are ignored, `if_ignored`.
  Status Failed(absl::string_view point, Status error, Status if_ignored = Status::Success()) const;
  // The same of PreFilter or Filter: if it is ignored, the plugin takes no part in the rest of the
  // pod's cycle, and nothing of it is remembered.
  Status FailedInCycle(const CycleState& state, absl::string_view point, Status error) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same of Score: verdicts hold.
  absl::Status ScoreFailed(Status error) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Fault(const absl::Status& status) const;  // an Error that names plugin and address
  int64_t HighestScore() const;                    // that it may answer
  // Success if the score may be one. Scores of nodes that were not asked for do not count.
  Status CheckScore(int64_t score, Symbol node) const;

  // --- From other threads, by Handle::Post ---
  void OnInvalidate();
  void OnDown(const std::string& why);
  void OnMessage(const v1::FromPlugin& message);

  // The Status of a call; what the code says must be among `codes` besides Success and Error.
  Status StatusOfCall(absl::string_view point, const absl::StatusOr<v1::CallResult>& result,
                      uint32_t codes, Status if_ignored = Status::Success()) const;

  const std::string name_;
  const RemotePluginArgs args_;
  const RemoteDescription description_;
  const PointMask points_;
  Handle& handle_;
  const StateKey<CycleVerdicts> cycle_key_;
  Counter& failures_;

  mutable Mutex mutex_;
  mutable PodFieldSigner signer_ ABSL_GUARDED_BY(mutex_);
  // By signature, of one generation of the process: what was said before a fault, or Invalidate, is
  // not used again.
  mutable absl::flat_hash_map<std::string, VerdictsPtr> cached_ ABSL_GUARDED_BY(mutex_);
  mutable int64_t cached_of_ ABSL_GUARDED_BY(mutex_) = 0;
  // Pods that the plugin rejected nodes for, by uid, to be tried again after Invalidate.
  mutable absl::flat_hash_map<std::string, std::shared_ptr<const PackedPod>> rejected_
      ABSL_GUARDED_BY(mutex_);
  // Last: its threads call the rest. Its calls for pods that have a node need no lock.
  mutable RemoteProcess process_;
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_REMOTE_PLUGIN_H_
