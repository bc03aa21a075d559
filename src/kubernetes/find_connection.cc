// SPDX-License-Identifier: Apache-2.0
// Implementation of find_connection.h.
#include "kubernetes/find_connection.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "kubernetes/credentials.h"
#include "kubernetes/in_cluster.h"
#include "kubernetes/kubeconfig.h"

namespace berth {
namespace {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<Connection> ConfiguredConnection(const std::string& kubeconfig,
                                                const std::string& context) {
  if (!kubeconfig.empty()) {
    const absl::StatusOr<Kubeconfig> loaded = LoadKubeconfig(kubeconfig, "", "");
    if (!loaded.ok()) return loaded.status();
    absl::StatusOr<Connection> connection = loaded->Resolve(context);
    if (!connection.ok()) return connection;
    // Now, as kubectl does: later what is said of them may not be read.
    const absl::Status files = CheckFiles(*connection);
    if (files.ok()) return connection;
    return absl::Status(files.code(), absl::StrCat(connection->name, ": ", files.message()));
  }
  if (!context.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the context ", context, " is one of a kubeconfig, and none is named"));
  }
  absl::StatusOr<Connection> connection = InClusterConnection(Environment, kServiceAccountFolder);
  if (connection.ok()) return connection;
  return absl::NotFoundError(absl::StrCat(
      "no kubeconfig is named, and there is no service account: ", connection.status().message(),
      ". Name a file with --kubeconfig."));
}

}  // namespace

absl::StatusOr<Connection> FindConnection(const std::string& kubeconfig, const std::string& context,
                                          const std::string& master) {
  if (master.empty()) return ConfiguredConnection(kubeconfig, context);
  absl::StatusOr<std::string> server = ParseServer(master);
  if (!server.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--master=", master, " ", server.status().message()));
  }
  absl::StatusOr<Connection> connection = ConfiguredConnection(kubeconfig, context);
  if (!connection.ok()) {
    if (!kubeconfig.empty() || !context.empty()) return connection.status();
    connection = Connection{.name = "--master"};
  }
  connection->server = *std::move(server);
  connection->tls_server_name.clear();  // as client-go: it is that of the other server
  return connection;
}

}  // namespace berth
