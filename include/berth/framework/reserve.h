// SPDX-License-Identifier: Apache-2.0
// The Reserve extension point: claim what a placement needs, and give it back.
#ifndef BERTH_FRAMEWORK_RESERVE_H_
#define BERTH_FRAMEWORK_RESERVE_H_

#include "absl/strings/string_view.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// Both run on the scheduling thread.
class ReservePlugin {
 public:
  virtual ~ReservePlugin() = default;

  // `pod` is about to be placed on `node_name`, and the cache already counts it there. A rejection
  // makes the pod unschedulable by this plugin; then Unreserve of all plugins runs.
  virtual Status Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) = 0;

  // Takes back what Reserve did. Also called when this plugin's Reserve never ran or failed, and
  // possibly twice: do nothing then. Cannot fail.
  virtual void Unreserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_RESERVE_H_
