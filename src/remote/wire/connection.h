// SPDX-License-Identifier: Apache-2.0
// Both ends of a gRPC connection as Berth makes them: credentials by the rules of address.h, limits
// on messages, the standard health service and reflection. gRPC's headers are included here and
// nowhere outside src/remote.
#ifndef BERTH_SRC_REMOTE_WIRE_CONNECTION_H_
#define BERTH_SRC_REMOTE_WIRE_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "remote/wire/address.h"

namespace berth {

// The largest message that either end takes: 5,000 nodes with their pods are some 20 MiB.
inline constexpr int kMaxWireMessageBytes = 256 << 20;

// A channel of its own connection, which connects when it is first used. Error: the address cannot
// be trusted, or a file cannot be read.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const WireAddress& address,
                                                           const TlsFiles& tls);

// What a server takes of its clients.
struct WireLimits {
  int message_bytes = kMaxWireMessageBytes;  // of one message
  int threads = 0;                           // of calls that block; 0: any number
};

// A server of some services, serving as long as it lives.
class WireServer {
 public:
  // Listens on `address`, with health (every service SERVING) and reflection. A Unix socket is for
  // this user alone; one that is left over from a dead process is replaced. The services outlive
  // the server.
  static absl::StatusOr<std::unique_ptr<WireServer>> Start(
      const WireAddress& address, const TlsFiles& tls, const std::vector<grpc::Service*>& services,
      const WireLimits& limits = {});
  ~WireServer();

  // With the port that was taken if it was to be any.
  const WireAddress& address() const { return address_; }
  // Ends calls that are under way after `grace`.
  void Shutdown(absl::Duration grace);
  // Until Shutdown(), from another thread.
  void Wait() { server_->Wait(); }

 private:
  WireServer() = default;

  WireAddress address_;
  std::unique_ptr<grpc::Server> server_;
};

// "deadline exceeded: ...": a gRPC status for people.
std::string WireErrorText(const grpc::Status& status);

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_WIRE_CONNECTION_H_
