// SPDX-License-Identifier: Apache-2.0
// The secure port as flags describe it: the server, and where it asks about its users.
#ifndef BERTH_SRC_PROCESS_SECURE_PORT_H_
#define BERTH_SRC_PROCESS_SECURE_PORT_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kubernetes/api_client.h"
#include "process/http.h"
#include "process/request_authorizer.h"
#include "process/run_options.h"
#include "process/secure_server.h"

namespace berth {

class SecurePort {
 public:
  using Warn = std::function<void(absl::string_view text)>;

  // Serves `endpoints` from then on. As kube-scheduler: without a kubeconfig, and outside a pod,
  // no API server is asked about users. Errors name the file or the address.
  static absl::StatusOr<std::unique_ptr<SecurePort>> Open(const RunOptions::Serving& options,
                                                          Endpoints endpoints, const Warn& warn);

  int number() const { return server_->port(); }

 private:
  SecurePort() = default;

  std::unique_ptr<ApiClient> authentication_, authorization_;
  std::unique_ptr<RequestAuthorizer> authorizer_;
  std::unique_ptr<SecureServer> server_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_SECURE_PORT_H_
