// SPDX-License-Identifier: Apache-2.0
// The Permit extension point: let a placed pod be bound, hold it back, or refuse it.
#ifndef BERTH_FRAMEWORK_PERMIT_H_
#define BERTH_FRAMEWORK_PERMIT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// The longest a pod waits for any plugin; longer timeouts are cut to it.
inline constexpr absl::Duration kMaxPermitTimeout = absl::Minutes(15);

class PermitPlugin {
 public:
  virtual ~PermitPlugin() = default;

  // Runs on the scheduling thread after Reserve; for a group, after all its members are reserved.
  // Returns Success; Wait, with how long in `timeout`, to hold the pod as a WaitingPod; a rejection
  // or an error to undo the placement. A timeout that is not positive is an error.
  virtual Status Permit(CycleState& state, const PodInfo& pod, absl::string_view node_name,
                        absl::Duration& timeout) = 0;
};

// A pod that is placed and waits for Permit plugins. Belongs to the scheduling thread; plugins
// get it from the Handle.
class WaitingPod {
 public:
  virtual ~WaitingPod() = default;

  virtual const PodInfo& pod() const = 0;
  virtual absl::string_view node_name() const = 0;
  // The plugins that have not allowed it yet, in profile order.
  virtual std::vector<absl::string_view> pending_plugins() const = 0;
  // `plugin` no longer holds it back; bound as soon as no plugin does.
  virtual void Allow(absl::string_view plugin) = 0;
  // Undoes the placement; the pod goes back to the queue, rejected by `plugin` with `message`, and
  // is tried again when its backoff is over.
  virtual void Reject(absl::string_view plugin, absl::string_view message) = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_PERMIT_H_
