// SPDX-License-Identifier: Apache-2.0
// resource.k8s.io in its beta versions: v1beta2 has the shape of v1, v1beta1 has not.
#ifndef BERTH_SRC_API_RESOURCE_VERSIONS_H_
#define BERTH_SRC_API_RESOURCE_VERSIONS_H_

#include "berth/api/kinds.h"

namespace berth {

// Moves what v1beta1 has in other places to where v1 has it: a request's class, selectors and count
// below `exactly`, a device's attributes and capacity out of `basic`. Does nothing to messages in
// the shape of v1, and to other kinds.
void ConvertFromBeta(Kind kind, google::protobuf::Message& message);

}  // namespace berth

#endif  // BERTH_SRC_API_RESOURCE_VERSIONS_H_
