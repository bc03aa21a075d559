// SPDX-License-Identifier: Apache-2.0
// Implementation of secure_port.h.
#include "process/secure_port.h"

#include <utility>

#include "kubernetes/find_connection.h"

namespace berth {
namespace {

// A client for reviews; null if there is no API server to ask, and none was named.
absl::StatusOr<std::unique_ptr<ApiClient>> ReviewClient(const std::string& kubeconfig,
                                                        const SecurePort::Warn& warn) {
  absl::StatusOr<Connection> connection = FindConnection(kubeconfig, "");
  if (connection.ok()) {
    return std::make_unique<ApiClient>(
        *std::move(connection),
        ApiClientOptions{.qps = 200, .burst = 400, .user_agent = "berth", .warn = warn});
  }
  if (!kubeconfig.empty()) return connection.status();
  return nullptr;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SecurePort>> SecurePort::Open(const RunOptions::Serving& options,
                                                             Endpoints endpoints,
                                                             const Warn& warn) {
  std::unique_ptr<SecurePort> port(new SecurePort);
  absl::StatusOr<std::unique_ptr<ApiClient>> client =
      ReviewClient(options.authentication_kubeconfig, warn);
  if (!client.ok()) return client.status();
  port->authentication_ = *std::move(client);
  client = ReviewClient(options.authorization_kubeconfig, warn);
  if (!client.ok()) return client.status();
  port->authorization_ = *std::move(client);
  absl::StatusOr<std::unique_ptr<RequestAuthorizer>> authorizer =
      RequestAuthorizer::Create({.authentication = port->authentication_.get(),
                                 .authorization = port->authorization_.get(),
                                 .client_ca_file = options.client_ca_file,
                                 .skip_lookup = options.skip_lookup,
                                 .tolerate_lookup_failure = options.tolerate_lookup_failure,
                                 .always_allow_paths = options.always_allow_paths,
                                 .token_cache_life = options.token_cache_life,
                                 .allowed_cache_life = options.allowed_cache_life,
                                 .denied_cache_life = options.denied_cache_life,
                                 .warn = warn});
  if (!authorizer.ok()) return authorizer.status();
  port->authorizer_ = *std::move(authorizer);
  absl::StatusOr<std::unique_ptr<SecureServer>> server =
      SecureServer::Start({.bind_address = options.bind_address,
                           .port = options.secure_port,
                           .certificate_file = options.tls_cert_file,
                           .key_file = options.tls_private_key_file,
                           .only_tls13 = options.only_tls13,
                           .warn = warn},
                          port->authorizer_->Check(), std::move(endpoints));
  if (!server.ok()) return server.status();
  port->server_ = *std::move(server);
  return port;
}

}  // namespace berth
