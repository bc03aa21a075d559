// SPDX-License-Identifier: Apache-2.0
// What is written to a cluster in place of an object.
#ifndef BERTH_API_OBJECT_UPDATE_H_
#define BERTH_API_OBJECT_UPDATE_H_

#include <functional>

#include "absl/status/status.h"
#include "berth/api/identity.h"
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

// A change of an object as the cluster has it when it is written.
struct ObjectEdit {
  IdentityPtr object;
  ObjectUpdate::Part part = ObjectUpdate::Part::kAllButStatus;
  // Changes `part` of the latest state; called again if another writer was faster. If it returns an
  // error, nothing is written, and that is the answer. Any thread; must not call the cluster.
  std::function<absl::Status(google::protobuf::Message& latest)> edit;
};

}  // namespace berth

#endif  // BERTH_API_OBJECT_UPDATE_H_
