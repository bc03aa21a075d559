// SPDX-License-Identifier: Apache-2.0
// Implementation of verdict_dependencies.h.
#include "framework/verdict_dependencies.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "berth/incremental/node_changes.h"

namespace berth {
namespace {

constexpr PluginPoint kDescribeDomains{"DescribeDomains", Codes(),
                                       "running DescribeDomains of plugin \"$0\": $1"};
constexpr PluginPoint kAddInputs{"AddInputs", Codes(), "running AddInputs of plugin \"$0\": $1"};
constexpr PluginPoint kResourcesNeededBy{"ResourcesNeededBy", Codes(),
                                         "running ResourcesNeededBy of plugin \"$0\": $1"};

// A verdict that depends on these only: Success stays Success as pods go.
constexpr Aspects kUnaffectedByPodRemoval =
    Aspect::kOfNodeObject | Aspect::kNodePorts | Aspect::kImageSpread;

// The rules from `first` on are those of a plugin.
template <class Rule>
void SetRulePlugin(int plugin, size_t first, std::vector<Rule>& rules) {
  for (size_t i = first; i < rules.size(); ++i) rules[i].plugin = plugin;
}

}  // namespace

VerdictDependencies::VerdictDependencies(const ProfilePlugins& plugins, const PodSigner& signer)
    : plugins_(plugins), signer_(signer) {
  for (size_t i = 0; i < plugins.filter.size(); ++i) {
    all_filters_ |= MaskOf(plugins.filter[i]);
    if (plugins.domain_filters[i] != nullptr) domain_filters_ |= MaskOf(plugins.filter[i]);
    if (plugins.object_filters[i] != nullptr && plugins.domain_filters[i] == nullptr) {
      object_filters_ |= MaskOf(plugins.filter[i]);
    }
  }
}

bool VerdictDependencies::DeclaresInputs(size_t filter) const {
  return plugins_.domain_filters[filter] != nullptr || plugins_.object_filters[filter] != nullptr;
}

bool VerdictDependencies::FindBeyondNode(const CycleState& state, const PodInfo& pod,
                                         PluginMask known, DependenciesBeyondNode& inputs) const {
  inputs = {};
  for (size_t i = 0; i < plugins_.filter.size(); ++i) {
    const Hook<FilterPlugin>& hook = plugins_.filter[i];
    if ((state.skips().filter | known) & MaskOf(hook)) continue;
    Status status;
    if (plugins_.domain_filters[i] != nullptr) {
      const size_t first = inputs.domains.size();
      status = plugins_.calls.Guarded(kDescribeDomains, hook.name, [&] {
        plugins_.domain_filters[i]->DescribeDomains(state, inputs.domains);
        return Status::Success();
      });
      SetRulePlugin(hook.index, first, inputs.domains);
    }
    if (plugins_.object_filters[i] != nullptr && status.ok()) {
      status = AddInputs(i, state, pod, inputs.objects);
    }
    if (!DeclaresInputs(i) || !status.ok()) return false;
  }
  return true;
}

bool VerdictDependencies::FindFilterInputs(const CycleState& state, const PodInfo& pod,
                                           PluginMask plugins,
                                           std::vector<PluginInputs>& inputs) const {
  inputs.clear();
  for (size_t i = 0; i < plugins_.filter.size(); ++i) {
    if ((plugins & ~state.skips().filter & MaskOf(plugins_.filter[i])) == 0) continue;
    if (!AddInputs(i, state, pod, inputs).ok()) return false;
  }
  return true;
}

Status VerdictDependencies::AddInputs(size_t filter, const CycleState& state, const PodInfo& pod,
                                      std::vector<PluginInputs>& inputs) const {
  PluginInputs& of_plugin = inputs.emplace_back();
  of_plugin.filter = static_cast<uint8_t>(filter);
  return plugins_.calls.Guarded(kAddInputs, plugins_.filter[filter].name, [&] {
    plugins_.object_filters[filter]->AddInputs(state, pod, of_plugin.inputs);
    return Status::Success();
  });
}

std::optional<ResourceNeed> VerdictDependencies::FindNeededResources(const CycleState& state,
                                                                     const PodInfo& pod) const {
  ResourceNeed need;
  need.others_allow_removal = true;
  for (size_t i = 0; i < plugins_.filter.size(); ++i) {
    const Hook<FilterPlugin>& hook = plugins_.filter[i];
    if (state.skips().filter & MaskOf(hook)) continue;
    if (plugins_.resource_filters[i] == nullptr) {
      need.others_allow_removal &=
          (signer_.DependenciesOfFilter(i) & ~kUnaffectedByPodRemoval) == 0;
      continue;
    }
    need.plugin = hook.name;
    const Status status = plugins_.calls.Guarded(kResourcesNeededBy, hook.name, [&] {
      need.needed = plugins_.resource_filters[i]->ResourcesNeededBy(state, pod);
      return Status::Success();
    });
    return status.ok() && need.needed.is_all ? std::optional(std::move(need)) : std::nullopt;
  }
  return std::nullopt;
}

bool VerdictDependencies::HoldWhateverPodsRun(Symbol but, const CycleState& state,
                                              const PodInfo& pod, const NodeInfo& node,
                                              ResourceNeedSource::Pods nominated) const {
  const bool only_domains_follow_pods =
      absl::c_all_of(plugins_.pre_filter_extensions, [&](const auto& hook) {
        return ((state.skips().filter | domain_filters_) & MaskOf(hook)) != 0;
      });
  if (!only_domains_follow_pods) return false;
  PodSignature signature;
  const PluginMask signed_by = signer_.SignForNodes(pod, signature);
  for (size_t i = 0; i < plugins_.filter.size(); ++i) {
    const Hook<FilterPlugin>& hook = plugins_.filter[i];
    if ((state.skips().filter & MaskOf(hook)) != 0 || hook.name == but) continue;
    if (const DomainFilter* const domains = plugins_.domain_filters[i]; domains != nullptr) {
      bool follows = true;  // where it throws
      plugins_.calls.GuardedVoid("FollowsPodsOf", hook.name, [&] {
        follows = domains->FollowsPodsOf(state, pod, node, nominated);
      });
      if (follows) return false;
    } else if ((signed_by & MaskOf(hook)) == 0 ||
               (signer_.DependenciesOfFilter(i) & ~Aspect::kOfNodeObject) != 0) {
      return false;
    }
  }
  return true;
}

Aspects VerdictDependencies::FilterDependenciesOf(PluginMask plugins) const {
  return signer_.DependenciesOf(plugins & all_filters_);
}

}  // namespace berth
