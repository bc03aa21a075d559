// SPDX-License-Identifier: Apache-2.0
// What is written to a cluster in place of an object.
#ifndef BERTH_API_OBJECT_UPDATE_H_
#define BERTH_API_OBJECT_UPDATE_H_

#include "berth/api/object.h"

namespace berth {

// An object as it should be.
struct ObjectUpdate {
  // As the watch delivered it, with changes of `part` only.
  Object object;
  // Which part of it is written. A status has a writer of its own in Kubernetes.
  enum class Part { kAllButStatus, kStatus };
  Part part = Part::kAllButStatus;
};

}  // namespace berth

#endif  // BERTH_API_OBJECT_UPDATE_H_
