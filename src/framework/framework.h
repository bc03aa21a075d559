// SPDX-License-Identifier: Apache-2.0
// One profile at work: its plugin instances in order, and upstream's exact rules for running each
// extension point. As kube-scheduler v1.35 framework/runtime.
#ifndef BERTH_SRC_FRAMEWORK_FRAMEWORK_H_
#define BERTH_SRC_FRAMEWORK_FRAMEWORK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/bind.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/explain.h"
#include "berth/framework/filter.h"
#include "berth/framework/group.h"
#include "berth/framework/handle.h"
#include "berth/framework/observer.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/profile.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/registry.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/framework/usage.h"
#include "berth/framework/waiting.h"
#include "berth/incremental/domain_filter.h"
#include "berth/incremental/domain_scorer.h"
#include "berth/incremental/filter_inputs.h"
#include "berth/incremental/sign.h"
#include "framework/dry_run_inputs.h"
#include "framework/fault_log.h"
#include "framework/hook.h"
#include "framework/nominated_rows.h"
#include "framework/plugin_calls.h"
#include "framework/pod_signer.h"

namespace berth {

// The outcome of all PreFilter plugins together.
struct PreFilterOutcome {
  Status status;  // the rejection or error if not Success
  // The nodes left, if any plugin narrowed them, and the reason for the others.
  PreFilterResult narrowed;
  Status left_out;  // UnschedulableAndUnresolvable "node(s) didn't satisfy plugin(s) [..]"
  // The plugins that narrowed the nodes, by name: they share the blame if no node is left.
  std::vector<Symbol> narrowing_plugins;
};

// Scores of one plugin over the feasible rows.
struct PluginScores {
  Symbol plugin;
  std::vector<int64_t> weighted;  // normalised * weight, in steps as the totals, by position
};

struct PermitOutcome {
  Status status;  // Success, Wait, or the rejection or error
  struct Wait {
    Symbol plugin;
    absl::Duration timeout;  // positive, at most kMaxPermitTimeout
    absl::Duration asked;    // what the plugin asked for
  };
  std::vector<Wait> waits;  // one for each plugin that said Wait
};

// What one plugin notes about a node.
struct PluginNotes {
  Symbol plugin;
  std::vector<NodeNote> notes;  // at least one
};

// Belongs to the scheduling thread, except RunPreBind, RunBind and RunPostBind, which the binding
// executor runs, and fault_log(). A plugin that throws or returns a code that the point does
// not know becomes an Error status with the plugin's name, and is counted (fault_log()).
class Framework {
 public:
  ~Framework();

  // Instantiates the profile's plugins and expands multiPoint. All problems, each with plugin and
  // place in the configuration, go to `problems`; null is returned if there are any.
  static std::unique_ptr<Framework> Create(const Profile& profile, const Registry& registry,
                                           Handle& handle, Problems& problems);

  const Profile& profile() const { return profile_; }
  // The arguments the plugin runs with, defaults included.
  const PluginArgs& args(absl::string_view plugin) const;

  absl::Span<const Hook<PreEnqueuePlugin>> pre_enqueue() const { return pre_enqueue_; }
  QueueSortPlugin& queue_sort() const { return *queue_sort_.front().plugin; }
  Symbol queue_sort_name() const { return queue_sort_.front().name; }
  absl::Span<const Hook<PreFilterPlugin>> pre_filter() const { return pre_filter_; }
  absl::Span<const Hook<FilterPlugin>> filter() const { return filter_; }
  // The position of `plugin` in filter(), or NodeVerdicts::kNotJudged.
  uint8_t FilterIndex(Symbol plugin) const;
  absl::Span<const Hook<PostFilterPlugin>> post_filter() const { return post_filter_; }
  absl::Span<const Hook<ScorePlugin>> score() const { return score_; }
  // Steps a point of RunScore()'s totals: the finest ScoreResolution() of the score plugins.
  int64_t score_resolution() const { return score_resolution_; }
  absl::Span<const Hook<PermitPlugin>> permit() const { return permit_; }
  // Enabled names at a point, in order.
  std::vector<std::string> PluginNames(ExtensionPoint point) const;
  // The plugin that defines groups, or null. As queue_sort() and observers(), a guard in front of
  // the plugin: it catches what the plugin throws.
  GroupPlugin* group_plugin() const { return group_plugin_; }
  Symbol group_plugin_name() const { return group_plugin_name_; }
  absl::Span<AssignmentObserver* const> observers() const { return observers_; }
  // Runs what a plugin put off: `what` is "Timer" or "Post".
  void RunDeferred(absl::string_view what, absl::string_view plugin,
                   const std::function<void()>& work) const;
  void RunOnSynced() const;
  void RunBeforeJournalOverflow() const;

  // What each plugin that can reject registered; a plugin without EnqueueExtensions has one entry
  // that matches everything.
  struct PluginEvents {
    Symbol plugin;
    std::vector<ClusterEventWithHint> events;
    bool hints_read_spec_only = false;  // EnqueueExtensions::HintsReadSpecOnly()
  };
  absl::Span<const PluginEvents> events() const { return events_; }

  // `first`, if not empty, is asked before the others: the plugin that gated the pod the last time.
  Status RunPreEnqueue(const PodInfo& pod, Symbol first = Symbol()) const;
  // A rejection has the plugin's name, except when several plugins together left no node: then it
  // has none, and narrowing_plugins are to blame.
  // Plugins outside `only` count as if they had said Skip.
  PreFilterOutcome RunPreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                PluginMask only = kAllPlugins) const;
  Status RunPreFilterAddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                            const NodeInfo& node) const;
  Status RunPreFilterRemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                               const NodeInfo& node) const;
  // The per-node form, all Filter plugins in order on one node.
  Status RunFilter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const;
  // Twice where pods of at least equal priority are nominated to the node: with them and without.
  Status RunFilterWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) const;
  // The batch form on `rows`: afterwards verdicts.code(row) and rejector(row) are set for them. A
  // row with relevant nominated pods is judged by RunFilterWithNominatedPods, the others by the
  // plugins in `only`. Returns Success, or the Error that ends the cycle.
  Status RunFilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                        absl::Span<const NodeRow> rows, NodeVerdicts& verdicts,
                        PluginMask only = kAllPlugins) const;
  // The rows that pods are nominated to, in no order. Valid until the next call.
  absl::Span<const NodeRow> RowsWithNominatedPods(const NodeTable& nodes) const {
    with_nominated_pods_.Follow(nodes, handle_->nominator());
    return with_nominated_pods_.rows();
  }
  // Parts `rows` into those where pods are nominated that `pod` has to yield to, and the others.
  // Valid until the next call.
  struct RowsByNomination {
    absl::Span<const NodeRow> with_nominations, others;
  };
  RowsByNomination SplitByNomination(const PodInfo& pod, const NodeTable& nodes,
                                     absl::Span<const NodeRow> rows) const;
  // The batch form as if no pod were nominated anywhere.
  Status RunPlainFilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                             absl::Span<const NodeRow> rows, NodeVerdicts& verdicts,
                             PluginMask only = kAllPlugins) const;
  Status RunPostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                       PostFilterResult& result) const;
  // Plugins outside `only` count as if they had said Skip.
  Status RunPreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     absl::Span<const NodeRow> feasible, PluginMask only = kAllPlugins) const;
  // The same without feasible rows, if all of these plugins go by topology domains; SetFeasible()
  // names the rows afterwards. False if one of them does not, or fails: then nothing follows.
  bool RunPreScoreDomains(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          PluginMask only, std::vector<DomainSum>& sums) const;
  bool SetFeasible(CycleState& state, const EquivalentNodes& feasible) const;
  // totals[i] is the weighted total of rows[i], in steps of 1/score_resolution() point;
  // `by_plugin`, if not null, gets every plugin's share.
  Status RunScore(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, absl::Span<int64_t> totals,
                  std::vector<PluginScores>* by_plugin) const;
  // The two halves of it for one plugin: raw scores of `rows`, and what makes points of them, to be
  // multiplied with ScoreFactor(). A score that is out of range afterwards is an Error.
  Status RunScorePlugin(const Hook<ScorePlugin>& hook, const CycleState& state, const PodInfo& pod,
                        const NodeTable& nodes, absl::Span<const NodeRow> rows,
                        absl::Span<int64_t> raw) const;
  Status RunNormalizeScores(const Hook<ScorePlugin>& hook, const CycleState& state,
                            const PodInfo& pod, absl::Span<const NodeRow> rows,
                            absl::Span<int64_t> scores) const;
  // Error if one of a plugin's points is out of range.
  Status CheckScores(const Hook<ScorePlugin>& hook, absl::Span<const int64_t> scores) const;
  int64_t ScoreFactor(const Hook<ScorePlugin>& hook) const {
    return hook.weight * (score_resolution_ / hook.resolution);
  }
  // The notes of every plugin that has any, in the order of the profile.
  std::vector<PluginNotes> RunExplainNode(const CycleState& state, const PodInfo& pod,
                                          const NodeInfo& node) const;
  Status RunReserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  void RunUnreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  PermitOutcome RunPermit(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  // Skip if no PreBind plugin has anything to do.
  Status RunPreBindPreFlight(CycleState& state, const PodInfo& pod,
                             absl::string_view node_name) const;
  Status RunPreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  Status RunBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;
  void RunPostBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) const;

  // The signature over every Filter and Score plugin. Unschedulable, with the plugin that does not
  // sign, if pods like it must be judged one by one.
  Status SignPod(const PodInfo& pod, PodSignature& signature) const {
    return signer_.Sign(pod, signature);
  }
  // The signature over those of them that look at one node at a time, and which they are: their
  // verdict on a node holds for every pod of this signature until the node changes.
  PluginMask SignForNodes(const PodInfo& pod, PodSignature& signature) const {
    return signer_.SignForNodes(pod, signature);
  }
  // The part of it that pods do not have in common that PodInfo::SharesSpec().
  PluginMask SignForNodesExceptSpec(const PodInfo& pod, PodSignature& signature) const {
    return signer_.SignForNodes(pod, false, signature);
  }
  // What the verdicts of the Filter plugins beyond `known` that `state` does not skip go by. False
  // if one of them cannot say.
  struct PluginInputs {
    uint8_t filter;  // index in filter()
    FilterInputs basis;
    friend bool operator==(const PluginInputs&, const PluginInputs&) = default;
  };
  struct RejectionInputs {
    std::vector<DomainVerdictRule> domains;
    std::vector<PluginInputs> objects;  // in the order of filter()
    bool empty() const { return domains.empty() && objects.empty(); }
  };
  bool FindRejectionInputs(const CycleState& state, const PodInfo& pod, PluginMask known,
                           RejectionInputs& grounds) const;
  // The Filter plugins that go by objects, and by nothing else that is beyond the node.
  PluginMask ObjectFilters() const { return all_object_filters_; }
  // What the verdicts of those among `plugins`, all of them ObjectFilters(), go by that `state`
  // does not skip. False if one of them fails.
  bool FindFilterInputs(const CycleState& state, const PodInfo& pod, PluginMask plugins,
                        std::vector<PluginInputs>& bases) const;
  // The same of all of them, for dry runs.
  bool FindDryRunInputs(const CycleState& state, const PodInfo& pod, DryRunInputs& grounds) const;
  // DryRunInputsSource::FindNeededResources().
  std::optional<ResourceNeed> FindNeededResources(const CycleState& state,
                                                  const PodInfo& pod) const;
  // What the verdicts and scores of `plugins` depend on.
  Aspects DependenciesOf(PluginMask plugins) const { return signer_.DependenciesOf(plugins); }
  // The same of the verdicts of those that have a Filter.
  Aspects FilterDependenciesOf(PluginMask plugins) const;
  // The plugins that have a say after a node is chosen, from Reserve to PostBind: they may read
  // what their PreFilter left in the pod's state.
  PluginMask PlacementPlugins() const;

  // What the plugin of that name has to say about a rejection of its own: fills in plugin, detail,
  // reason, what the plugin adds, and the events it waits for. Scheduling thread.
  void ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable& nodes,
                      WaitingFor& waiting) const;

  // What its plugins report of resources that they give away in parts. Scheduling thread.
  std::vector<ResourceUsage> RunUsage(const NodeTable& nodes) const;

  // What went wrong so far. Threads: any.
  FaultLog& fault_log() const { return fault_log_; }
  int64_t plugin_faults() const { return fault_log_.faults(); }

 private:
  friend class FrameworkBuilder;
  Framework();

  using PodList = absl::InlinedVector<std::shared_ptr<const PodInfo>, 2>;
  struct NominatedNode;
  const NodeInfo& WithNominatedPods(const NodeInfo& node, PodList nominated) const;
  Status RunFilterWith(const PodList& nominated, const CycleState& state, const PodInfo& pod,
                       const NodeInfo& node) const;
  Status FilterRowsWithNominations(const CycleState& state, const PodInfo& pod,
                                   const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                   NodeVerdicts& verdicts) const;
  Status Normalize(const Hook<ScorePlugin>& hook, const CycleState& state, const PodInfo& pod,
                   absl::Span<const NodeRow> rows, absl::Span<int64_t> scores) const;
  Status CheckCodes(absl::Span<const NodeRow> rows, const NodeVerdicts& verdicts) const;

  mutable FaultLog fault_log_;
  const PluginCalls calls_{fault_log_};
  PodSigner signer_{calls_};
  Profile profile_;
  Handle* handle_ = nullptr;
  std::vector<std::unique_ptr<Plugin>> plugins_;  // by index
  std::vector<PluginArgs> args_;                  // by index
  std::vector<Hook<PreEnqueuePlugin>> pre_enqueue_;
  std::vector<Hook<QueueSortPlugin>> queue_sort_;
  std::vector<Hook<PreFilterPlugin>> pre_filter_;
  std::vector<Hook<PreFilterExtensions>> pre_filter_extensions_;
  std::vector<Hook<FilterPlugin>> filter_;
  std::vector<Hook<PostFilterPlugin>> post_filter_;
  std::vector<Hook<PreScorePlugin>> pre_score_;
  std::vector<DomainScorer*> domain_scorers_;  // as pre_score_; null if it is none
  std::vector<Hook<ScorePlugin>> score_;
  int64_t score_resolution_ = 1;
  std::vector<Hook<ReservePlugin>> reserve_;
  std::vector<Hook<PermitPlugin>> permit_;
  std::vector<Hook<PreBindPlugin>> pre_bind_;
  std::vector<Hook<BindPlugin>> bind_;
  std::vector<Hook<PostBindPlugin>> post_bind_;
  std::vector<Hook<const ExplainPlugin>> explain_;
  GroupPlugin* group_plugin_ = nullptr;
  Symbol group_plugin_name_;
  std::vector<AssignmentObserver*> observers_;
  std::vector<Hook<SyncObserver>> sync_observers_;
  std::vector<PluginEvents> events_;
  std::vector<Hook<const WaitingExplainer>> explainers_;
  std::vector<Hook<UsageReporter>> usage_reporters_;
  // As filter_; null if it is none.
  std::vector<const DomainFilter*> domain_filters_;
  std::vector<const ObjectFilter*> object_filters_;
  PluginMask all_object_filters_ = 0;  // ObjectFilters()
  std::vector<const ResourceFilter*> room_filters_;
  // What the plugin of that index in filter_, an ObjectFilter, says.
  Status AddInputs(size_t filter, const CycleState& state, const PodInfo& pod,
                   FilterInputs& basis) const;
  Status AddInputs(size_t filter, const CycleState& state, const PodInfo& pod,
                   std::vector<PluginInputs>& bases) const;

  // The guards that the pointers above lead to.
  std::unique_ptr<QueueSortPlugin> queue_sort_guard_;
  std::unique_ptr<GroupPlugin> group_guard_;
  std::vector<std::unique_ptr<AssignmentObserver>> observer_guards_;

  mutable NominatedRows with_nominated_pods_;
  // Scratch of one call, kept so that a cycle allocates nothing. Scheduling thread.
  mutable std::vector<NodeRow> rows_with_nominations_,
      rows_without_nominations_;                                         // SplitByNomination()
  mutable std::vector<std::unique_ptr<NominatedNode>> nominated_nodes_;  // by the node's name
  mutable std::vector<int64_t> scores_;  // of one plugin, by position in the rows
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FRAMEWORK_H_
