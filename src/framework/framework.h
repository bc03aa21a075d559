// SPDX-License-Identifier: Apache-2.0
// One profile at work: its plugin instances in order, and upstream's exact rules for running each
// extension point. As kube-scheduler v1.35 framework/runtime.
#ifndef BERTH_SRC_FRAMEWORK_FRAMEWORK_H_
#define BERTH_SRC_FRAMEWORK_FRAMEWORK_H_

#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/postfilter.h"
#include "framework/binding_runner.h"
#include "framework/extender_runner.h"
#include "framework/fault_log.h"
#include "framework/filter_runner.h"
#include "framework/nomination_filter.h"
#include "framework/plugin_reports.h"
#include "framework/pod_signer.h"
#include "framework/profile_plugins.h"
#include "framework/score_runner.h"
#include "framework/verdict_dependencies.h"

namespace berth {

// Holds the plugins and the parts that run them, one part for each phase of a pod's way; what needs
// no part of its own it runs itself. Belongs to the scheduling thread, except RunPreBind, RunBind
// and RunPostBind of binding_points(), which the binding executor runs, and fault_log(). A plugin
// that throws or returns a code that the point does not know becomes an Error status with the
// plugin's name, and is counted (fault_log()).
class Framework {
 public:
  // Instantiates the profile's plugins and expands multiPoint. All problems, each with plugin and
  // place in the configuration, go to `problems`; null is returned if there are any.
  static std::unique_ptr<Framework> Create(const Profile& profile, const Registry& registry,
                                           Handle& handle, Problems& problems);
  explicit Framework(std::unique_ptr<const ProfilePlugins> plugins);

  const Profile& profile() const { return plugins_->profile; }
  const ProfilePlugins& plugins() const { return *plugins_; }
  // What went wrong so far. Threads: any.
  FaultLog& fault_log() const { return plugins_->fault_log; }
  // How long extension points take.
  PointMetrics& point_metrics() const { return plugins_->point_metrics; }

  // PreFilter with AddPod and RemovePod, and Filter as if no pod were nominated anywhere.
  const FilterRunner& filters() const { return filters_; }
  // Filter with regard to nominated pods: what decides where a pod may run.
  const NominationFilter& nomination_filter() const { return nomination_filter_; }
  // PreScore, Score and NormalizeScores.
  const ScoreRunner& scores() const { return scores_; }
  // What comes after the plugins.
  const ExtenderRunner& extenders() const { return extenders_; }
  // Reserve, Permit, PreBind, Bind and PostBind.
  const BindingRunner& binding_points() const { return binding_points_; }
  // What verdicts depend on, and which pods have them in common.
  const VerdictDependencies& dependencies() const { return dependencies_; }
  const PodSigner& signer() const { return signer_; }
  // What plugins say to people.
  const PluginReports& reports() const { return reports_; }

  // `first`, if not empty, is asked before the others: the plugin that gated the pod the last time.
  Status RunPreEnqueue(const PodInfo& pod, Symbol first = Symbol()) const;
  Status RunPostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                       PostFilterResult& result) const;

  // Runs what a plugin put off: `what` is "Timer" or "Post".
  void RunDeferred(absl::string_view what, absl::string_view plugin,
                   const std::function<void()>& work) const;
  void RunOnSynced() const;
  void RunBeforeJournalOverflow() const;

 private:
  const std::unique_ptr<const ProfilePlugins> plugins_;
  const PodSigner signer_{*plugins_};
  const VerdictDependencies dependencies_{*plugins_, signer_};
  const FilterRunner filters_{*plugins_};
  const NominationFilter nomination_filter_{*plugins_, filters_, dependencies_, signer_};
  const ScoreRunner scores_{*plugins_};
  const ExtenderRunner extenders_{*plugins_};
  const BindingRunner binding_points_{*plugins_, extenders_};
  const PluginReports reports_{*plugins_};
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FRAMEWORK_H_
