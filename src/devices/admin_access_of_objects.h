// SPDX-License-Identifier: Apache-2.0
// Claims with adminAccess in namespaces that do not allow it, among the objects of a cluster.
#ifndef BERTH_SRC_DEVICES_ADMIN_ACCESS_OF_OBJECTS_H_
#define BERTH_SRC_DEVICES_ADMIN_ACCESS_OF_OBJECTS_H_

#include "berth/api/manifest.h"
#include "berth/api/problem.h"

namespace berth {

// What an API server says of ResourceClaims and ResourceClaimTemplates with adminAccess whose
// namespace is among the objects and has no label resource.kubernetes.io/admin-access: "true". A
// warning of those that one has stored.
Problems CheckAdminAccessOf(const Manifests& manifests);

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_ADMIN_ACCESS_OF_OBJECTS_H_
