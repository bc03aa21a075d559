// SPDX-License-Identifier: Apache-2.0
// Pools of devices whose slices do not go together.
#ifndef BERTH_SRC_DEVICES_POOLS_OF_OBJECTS_H_
#define BERTH_SRC_DEVICES_POOLS_OF_OBJECTS_H_

#include "berth/api/manifest.h"
#include "berth/api/problem.h"

namespace berth {

// Warnings, since an API server looks at one slice at a time: devices of one name in two slices of
// a pool's newest generation, sets of counters as well, and counters that devices consume and no
// slice has. Each pool's first. Such a pool is invalid to kube-scheduler, which gives none of its
// devices.
Problems CheckPoolsOf(const Manifests& manifests);

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_POOLS_OF_OBJECTS_H_
