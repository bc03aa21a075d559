// SPDX-License-Identifier: Apache-2.0
// Implementation of secure_server.h, with Boost.Asio and Boost.Beast.
#include "process/secure_server.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "process/request_head.h"
#include "process/serving_certificate.h"

namespace berth {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};

std::vector<std::string> ClientCertificates(SSL* tls) {
  std::vector<std::string> certificates;
  const auto add = [&certificates](X509* certificate) {
    unsigned char* der = nullptr;
    const int size = i2d_X509(certificate, &der);
    if (size <= 0) return;
    certificates.emplace_back(reinterpret_cast<const char*>(der), size);
    OPENSSL_free(der);
  };
  X509* const own = SSL_get0_peer_certificate(tls);
  if (own == nullptr) return certificates;
  add(own);
  const STACK_OF(X509)* const others =
      SSL_get_peer_cert_chain(tls);  // without its own, of a client
  for (int i = 0; i < sk_X509_num(others); ++i) add(sk_X509_value(others, i));
  return certificates;
}

}  // namespace

// --- One connection -----------------------------------------------------------------------------

// Reads a request, has it authorized and answered, and so on. Lives as long as something is under
// way for it. Server's thread.
class SecureServer::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Core& core, uint64_t id, tcp::socket socket, ServingCertificate::TlsContext context)
      : core_(core), id_(id), context_(std::move(context)), stream_(std::move(socket), *context_) {}

  void Start();
  void Send(ServerResponse response);
  void Close();
  // Whether it waits for its client to say something.
  bool is_waiting() const { return is_waiting_; }
  uint64_t waiting_since() const { return waiting_since_; }

 private:
  void Read(absl::Duration timeout);
  void OnHead(error_code error);
  void Finish();

  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }
  void SetDeadline(absl::Duration timeout) {
    tcp().expires_after(absl::ToChronoMilliseconds(timeout));
  }

  Core& core_;
  const uint64_t id_;
  const ServingCertificate::TlsContext context_;
  asio::ssl::stream<beast::tcp_stream> stream_;
  beast::flat_buffer buffer_;
  std::optional<RequestParser> parser_;
  http::response<http::string_body> response_;
  std::vector<std::string> client_certificates_;
  bool is_waiting_ = true;
  uint64_t waiting_since_ = 0;
  bool keep_alive_ = false;
  bool is_head_ = false;
};

// --- All of them --------------------------------------------------------------------------------

class SecureServer::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(SecureServerOptions options, AuthorizeRequest authorize, Endpoints endpoints,
       ServingCertificate certificate)
      : options_(std::move(options)),
        authorize_(std::move(authorize)),
        endpoints_(std::move(endpoints)),
        certificate_(std::move(certificate)) {}

  absl::Status Listen();
  int port() const { return port_; }
  void Run() { io_.run(); }
  void Stop() { io_.stop(); }

  // For sessions.
  const SecureServerOptions& options() const { return options_; }
  uint64_t NextTurn() { return ++turns_; }
  void Handle(uint64_t id, ServerRequest request);
  void Forget(uint64_t id) { sessions_.erase(id); }

 private:
  void Accept();
  void Admit(tcp::socket socket);
  bool CloseOneThatWaits();
  void Answer(uint64_t id, const ServerRequest& request, std::optional<ServerResponse> refusal);

  asio::io_context io_{1};  // first: handlers hold sessions
  const SecureServerOptions options_;
  const AuthorizeRequest authorize_;
  const Endpoints endpoints_;
  ServingCertificate certificate_;
  tcp::acceptor acceptor_{io_};
  asio::steady_timer pause_{io_};
  int port_ = 0;
  std::map<uint64_t, std::shared_ptr<Session>> sessions_;
  uint64_t next_session_ = 0;
  uint64_t turns_ = 0;
};

absl::Status SecureServer::Core::Listen() {
  const std::string where = absl::StrCat("secure port ", options_.bind_address, ":", options_.port);
  error_code error;
  const auto failed = [&] {
    return absl::UnavailableError(absl::StrCat(where, ": ", error.message()));
  };
  if (options_.port < 0 || options_.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": a port is 0 to 65535"));
  }
  const asio::ip::address address = asio::ip::make_address(options_.bind_address, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat(where, ": not an IP address"));
  const tcp::endpoint endpoint(address, static_cast<uint16_t>(options_.port));
  if (acceptor_.open(endpoint.protocol(), error)) return failed();
  (void)acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (address.is_v6()) (void)acceptor_.set_option(asio::ip::v6_only(false), error);
  if (acceptor_.bind(endpoint, error)) return failed();
  if (acceptor_.listen(asio::socket_base::max_listen_connections, error)) return failed();
  port_ = acceptor_.local_endpoint(error).port();
  if (error) return failed();
  Accept();
  return absl::OkStatus();
}

void SecureServer::Core::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!error) {
      Admit(std::move(socket));
      return Accept();
    }
    // Out of file descriptors, perhaps: those that wait for nothing make room.
    CloseOneThatWaits();
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](error_code) { Accept(); });
  });
}

void SecureServer::Core::Admit(tcp::socket socket) {
  if (static_cast<int>(sessions_.size()) >= options_.max_connections && !CloseOneThatWaits()) {
    return;
  }
  const uint64_t id = ++next_session_;
  auto session = std::make_shared<Session>(*this, id, std::move(socket), certificate_.Current());
  sessions_.emplace(id, session);
  session->Start();
}

bool SecureServer::Core::CloseOneThatWaits() {
  Session* oldest = nullptr;
  for (const auto& [id, session] : sessions_) {
    if (!session->is_waiting()) continue;
    if (oldest == nullptr || session->waiting_since() < oldest->waiting_since()) {
      oldest = session.get();
    }
  }
  if (oldest == nullptr) return false;
  oldest->Close();
  return true;
}

void SecureServer::Core::Handle(uint64_t id, ServerRequest request) {
  if (authorize_ == nullptr) return Answer(id, request, std::nullopt);
  auto shared = std::make_shared<const ServerRequest>(std::move(request));
  authorize_(*shared, [weak = weak_from_this(), id, shared](std::optional<ServerResponse> refusal) {
    const std::shared_ptr<Core> core = weak.lock();
    if (core == nullptr) return;
    asio::post(core->io_, [raw = core.get(), id, shared, refusal = std::move(refusal)]() mutable {
      raw->Answer(id, *shared, std::move(refusal));
    });
  });
}

void SecureServer::Core::Answer(uint64_t id, const ServerRequest& request,
                                std::optional<ServerResponse> refusal) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;  // cut off
  const std::shared_ptr<Session> session = found->second;
  session->Send(refusal.has_value() ? *std::move(refusal) : endpoints_.Answer(request));
}

// --- Implementation of a session ----------------------------------------------------------------

void SecureServer::Session::Start() {
  if (core_.options().only_tls13) {
    SSL_set_min_proto_version(stream_.native_handle(), TLS1_3_VERSION);
  }
  waiting_since_ = core_.NextTurn();
  SetDeadline(core_.options().handshake_timeout);
  stream_.async_handshake(
      asio::ssl::stream_base::server, [self = shared_from_this()](error_code error) {
        if (error) return self->Close();
        self->client_certificates_ = ClientCertificates(self->stream_.native_handle());
        self->Read(self->core_.options().request_timeout);
      });
}

void SecureServer::Session::Read(absl::Duration timeout) {
  is_waiting_ = true;
  waiting_since_ = core_.NextTurn();
  parser_.emplace();
  SetLimits(*parser_);
  SetDeadline(timeout);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](error_code error, size_t) { self->OnHead(error); });
}

void SecureServer::Session::OnHead(error_code error) {
  is_waiting_ = false;
  std::optional<RequestHead> head = TakeHead(*parser_, error);
  if (!head.has_value()) return Close();
  keep_alive_ = head->keep_alive;
  is_head_ = head->is_head;
  if (head->refusal.has_value()) return Send(*std::move(head->refusal));
  head->request.client_certificates = client_certificates_;
  core_.Handle(id_, std::move(head->request));
}

void SecureServer::Session::Send(ServerResponse response) {
  response_ = {};
  response_.version(11);
  response_.result(static_cast<unsigned>(response.code));
  response_.set(http::field::content_type, response.content_type);
  response_.set(http::field::cache_control, "no-cache, private");
  response_.set("X-Content-Type-Options", "nosniff");
  if (response.code == 405) response_.set(http::field::allow, "GET, HEAD");
  response_.keep_alive(keep_alive_);
  response_.content_length(response.body.size());
  if (!is_head_) response_.body() = std::move(response.body);
  SetDeadline(core_.options().answer_timeout);
  const auto sent = [self = shared_from_this()](error_code error, size_t) {
    if (error) return self->Close();
    self->response_ = {};
    if (!self->keep_alive_) return self->Finish();
    self->Read(self->core_.options().idle_timeout);
  };
  http::async_write(stream_, response_, sent);
}

void SecureServer::Session::Finish() {
  stream_.async_shutdown([self = shared_from_this()](error_code) { self->Close(); });
}

void SecureServer::Session::Close() {
  error_code ignored;
  (void)tcp().socket().close(ignored);
  core_.Forget(id_);
}

// --- The server ---------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<SecureServer>> SecureServer::Start(SecureServerOptions options,
                                                                  AuthorizeRequest authorize,
                                                                  Endpoints endpoints) {
  absl::StatusOr<ServingCertificate> certificate = ServingCertificate::Create(
      options.certificate_file, options.key_file, options.self_signed_host, options.warn);
  if (!certificate.ok()) return certificate.status();
  auto core = std::make_shared<Core>(std::move(options), std::move(authorize), std::move(endpoints),
                                     *std::move(certificate));
  absl::Status listening = core->Listen();
  if (!listening.ok()) return listening;
  return std::unique_ptr<SecureServer>(new SecureServer(std::move(core)));
}

SecureServer::SecureServer(std::shared_ptr<Core> core)
    : core_(std::move(core)), thread_([raw = core_.get()] { raw->Run(); }) {}

SecureServer::~SecureServer() {
  core_->Stop();
  thread_.join();
}

int SecureServer::port() const { return core_->port(); }

}  // namespace berth
