// SPDX-License-Identifier: Apache-2.0
// What the verdicts of a profile's Filter plugins depend on, so that they need not be asked again.
#ifndef BERTH_SRC_FRAMEWORK_VERDICT_DEPENDENCIES_H_
#define BERTH_SRC_FRAMEWORK_VERDICT_DEPENDENCIES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/framework/cycle_state.h"
#include "berth/incremental/domain_filter.h"
#include "berth/incremental/filter_inputs.h"
#include "framework/hook.h"
#include "framework/pod_signer.h"
#include "framework/profile_plugins.h"
#include "framework/resource_need.h"

namespace berth {

// What the verdicts of one Filter plugin depend on.
struct PluginInputs {
  uint8_t filter;  // index in ProfilePlugins::filter
  FilterInputs inputs;
  friend bool operator==(const PluginInputs&, const PluginInputs&) = default;
};

// What the rejections of several Filter plugins depend on.
struct DependenciesBeyondNode {
  std::vector<TrackedThreshold> domains;
  std::vector<PluginInputs> objects;  // in the order of ProfilePlugins::filter
  bool empty() const { return domains.empty() && objects.empty(); }
};

// Scheduling thread.
class VerdictDependencies {
 public:
  // Both outlive this.
  VerdictDependencies(const ProfilePlugins& plugins, const PodSigner& signer);

  // The Filter plugins that depend on objects, and on nothing else that is beyond the node.
  PluginMask object_filters() const { return object_filters_; }
  // What verdicts of Filter plugins depend on that neither `known` has nor `state` skips.
  // False if one of them cannot say.
  bool FindBeyondNode(const CycleState& state, const PodInfo& pod, PluginMask known,
                      DependenciesBeyondNode& inputs) const;
  // What the verdicts of those among `plugins`, all of them object_filters(), depend on that
  // `state` does not skip. False if one of them fails.
  bool FindFilterInputs(const CycleState& state, const PodInfo& pod, PluginMask plugins,
                        std::vector<PluginInputs>& inputs) const;
  // ResourceNeedSource::FindNeededResources().
  std::optional<ResourceNeed> FindNeededResources(const CycleState& state,
                                                  const PodInfo& pod) const;
  // Whether the Filter plugins but `but` say the same of the node whichever of its pods run there,
  // and of those `nominated` to it.
  bool HoldWhateverPodsRun(Symbol but, const CycleState& state, const PodInfo& pod,
                           const NodeInfo& node, ResourceNeedSource::Pods nominated) const;
  // What the verdicts of those of `plugins` depend on that have a Filter.
  Aspects FilterDependenciesOf(PluginMask plugins) const;

 private:
  // Whether DescribeDomains or AddInputs says what the verdicts of that filter depend on.
  bool DeclaresInputs(size_t filter) const;
  Status AddInputs(size_t filter, const CycleState& state, const PodInfo& pod,
                   std::vector<PluginInputs>& inputs) const;

  const ProfilePlugins& plugins_;
  const PodSigner& signer_;
  PluginMask object_filters_ = 0;
  PluginMask domain_filters_ = 0;
  PluginMask all_filters_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_VERDICT_DEPENDENCIES_H_
