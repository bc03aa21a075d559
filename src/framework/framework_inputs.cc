// SPDX-License-Identifier: Apache-2.0
// Framework: what the verdicts of Filter plugins go by, so that they need not be asked again.
#include <cstdint>
#include <utility>
#include <vector>

#include "framework/framework.h"
#include "framework/plugin_calls.h"

namespace berth {
namespace {

constexpr PluginPoint kFilterDomains{"FilterDomains", Codes(),
                                     "running FilterDomains of plugin \"$0\": $1"};
constexpr PluginPoint kDescribeDomainsForDryRun{
    "DescribeDomainsForDryRun", Codes(), "running DescribeDomainsForDryRun of plugin \"$0\": $1"};
constexpr PluginPoint kAddInputs{"AddInputs", Codes(), "running AddInputs of plugin \"$0\": $1"};
constexpr PluginPoint kResourcesNeededBy{"ResourcesNeededBy", Codes(),
                                         "running ResourcesNeededBy of plugin \"$0\": $1"};

// A verdict that depends on these only: Success stays Success as pods go.
constexpr Aspects kLeftAloneByRemovals =
    Aspect::kOfNodeObject | Aspect::kNodePorts | Aspect::kImageSpread;

// The rules from `first` on are those of a plugin.
template <class Rule>
void NoteWhose(int plugin, size_t first, std::vector<Rule>& rules) {
  for (size_t i = first; i < rules.size(); ++i) rules[i].plugin = plugin;
}

}  // namespace

bool Framework::FindRejectionInputs(const CycleState& state, const PodInfo& pod, PluginMask known,
                                    RejectionInputs& grounds) const {
  grounds = {};
  for (size_t i = 0; i < filter_.size(); ++i) {
    const Hook<FilterPlugin>& hook = filter_[i];
    if ((state.skips().filter | known) & SkipBit(hook)) continue;
    Status status;
    if (domain_filters_[i] != nullptr) {
      const size_t first = grounds.domains.size();
      status = calls_.Guarded(kFilterDomains, hook.name, [&] {
        domain_filters_[i]->FilterDomains(state, grounds.domains);
        return Status::Success();
      });
      NoteWhose(hook.index, first, grounds.domains);
    }
    if (object_filters_[i] != nullptr && status.ok()) {
      status = AddInputs(i, state, pod, grounds.objects);
    }
    const bool says_nothing = domain_filters_[i] == nullptr && object_filters_[i] == nullptr;
    if (says_nothing || !status.ok()) return false;
  }
  return true;
}

bool Framework::FindFilterInputs(const CycleState& state, const PodInfo& pod, PluginMask plugins,
                                 std::vector<PluginInputs>& bases) const {
  bases.clear();
  for (size_t i = 0; i < filter_.size(); ++i) {
    if ((plugins & ~state.skips().filter & SkipBit(filter_[i])) == 0) continue;
    if (!AddInputs(i, state, pod, bases).ok()) return false;
  }
  return true;
}

Status Framework::AddInputs(size_t filter, const CycleState& state, const PodInfo& pod,
                            std::vector<PluginInputs>& bases) const {
  PluginInputs& of_plugin = bases.emplace_back();
  of_plugin.filter = static_cast<uint8_t>(filter);
  return AddInputs(filter, state, pod, of_plugin.basis);
}

Status Framework::AddInputs(size_t filter, const CycleState& state, const PodInfo& pod,
                            FilterInputs& basis) const {
  return calls_.Guarded(kAddInputs, filter_[filter].name, [&] {
    object_filters_[filter]->AddInputs(state, pod, basis);
    return Status::Success();
  });
}

bool Framework::FindDryRunInputs(const CycleState& state, const PodInfo& pod,
                                 DryRunInputs& grounds) const {
  grounds = {};
  PodSignature signature;
  const PluginMask known = SignForNodes(pod, signature) | state.skips().filter;
  bool signed_by_all = true;
  for (size_t i = 0; i < filter_.size(); ++i) {
    const Hook<FilterPlugin>& hook = filter_[i];
    if (known & SkipBit(hook)) continue;
    signed_by_all = false;
    Status status;
    bool can_say = true;
    if (domain_filters_[i] != nullptr) {
      const size_t first = grounds.domains.size();
      status = calls_.Guarded(kDescribeDomainsForDryRun, hook.name, [&] {
        can_say = domain_filters_[i]->DescribeDomainsForDryRun(state, pod, grounds.domains,
                                                               grounds.basis);
        return Status::Success();
      });
      NoteWhose(hook.index, first, grounds.domains);
    }
    if (object_filters_[i] != nullptr && status.ok()) {
      grounds.basis.Add(int64_t{hook.index});
      status = AddInputs(i, state, pod, grounds.basis);
    }
    const bool says_nothing = domain_filters_[i] == nullptr && object_filters_[i] == nullptr;
    if (says_nothing || !status.ok() || !can_say) return false;
  }
  if (!signed_by_all) {  // the others are asked about pods of this spec only, which the basis keeps
    signature.Add(static_cast<int64_t>(reinterpret_cast<intptr_t>(pod.shared_spec().get())));
    grounds.basis.Add(pod.shared_spec());
  }
  grounds.kind = signature.bytes();
  return true;
}

std::optional<ResourceNeed> Framework::FindNeededResources(const CycleState& state,
                                                           const PodInfo& pod) const {
  ResourceNeed room;
  room.others_allow_removal = true;
  for (size_t i = 0; i < filter_.size(); ++i) {
    const Hook<FilterPlugin>& hook = filter_[i];
    if (state.skips().filter & SkipBit(hook)) continue;
    if (room_filters_[i] == nullptr) {
      room.others_allow_removal &= (signer_.DependenciesOfFilter(i) & ~kLeftAloneByRemovals) == 0;
      continue;
    }
    room.plugin = hook.name;
    const Status status = calls_.Guarded(kResourcesNeededBy, hook.name, [&] {
      room.needed = room_filters_[i]->ResourcesNeededBy(state, pod);
      return Status::Success();
    });
    return status.ok() ? std::optional(std::move(room)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace berth
