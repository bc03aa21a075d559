// SPDX-License-Identifier: Apache-2.0
// Where a gRPC peer is, and what makes it trusted: a Unix socket with file permissions, TCP with
// mutual TLS, or TCP on the loopback interface.
#ifndef BERTH_SRC_REMOTE_WIRE_ADDRESS_H_
#define BERTH_SRC_REMOTE_WIRE_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth {

// PEM files. All three or none.
struct TlsFiles {
  std::string ca_file;    // who signs the peer's certificate
  std::string cert_file;  // one's own
  std::string key_file;
  std::string server_name;  // of a client: what the server's certificate says, if not the address

  bool empty() const { return ca_file.empty() && cert_file.empty() && key_file.empty(); }
};

struct WireAddress {
  bool is_unix = false;
  std::string path;  // of a Unix socket
  std::string host;  // of TCP; without brackets
  int port = 0;

  // "unix:/run/x.sock", "unix:///run/x.sock", "127.0.0.1:7000", "[::1]:7000" or "name:7000". Error:
  // InvalidArgument that says what is wrong. Port 0 is for servers that take any.
  static absl::StatusOr<WireAddress> Parse(absl::string_view text);

  // 127.0.0.0/8, ::1 or "localhost".
  bool IsLoopback() const;
  // As gRPC and Parse() take it.
  std::string ToString() const;
};

// Whether a peer there, with these files, can be trusted: an InvalidArgument that says what to do
// if not.
absl::Status CheckTrust(const WireAddress& address, const TlsFiles& tls);

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_WIRE_ADDRESS_H_
