// Framework: what the verdicts of Filter plugins go by, so that they need not be asked again.
#include <cstdint>
#include <utility>
#include <vector>

#include "framework/framework_call.h"

namespace berth {
namespace {

constexpr PluginPoint kJudgeDomains{"JudgeDomains", Codes(),
                                    "running JudgeDomains of plugin \"$0\": $1"};
constexpr PluginPoint kNumberDomains{"NumberDomains", Codes(),
                                     "running NumberDomains of plugin \"$0\": $1"};
constexpr PluginPoint kAddBasis{"AddBasis", Codes(), "running AddBasis of plugin \"$0\": $1"};
constexpr PluginPoint kRoomFor{"RoomFor", Codes(), "running RoomFor of plugin \"$0\": $1"};

// A verdict that depends on these only: Success stays Success as pods go.
constexpr Aspects kLeftAloneByRemovals =
    Aspect::kOfNodeObject | Aspect::kNodePorts | Aspect::kImageSpread;

// The rules from `first` on are those of a plugin.
template <class Rule>
void NoteWhose(int plugin, size_t first, std::vector<Rule>& rules) {
  for (size_t i = first; i < rules.size(); ++i) rules[i].plugin = plugin;
}

}  // namespace

bool Framework::FindRejectionGrounds(const CycleState& state, const PodInfo& pod, PluginMask known,
                                     RejectionGrounds& grounds) const {
  grounds = {};
  for (size_t i = 0; i < filter_.size(); ++i) {
    const Hook<FilterPlugin>& hook = filter_[i];
    if ((state.skips().filter | known) & SkipBit(hook)) continue;
    Status status;
    if (domain_filters_[i] != nullptr) {
      const size_t first = grounds.domains.size();
      status = Guarded(kJudgeDomains, hook.name, [&] {
        domain_filters_[i]->JudgeDomains(state, grounds.domains);
        return Status::Success();
      });
      NoteWhose(hook.index, first, grounds.domains);
    }
    if (object_filters_[i] != nullptr && status.ok()) {
      status = AddBasis(i, state, pod, grounds.objects);
    }
    const bool says_nothing = domain_filters_[i] == nullptr && object_filters_[i] == nullptr;
    if (says_nothing || !status.ok()) return false;
  }
  return true;
}

bool Framework::FindBases(const CycleState& state, const PodInfo& pod, PluginMask plugins,
                          std::vector<PluginBasis>& bases) const {
  bases.clear();
  for (size_t i = 0; i < filter_.size(); ++i) {
    if ((plugins & ~state.skips().filter & SkipBit(filter_[i])) == 0) continue;
    if (!AddBasis(i, state, pod, bases).ok()) return false;
  }
  return true;
}

Status Framework::AddBasis(size_t filter, const CycleState& state, const PodInfo& pod,
                           std::vector<PluginBasis>& bases) const {
  PluginBasis& of_plugin = bases.emplace_back();
  of_plugin.filter = static_cast<uint8_t>(filter);
  return AddBasis(filter, state, pod, of_plugin.basis);
}

Status Framework::AddBasis(size_t filter, const CycleState& state, const PodInfo& pod,
                           FilterBasis& basis) const {
  return Guarded(kAddBasis, filter_[filter].name, [&] {
    object_filters_[filter]->AddBasis(state, pod, basis);
    return Status::Success();
  });
}

bool Framework::FindDryRunGrounds(const CycleState& state, const PodInfo& pod,
                                  DryRunGrounds& grounds) const {
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
      status = Guarded(kNumberDomains, hook.name, [&] {
        can_say = domain_filters_[i]->NumberDomains(state, pod, grounds.domains, grounds.basis);
        return Status::Success();
      });
      NoteWhose(hook.index, first, grounds.domains);
    }
    if (object_filters_[i] != nullptr && status.ok()) {
      grounds.basis.Add(int64_t{hook.index});
      status = AddBasis(i, state, pod, grounds.basis);
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

std::optional<Handle::Room> Framework::FindNeededRoom(const CycleState& state,
                                                      const PodInfo& pod) const {
  Handle::Room room;
  room.asked_first = true;
  for (size_t i = 0; i < filter_.size(); ++i) {
    const Hook<FilterPlugin>& hook = filter_[i];
    if (state.skips().filter & SkipBit(hook)) continue;
    if (room_filters_[i] == nullptr) {
      room.asked_first &= (signers_[i].depends_on & ~kLeftAloneByRemovals) == 0;
      continue;
    }
    room.plugin = hook.name;
    const Status status = Guarded(kRoomFor, hook.name, [&] {
      room.needed = room_filters_[i]->RoomFor(state, pod);
      return Status::Success();
    });
    return status.ok() ? std::optional(std::move(room)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace berth
