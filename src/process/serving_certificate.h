// SPDX-License-Identifier: Apache-2.0
// The certificate that a server shows: from files, followed as they change, or self-signed.
#ifndef BERTH_SRC_PROCESS_SERVING_CERTIFICATE_H_
#define BERTH_SRC_PROCESS_SERVING_CERTIFICATE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace boost::asio::ssl {
class context;  // NOLINT(readability-identifier-naming)
}  // namespace boost::asio::ssl

namespace berth {

// Belongs to one thread.
class ServingCertificate {
 public:
  using TlsContext = std::shared_ptr<boost::asio::ssl::context>;
  using Warn = std::function<void(absl::string_view)>;

  // Both files, or neither and a host. Errors name the file.
  static absl::StatusOr<ServingCertificate> Create(std::string certificate_file,
                                                   std::string key_file,
                                                   std::string self_signed_host, Warn warn);

  // For a new connection, never null. Files that cannot be used any more are told once; the last
  // that could be stays. A self-signed certificate is made again before it expires.
  TlsContext Current();

 private:
  ServingCertificate(std::string certificate_file, std::string key_file,
                     std::string self_signed_host, Warn warn);

  bool is_self_signed() const { return certificate_file_.empty(); }
  absl::StatusOr<TlsContext> Load() const;
  std::string StateOfFiles() const;

  std::string certificate_file_, key_file_;
  std::string self_signed_host_;
  Warn warn_;
  TlsContext context_;
  std::string loaded_;   // the state of the files that were looked at last
  absl::Time renew_at_;  // of a self-signed certificate
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_SERVING_CERTIFICATE_H_
