// SPDX-License-Identifier: Apache-2.0
// What authenticates a request, read now.
#ifndef BERTH_SRC_KUBERNETES_CREDENTIALS_H_
#define BERTH_SRC_KUBERNETES_CREDENTIALS_H_

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kubernetes/connection.h"

namespace berth {

// All that is read from files and programs, and so may change while the process runs.
struct Credentials {
  std::string authority_pem;  // certificates to trust; empty: the system's
  std::string token;
  std::string certificate_pem, key_pem;
  absl::Time read_again = absl::InfiniteFuture();  // they go stale then
};

// Reads the files of `connection` and runs its plugin: may block for a minute. Errors name the file
// or the program, and what to do. `give_up` stops a program.
absl::StatusOr<Credentials> ReadCredentials(const Connection& connection, absl::Time now,
                                            const std::atomic<bool>& give_up);

// What is wrong with the files of `connection` as they are now. Runs no plugin.
absl::Status CheckFiles(const Connection& connection);

// What a plugin printed. The time is the one it gives in expirationTimestamp.
absl::StatusOr<Credentials> ParseExecCredential(absl::string_view output, const ExecPlugin& plugin);

// When the first certificate of `pem` ends; InfiniteFuture if there is none that can be read.
absl::Time CertificateEnd(absl::string_view pem);

// KUBERNETES_EXEC_INFO for the plugin of `connection`.
std::string ExecInfo(const Connection& connection, absl::string_view authority_pem);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_CREDENTIALS_H_
