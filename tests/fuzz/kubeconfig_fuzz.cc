// SPDX-License-Identifier: Apache-2.0
// Kubeconfig files, what exec plugins are told and print, and certificates: any text is read, or
// refused with a place.
#include <cstddef>
#include <cstdint>

#include "berth/check.h"
#include "kubernetes/credentials.h"
#include "kubernetes/kubeconfig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  berth::Kubeconfig config;
  berth::Problems problems;
  config.Merge(text, "/k/config", problems);
  const absl::StatusOr<berth::Connection> connection = config.Resolve("");
  if (connection.ok()) {
    BERTH_CHECK(connection->server.find("://") != std::string::npos) << connection->server;
    BERTH_CHECK(connection->client_certificate.empty() == connection->client_key.empty());
    BERTH_CHECK(!connection->exec.has_value() || !connection->exec->command.empty());
    if (connection->exec.has_value()) BERTH_CHECK(!berth::ExecInfo(*connection, text).empty());
  } else {
    BERTH_CHECK(!connection.status().message().empty());
  }

  berth::CertificateEnd(text);

  berth::ExecPlugin plugin;
  plugin.api_version = "client.authentication.k8s.io/v1";
  const absl::StatusOr<berth::Credentials> printed = berth::ParseExecCredential(text, plugin);
  if (printed.ok()) BERTH_CHECK(!printed->token.empty() || !printed->key_pem.empty());
  return 0;
}
