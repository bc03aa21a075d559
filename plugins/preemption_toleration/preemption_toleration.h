// SPDX-License-Identifier: Apache-2.0
// PreemptionToleration: preemption by priority, except that a PriorityClass may protect its pods
// for a time.
#ifndef BERTH_PLUGINS_PREEMPTION_TOLERATION_PREEMPTION_TOLERATION_H_
#define BERTH_PLUGINS_PREEMPTION_TOLERATION_PREEMPTION_TOLERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/incremental/preemption_hints.h"
#include "berth/preemption/held_elsewhere.h"
#include "berth/preemption/preemption.h"
#include "plugins/preemption_toleration/preemption_toleration_args.h"
#include "plugins/preemption_toleration/toleration_policy.h"

namespace berth {

// The rules of DefaultPreemption without the victims that their PriorityClass exempts.
class TolerationRules final : public PriorityPreemptionRules, public PreemptionHints {
 public:
  TolerationRules(const PreemptionTolerationArgs& args, Handle& handle)
      : PriorityPreemptionRules(handle, args.min_candidate_nodes_percentage,
                                args.min_candidate_nodes_absolute),
        handle_(handle) {}

  std::string NoVictimsReason(const NodeInfo* node, const PodInfo& preemptor) const override;
  Status SelectVictims(DryRun& run, const DisruptionBudgets& budgets,
                       PreemptionCandidate& candidate) override;
  Victims PossibleVictims(const CycleState&, const PodInfo&) const override {
    return Victims::kLowerPriority;
  }
  bool FirstVictimHasHighestPriority() const override { return true; }

 protected:
  absl::StatusOr<bool> MayEvict(const NodeInfo& node, const PodInfo& victim,
                                const PodInfo& preemptor) override;
  // Any pod that is being deleted, for whatever reason.
  bool IsVictimLeaving(const NodeInfo& node, const PodInfo& victim,
                       const PodInfo& preemptor) override;

 private:
  struct Protected {
    absl::Time until;
    std::shared_ptr<const PodInfo> pod;
  };
  void NoteWhenItHelps(DryRun& run, std::vector<Protected> pods);
  // Absent: the annotations are wrong and protect nothing. NotFound if there is no such class.
  absl::StatusOr<std::optional<TolerationPolicy>> PolicyOf(const std::string& class_name);

  Handle& handle_;
  std::optional<uint64_t> version_;  // of the PriorityClasses that policies_ was read from
  absl::flat_hash_map<std::string, std::optional<TolerationPolicy>> policies_;
};

// As scheduler-plugins preemptiontoleration.
class PreemptionToleration final : public Plugin, public PostFilterPlugin {
 public:
  static constexpr absl::string_view kName = "PreemptionToleration";
  // Takes PreemptionTolerationArgs.
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  PreemptionToleration(const PreemptionTolerationArgs& args, Handle& handle)
      : rules_(args, handle),
        preemption_(handle),
        possible_victims_(handle.Shared<PossibleVictims>()) {
    possible_victims_->Add(handle.profile_name(), kName, PossibleVictims::AreLessImportant);
  }

  absl::string_view Name() const override { return kName; }
  Status PostFilter(CycleState& state, const PodInfo& pod, const NodeStatuses& statuses,
                    PostFilterResult& result) override;

 private:
  TolerationRules rules_;
  Preemption preemption_;
  const std::shared_ptr<PossibleVictims> possible_victims_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_PREEMPTION_TOLERATION_PREEMPTION_TOLERATION_H_
