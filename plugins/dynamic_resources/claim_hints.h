// SPDX-License-Identifier: Apache-2.0
// Which changes may make a pod schedulable that DynamicResources rejected.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_HINTS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_HINTS_H_

#include <memory>
#include <vector>

#include "berth/devices/device_features.h"
#include "berth/framework/enqueue.h"
#include "berth/handle/object_store.h"
#include "plugins/dynamic_resources/nominated_devices.h"
#include "plugins/dynamic_resources/noted_preemptors.h"

namespace berth {

// As kube-scheduler v1.35 dynamicresources EventsToRegister. `objects` outlives them.
// With DRAExtendedResource also the end of a claim: it is the pod's own special one, which was in
// its way, or devices are free that no edit took from it.
// Also when a claim gets other devices than were planned for its nominated pod: those are free; and
// for those that were `refused` amid writes (if not null) when a claim has a user that it had not,
// or one less: who is a user now can be evicted.
std::vector<ClusterEventWithHint> ClaimEvents(const ObjectStore& objects,
                                              const DeviceFeatures& features,
                                              std::shared_ptr<const NominatedDevices> nominated,
                                              std::shared_ptr<const NotedPreemptors> refused);

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_CLAIM_HINTS_H_
