// SPDX-License-Identifier: Apache-2.0
// The order of QOSSort.
#include "plugins/qos_sort/qos_sort.h"

namespace berth {

static_assert(QosClass::kGuaranteed < QosClass::kBurstable &&
              QosClass::kBurstable < QosClass::kBestEffort);

absl::StatusOr<std::unique_ptr<Plugin>> QosSort::Create(const PluginArgs&, Handle&) {
  return std::make_unique<QosSort>();
}

bool QosSort::Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const {
  if (a.priority() != b.priority()) return a.priority() > b.priority();
  if (a.pod->qos_class() != b.pod->qos_class()) return a.pod->qos_class() < b.pod->qos_class();
  return a.timestamp < b.timestamp;
}

}  // namespace berth
