// SPDX-License-Identifier: Apache-2.0
// Pods that a plugin wants to be tried next, handed to the engine through the CycleState.
#ifndef BERTH_EXTENSIONS_PODS_TO_ACTIVATE_H_
#define BERTH_EXTENSIONS_PODS_TO_ACTIVATE_H_

#include <memory>
#include <vector>

#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"

namespace berth {

// As kube-scheduler's "kubernetes.io/pods-to-activate". What plugins add is moved to the active
// queue when the pod's scheduling cycle has succeeded, Permit included, and what PreBind, Bind or
// PostBind add when the pod is bound. A cycle that fails activates nothing. Handle::Activate acts
// at once.
struct PodsToActivate final : StateData {
  // The list in `state`, made when there is none yet.
  static PodsToActivate& In(CycleState& state);

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<PodsToActivate>(*this);
  }

  std::vector<std::shared_ptr<const PodInfo>> pods;
};
inline constexpr StateKey<PodsToActivate> kPodsToActivate{"kubernetes.io/pods-to-activate"};

inline PodsToActivate& PodsToActivate::In(CycleState& state) {
  if (state.FindMutable(kPodsToActivate) == nullptr) {
    state.Write(kPodsToActivate, std::make_unique<PodsToActivate>());
  }
  return *state.FindMutable(kPodsToActivate);
}

}  // namespace berth

#endif  // BERTH_EXTENSIONS_PODS_TO_ACTIVATE_H_
