// SPDX-License-Identifier: Apache-2.0
// The order of PrioritySort.
#include "plugins/priority_sort/priority_sort.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> PrioritySort::Create(const PluginArgs&, Handle&) {
  return std::make_unique<PrioritySort>();
}

bool PrioritySort::Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const {
  if (a.priority() != b.priority()) return a.priority() > b.priority();
  return a.timestamp < b.timestamp;
}

}  // namespace berth
