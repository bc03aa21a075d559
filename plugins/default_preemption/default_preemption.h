// SPDX-License-Identifier: Apache-2.0
// DefaultPreemption: makes room for a pod by evicting pods of lower priority.
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_DEFAULT_PREEMPTION_H_
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_DEFAULT_PREEMPTION_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/extensions/post_filter_bound.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/queue_sort.h"
#include "berth/incremental/preemption_hints.h"
#include "berth/preemption/held_elsewhere.h"
#include "berth/preemption/preemption.h"
#include "plugins/default_preemption/default_preemption_args.h"

namespace berth {

class DefaultPreemptionRules final : public PriorityPreemptionRules, public PreemptionHints {
 public:
  using PriorityPreemptionRules::PriorityPreemptionRules;

  Victims PossibleVictims(const CycleState&, const PodInfo&) const override {
    return Victims::kAllLowerPriority;
  }
  bool FirstVictimHasHighestPriority() const override { return true; }
};

// As kube-scheduler v1.35 defaultpreemption. To change which pods may go or which node is chosen,
// write a PostFilter plugin of your own over PriorityPreemptionRules.
class DefaultPreemption final : public Plugin,
                                public PostFilterPlugin,
                                public PostFilterBound,
                                public PreEnqueuePlugin,
                                public EnqueueExtensions,
                                public ExplainsWaitingAs<WaitingReason::kWaitingForVictims> {
 public:
  static constexpr absl::string_view kName = "DefaultPreemption";
  // Takes DefaultPreemptionArgs.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  DefaultPreemption(const DefaultPreemptionArgs& args, Handle& handle)
      : handle_(handle),
        rules_(handle, args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute),
        preemption_(handle),
        possible_victims_(handle.Shared<PossibleVictims>()) {
    possible_victims_->Add(handle.profile_name(), kName, PossibleVictims::AreLessImportant);
  }

  absl::string_view Name() const override { return kName; }
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result) override;
  bool MayHelp(const PodInfo& pod) override { return preemption_.AnyLowerPriority(pod); }
  bool FreesLowerPriorityOnly(const PodInfo& pod) override {
    return !preemption_.ExtendersMayChoose(pod);
  }

  // Holds a preemptor back while the evictions it needs are being sent.
  Status PreEnqueue(const PodInfo& pod) override;
  // None: the plugin that rejected the pod on its nodes decides when to try again, and the gate is
  // asked again when the evictions were sent (Handle::IsPreempting), not whenever a pod is deleted.
  std::vector<ClusterEventWithHint> EventsToRegister() const override { return {}; }
  bool HintsReadSpecOnly() const override { return true; }

 private:
  Handle& handle_;
  DefaultPreemptionRules rules_;
  Preemption preemption_;
  const std::shared_ptr<PossibleVictims> possible_victims_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DEFAULT_PREEMPTION_DEFAULT_PREEMPTION_H_
