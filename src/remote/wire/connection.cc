// SPDX-License-Identifier: Apache-2.0
// Implementation of connection.h.
#include "remote/wire/connection.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "remote/wire/certificates.h"

namespace berth {
namespace {

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", path));
  }
  return text.str();
}

struct Pems {
  std::string ca, cert, key;
};

absl::StatusOr<Pems> ReadPems(const TlsFiles& tls) {
  Pems pems;
  for (const auto& [path, text] :
       {std::pair(&tls.ca_file, &pems.ca), std::pair(&tls.cert_file, &pems.cert),
        std::pair(&tls.key_file, &pems.key)}) {
    absl::StatusOr<std::string> read = ReadPem(*path);
    if (!read.ok()) return read.status();
    *text = *std::move(read);
  }
  if (absl::Status usable = CheckOwnCertificate(pems.cert, pems.key, tls); !usable.ok()) {
    return usable;
  }
  return pems;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsOf(const TlsFiles& tls) {
  if (tls.empty()) return grpc::InsecureServerCredentials();
  const absl::StatusOr<Pems> pems = ReadPems(tls);
  if (!pems.ok()) return pems.status();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = pems->ca;
  options.pem_key_cert_pairs.push_back({pems->key, pems->cert});
  return grpc::SslServerCredentials(options);
}

sockaddr_un SocketAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

// Removes a socket on which no process listens. What else is there stays: gRPC itself would remove
// a socket whose server is still there.
absl::Status FreePath(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0) return absl::OkStatus();
  if (!S_ISSOCK(found.st_mode)) {
    return absl::AlreadyExistsError(absl::StrCat(path, " is there already, and is no socket"));
  }
  const sockaddr_un address = SocketAddress(path);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return absl::ErrnoToStatus(errno, "socket");
  const int error =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
  close(probe);
  if (error == 0) {
    return absl::AlreadyExistsError(absl::StrCat("another process listens on ", path));
  }
  if (error != ECONNREFUSED) return absl::ErrnoToStatus(error, path);
  unlink(path.c_str());
  return absl::OkStatus();
}

std::string BindError(int family, const sockaddr* address, socklen_t size) {
  const int probe = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::strerror(errno);
  const int one = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  const bool listens = bind(probe, address, size) == 0 && listen(probe, 1) == 0;
  std::string error = listens ? "" : std::strerror(errno);
  close(probe);
  return error;
}

// gRPC says it to its log alone: what the system says to one who tries the same.
std::string WhyNotListening(const WireAddress& address) {
  std::string error;
  if (address.is_unix) {
    const sockaddr_un path = SocketAddress(address.path);
    error = BindError(AF_UNIX, reinterpret_cast<const sockaddr*>(&path), sizeof(path));
    if (error.empty()) unlink(address.path.c_str());
  } else {
    addrinfo hints = {};
    hints.ai_flags = AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int code =
        getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
    if (code != 0) return gai_strerror(code);
    for (const addrinfo* each = found; each != nullptr && error.empty(); each = each->ai_next) {
      error = BindError(each->ai_family, each->ai_addr, each->ai_addrlen);
    }
    freeaddrinfo(found);
  }
  return error.empty() ? "the reason is not known" : error;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(const WireAddress& address,
                                                           const TlsFiles& tls) {
  if (absl::Status trust = CheckTrust(address, tls); !trust.ok()) return trust;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  grpc::ChannelArguments arguments;
  if (!tls.empty()) {
    const absl::StatusOr<Pems> pems = ReadPems(tls);
    if (!pems.ok()) return pems.status();
    credentials = grpc::SslCredentials({pems->ca, pems->key, pems->cert});
    if (!tls.server_name.empty()) arguments.SetSslTargetNameOverride(tls.server_name);
  }
  arguments.SetMaxReceiveMessageSize(kMaxWireMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxWireMessageBytes);
  // A peer that went without a word is noticed; who reconnects, and how often, is the caller's
  // affair.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address.ToString(), credentials, arguments);
}

absl::StatusOr<std::unique_ptr<WireServer>> WireServer::Start(
    const WireAddress& address, const TlsFiles& tls, const std::vector<grpc::Service*>& services,
    const WireLimits& limits) {
  if (absl::Status trust = CheckTrust(address, tls); !trust.ok()) return trust;
  const auto credentials = ServerCredentialsOf(tls);
  if (!credentials.ok()) return credentials.status();
  if (address.is_unix) {
    if (absl::Status free = FreePath(address.path); !free.ok()) return free;
  }

  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address.ToString(), *credentials, &port);
  builder.SetMaxReceiveMessageSize(limits.message_bytes);
  builder.SetMaxSendMessageSize(kMaxWireMessageBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000);
  // A client whose machine went without a word is noticed, too.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  if (limits.threads > 0) {
    grpc::ResourceQuota quota("berth");
    quota.SetMaxThreads(limits.threads);
    builder.SetResourceQuota(quota);
  }
  for (grpc::Service* const service : services) builder.RegisterService(service);

  std::unique_ptr<WireServer> server(new WireServer());
  server->address_ = address;
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || (!address.is_unix && port == 0)) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address.ToString(), ": ", WhyNotListening(address)));
  }
  if (address.is_unix) {
    if (chmod(address.path.c_str(), S_IRUSR | S_IWUSR) != 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot protect ", address.path, ": ", std::strerror(errno)));
    }
  } else {
    server->address_.port = port;
  }
  return server;
}

WireServer::~WireServer() {
  if (server_ != nullptr) Shutdown(absl::ZeroDuration());
}

void WireServer::Shutdown(absl::Duration grace) {
  server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
}

std::string WireErrorText(const grpc::Status& status) {
  constexpr absl::string_view kNames[] = {"ok",
                                          "cancelled",
                                          "failed",
                                          "invalid argument",
                                          "deadline exceeded",
                                          "not found",
                                          "already exists",
                                          "permission denied",
                                          "too large or too many",
                                          "failed precondition",
                                          "aborted",
                                          "out of range",
                                          "not implemented",
                                          "internal error",
                                          "unreachable",
                                          "data loss",
                                          "not authenticated"};
  const auto code = static_cast<size_t>(status.error_code());
  return absl::StrCat(code < std::size(kNames) ? kNames[code] : "failed",
                      status.error_message().empty() ? "" : ": ", status.error_message());
}

}  // namespace berth
