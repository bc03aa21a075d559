// SPDX-License-Identifier: Apache-2.0
// Names of the queue's places.
#include "queue/queue_entry.h"

namespace berth {

absl::string_view QueueStateName(QueueState state) {
  switch (state) {
    case QueueState::kActive:
      return "Active";
    case QueueState::kBackoff:
      return "Backoff";
    case QueueState::kErrorBackoff:
      return "ErrorBackoff";
    case QueueState::kUnschedulable:
      return "Unschedulable";
    case QueueState::kGated:
      return "Gated";
    case QueueState::kInFlight:
      return "InFlight";
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, QueueState state) {
  return out << QueueStateName(state);
}

}  // namespace berth
