// SPDX-License-Identifier: Apache-2.0
// Whether a placement still holds when it is about to be bound.
#ifndef BERTH_SRC_ENGINE_STILL_FITS_H_
#define BERTH_SRC_ENGINE_STILL_FITS_H_

#include "berth/framework/status.h"
#include "engine/binder.h"
#include "engine/cluster_state.h"

namespace berth {

// Another scheduler may have taken the room, or the node may have changed or gone, since the pod
// was assumed there: then its Filter plugins are asked once more.
Status StillFits(ClusterState& cluster, const AssumedPod& placement);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_STILL_FITS_H_
