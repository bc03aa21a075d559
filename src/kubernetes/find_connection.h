// SPDX-License-Identifier: Apache-2.0
// Which API server to talk to when a kubeconfig is named, or not.
#ifndef BERTH_SRC_KUBERNETES_FIND_CONNECTION_H_
#define BERTH_SRC_KUBERNETES_FIND_CONNECTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "kubernetes/connection.h"

namespace berth {

// As kube-scheduler, by clientcmd.BuildConfigFromFlags(): the context of the kubeconfig, the
// current one if it is empty; without a kubeconfig the service account of the pod that this runs
// in. `master`, unless it is empty, is the address of the server in place of theirs; if there is
// neither a kubeconfig nor a service account, it is talked to without credentials.
absl::StatusOr<Connection> FindConnection(const std::string& kubeconfig, const std::string& context,
                                          const std::string& master = "");

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_FIND_CONNECTION_H_
