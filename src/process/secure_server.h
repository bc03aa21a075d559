// SPDX-License-Identifier: Apache-2.0
// The server of the secure port: HTTP/1.1 over TLS, for health, metrics and configuration.
#ifndef BERTH_SRC_PROCESS_SECURE_SERVER_H_
#define BERTH_SRC_PROCESS_SECURE_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "process/http.h"

namespace berth {

struct SecureServerOptions {
  std::string bind_address = "0.0.0.0";  // "::" is IPv6 and IPv4
  int port = 10259;  // 0: any that is free (--secure-port=0, no server at all, is the caller's)
  // PEM; read again when they change. Both empty: a self-signed certificate for `self_signed_host`
  // and the loopback addresses, of this process only.
  std::string certificate_file, key_file;
  std::string self_signed_host = "localhost";
  bool only_tls13 = false;  // else TLS 1.2, too

  // Clients that take longer are cut off. More connections than this: those that have been waiting
  // for a client for longest are closed for new ones.
  int max_connections = 128;
  absl::Duration handshake_timeout = absl::Seconds(10);
  absl::Duration request_timeout = absl::Seconds(10);  // the first request of a connection
  absl::Duration idle_timeout = absl::Seconds(90);     // further ones
  absl::Duration answer_timeout = absl::Seconds(30);   // to send an answer

  // For people: what goes wrong beside single connections. Called on the server's thread.
  std::function<void(absl::string_view text)> warn = [](absl::string_view) {};
};

// One thread serves all connections, and waits for none of them. Clients may show a certificate;
// who they are is for `authorize` to say.
class SecureServer {
 public:
  // A null `authorize` allows everything. Errors name the address or the file.
  static absl::StatusOr<std::unique_ptr<SecureServer>> Start(SecureServerOptions options,
                                                             AuthorizeRequest authorize,
                                                             Endpoints endpoints);
  // Closes all connections. What `authorize` says later is dropped.
  ~SecureServer();

  int port() const;

 private:
  class Core;
  class Session;

  explicit SecureServer(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
  std::thread thread_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_SECURE_SERVER_H_
