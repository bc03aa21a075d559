// SPDX-License-Identifier: Apache-2.0
// Selectors of devices that do not compile, among the objects of a cluster.
#ifndef BERTH_SRC_DEVICES_SELECTORS_OF_OBJECTS_H_
#define BERTH_SRC_DEVICES_SELECTORS_OF_OBJECTS_H_

#include "berth/api/manifest.h"
#include "berth/api/problem.h"

namespace berth {

// What an API server would say of the CEL expressions in DeviceClasses, ResourceClaims and
// ResourceClaimTemplates, each with the place of the expression; it refuses those that do not
// compile, and a scheduler that meets one fails the pod. Not made is its estimate of what an
// expression may cost at most.
Problems CheckSelectorsOf(const Manifests& manifests);

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_SELECTORS_OF_OBJECTS_H_
