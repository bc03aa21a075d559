// SPDX-License-Identifier: Apache-2.0
// The connection of a pod to the API server of its cluster, by its service account.
#ifndef BERTH_SRC_KUBERNETES_IN_CLUSTER_H_
#define BERTH_SRC_KUBERNETES_IN_CLUSTER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "kubernetes/connection.h"

namespace berth {

inline constexpr char kServiceAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount";

// From KUBERNETES_SERVICE_HOST and _PORT and the files token, ca.crt and namespace of `folder`.
// NotFound, with what is missing, outside a pod.
absl::StatusOr<Connection> InClusterConnection(
    const std::function<std::string(const char* name)>& environment, const std::string& folder);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_IN_CLUSTER_H_
