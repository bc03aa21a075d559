// SPDX-License-Identifier: Apache-2.0
// Implementation of in_cluster.h.
#include "kubernetes/in_cluster.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/input_file.h"

namespace berth {

absl::StatusOr<Connection> InClusterConnection(
    const std::function<std::string(const char* name)>& environment, const std::string& folder) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  const std::string port = environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return absl::NotFoundError(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod");
  }
  Connection connection;
  connection.name = absl::StrCat("service account of ", folder);
  connection.token_file = absl::StrCat(folder, "/token");
  const absl::StatusOr<std::string> token = ReadInputFile(connection.token_file);
  if (!token.ok() || absl::StripAsciiWhitespace(*token).empty()) {
    return absl::NotFoundError(
        absl::StrCat(connection.token_file, ": ",
                     token.ok() ? "is empty" : std::string(token.status().message()),
                     ". Does the pod have automountServiceAccountToken: false?"));
  }
  connection.certificate_authority.file = absl::StrCat(folder, "/ca.crt");
  const absl::StatusOr<std::string> authority =
      ReadInputFile(connection.certificate_authority.file);
  if (!authority.ok()) {
    return absl::NotFoundError(absl::StrCat(connection.certificate_authority.file, ": ",
                                            authority.status().message(),
                                            ". The service account volume is incomplete."));
  }
  connection.server = absl::StrContains(host, ':') ? absl::StrCat("https://[", host, "]:", port)
                                                   : absl::StrCat("https://", host, ":", port);
  const absl::StatusOr<std::string> name = ReadInputFile(absl::StrCat(folder, "/namespace"));
  if (name.ok()) connection.namespace_name = std::string(absl::StripAsciiWhitespace(*name));
  return connection;
}

}  // namespace berth
