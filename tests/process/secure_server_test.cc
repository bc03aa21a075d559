// SPDX-License-Identifier: Apache-2.0
// The server of the secure port against clients, and against what only looks like clients.
#include "process/secure_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/mutex.h"
#include "tests/kubernetes/temporary_folder.h"
#include "tests/kubernetes/test_certificates.h"
#include "tests/process/https_client.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

Endpoints EchoEndpoints() {
  Endpoints endpoints;
  endpoints.Add("/echo", [](const ServerRequest& request) {
    return ServerResponse{.body = absl::StrCat(request.method, " ", request.path, " ",
                                               request.query, " ", request.Header("x-a"), " ",
                                               request.client_certificates.size())};
  });
  endpoints.Add("/large", [](const ServerRequest&) {
    return ServerResponse{.body = std::string(3 << 20, 'x')};
  });
  return endpoints;
}

SecureServerOptions OnLoopback() {
  SecureServerOptions options;
  options.bind_address = "127.0.0.1";
  options.port = 0;
  return options;
}

std::unique_ptr<SecureServer> StartServer(SecureServerOptions options,
                                          AuthorizeRequest authorize = nullptr) {
  absl::StatusOr<std::unique_ptr<SecureServer>> server =
      SecureServer::Start(std::move(options), std::move(authorize), EchoEndpoints());
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

std::string Url(const SecureServer& server, const std::string& path,
                const std::string& host = "127.0.0.1") {
  return absl::StrCat("https://", host, ":", server.port(), path);
}

// A TCP connection that does no TLS by itself.
class Connection {
 public:
  explicit Connection(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  void Send(absl::string_view text) const {
    (void)!send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
  }
  // Whether the server closes it within that time.
  bool IsClosedWithin(absl::Duration time) const {
    timeval limit = absl::ToTimeval(time);
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    char byte;
    for (;;) {
      const ssize_t got = recv(fd_, &byte, 1, 0);
      if (got > 0) continue;
      return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
  }

 private:
  int fd_;
};

TEST(SecureServer, AnswersWithACertificateOfItsOwn) {
  const auto server = StartServer(OnLoopback());
  const HttpsAnswer answer = Fetch({.url = Url(*server, "/echo?a=1&b"), .headers = {"X-A: hello"}});
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(answer.body, "GET /echo a=1&b hello 0");
  EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(answer.headers.at("cache-control"), "no-cache, private");
  EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
  // And it is verified if it is to be.
  const HttpsAnswer verified =
      Fetch({.url = Url(*server, "/echo"),
             .authority_pem = MakeTestCertificates("IP:127.0.0.1").authority_pem});
  EXPECT_EQ(verified.code, 0);
  EXPECT_THAT(verified.error, HasSubstr("certificate"));
}

TEST(SecureServer, AnswersAsHttpHasIt) {
  const auto server = StartServer(OnLoopback());
  EXPECT_EQ(Fetch({.url = Url(*server, "/none")}).body, "404 page not found\n");
  EXPECT_EQ(Fetch({.url = Url(*server, "/none")}).code, 404);
  const HttpsAnswer post = Fetch({.url = Url(*server, "/echo"), .method = "POST", .body = "a=b"});
  EXPECT_EQ(post.code, 405);
  EXPECT_EQ(post.headers.at("allow"), "GET, HEAD");
  const HttpsAnswer head = Fetch({.url = Url(*server, "/echo"), .method = "HEAD"});
  EXPECT_EQ(head.code, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(head.headers.at("content-length"), absl::StrCat(std::string("HEAD /echo   0").size()));
  EXPECT_EQ(Fetch({.url = Url(*server, "/large")}).body.size(), 3 << 20);
  EXPECT_EQ(Fetch({.url = Url(*server, "/echo"),
                   .headers = {absl::StrCat("X-A: ", std::string(20000, 'a'))}})
                .code,
            431);
}

TEST(SecureServer, MayRefuseOldTls) {
  SecureServerOptions options = OnLoopback();
  for (const bool only_tls13 : {false, true}) {
    options.only_tls13 = only_tls13;
    const auto server = StartServer(options);
    EXPECT_EQ(Fetch({.url = Url(*server, "/echo")}).code, 200);
    const HttpsAnswer old = Fetch({.url = Url(*server, "/echo"), .only_tls12 = true});
    EXPECT_EQ(old.code, only_tls13 ? 0 : 200) << old.error;
  }
}

TEST(SecureServer, ListensOnEveryAddress) {
  SecureServerOptions options = OnLoopback();
  options.bind_address = "::";
  const auto server = StartServer(options);
  EXPECT_EQ(Fetch({.url = Url(*server, "/echo")}).code, 200);
  EXPECT_EQ(Fetch({.url = Url(*server, "/echo", "[::1]")}).code, 200);
  options.bind_address = "0.0.0.0";
  const auto other = StartServer(options);
  EXPECT_EQ(Fetch({.url = Url(*other, "/echo")}).code, 200);
}

TEST(SecureServer, SaysWhyItCannotStart) {
  const auto server = StartServer(OnLoopback());
  const auto error = [](SecureServerOptions options) {
    const auto started = SecureServer::Start(std::move(options), nullptr, {});
    EXPECT_FALSE(started.ok());
    return std::string(started.status().message());
  };
  SecureServerOptions options = OnLoopback();
  options.port = server->port();
  EXPECT_EQ(error(options),
            absl::StrCat("secure port 127.0.0.1:", server->port(), ": Address already in use"));
  options = OnLoopback();
  options.bind_address = "localhost";
  EXPECT_EQ(error(options), "secure port localhost:0: not an IP address");
  options = OnLoopback();
  options.certificate_file = "/nowhere/tls.crt";
  EXPECT_THAT(error(options), HasSubstr("--tls-private-key-file"));
  options.key_file = "/nowhere/tls.key";
  EXPECT_THAT(error(options), HasSubstr("certificate /nowhere/tls.crt: "));
}

TEST(SecureServer, ShowsCertificatesFromFilesAndFollowsThem) {
  const TemporaryFolder folder;
  const TestCertificates first = MakeTestCertificates("IP:127.0.0.1");
  const TestCertificates second = MakeTestCertificates("IP:127.0.0.1");
  SecureServerOptions options = OnLoopback();
  options.certificate_file = folder.Write("tls.crt", first.server_pem);
  options.key_file = folder.Write("tls.key", first.server_key_pem);
  std::atomic<int> warnings = 0;
  options.warn = [&](absl::string_view text) {
    EXPECT_THAT(std::string(text), HasSubstr("tls."));
    ++warnings;
  };
  const auto server = StartServer(options);
  const auto fetch = [&](const TestCertificates& by) {
    return Fetch({.url = Url(*server, "/echo"), .authority_pem = by.authority_pem}).code;
  };
  EXPECT_EQ(fetch(first), 200);
  EXPECT_EQ(fetch(second), 0);
  // Half of a change: the old one stays, and it is told once.
  folder.Write("tls.crt", second.server_pem);
  EXPECT_EQ(fetch(first), 200);
  EXPECT_EQ(fetch(first), 200);
  EXPECT_EQ(warnings, 1);
  folder.Write("tls.key", second.server_key_pem);
  EXPECT_EQ(fetch(second), 200);
  EXPECT_EQ(fetch(first), 0);
  EXPECT_EQ(warnings, 1);
}

TEST(SecureServer, HandsClientCertificatesOver) {
  const auto server = StartServer(OnLoopback());
  const TestCertificates certificates = MakeTestCertificates("IP:127.0.0.1");
  const HttpsAnswer answer = Fetch({.url = Url(*server, "/echo"),
                                    .client_pem = certificates.client_pem,
                                    .client_key_pem = certificates.client_key_pem});
  EXPECT_EQ(answer.body, "GET /echo   1");
}

TEST(SecureServer, AnswersOnceItIsAuthorizedOnAnyThread) {
  std::vector<std::thread> threads;
  Mutex mutex;
  const auto server = StartServer(OnLoopback(), [&](const ServerRequest& request, auto done) {
    MutexLock lock(mutex);
    threads.emplace_back([done, allowed = request.path == "/echo"] {
      absl::SleepFor(absl::Milliseconds(20));
      if (allowed) return done(std::nullopt);
      done(PlainError(403, "no"));
    });
  });
  EXPECT_EQ(Fetch({.url = Url(*server, "/echo")}).code, 200);
  const HttpsAnswer refused = Fetch({.url = Url(*server, "/large")});
  EXPECT_EQ(refused.code, 403);
  EXPECT_EQ(refused.body, "no\n");
  for (std::thread& thread : threads) thread.join();
}

TEST(SecureServer, EndsWhileItIsAsked) {
  std::function<void(std::optional<ServerResponse>)> later;
  Mutex mutex;
  CondVar changed;
  auto server = StartServer(OnLoopback(), [&](const ServerRequest&, auto done) {
    MutexLock lock(mutex);
    later = done;
    changed.SignalAll();
  });
  std::thread client([url = Url(*server, "/echo")] { EXPECT_EQ(Fetch({.url = url}).code, 0); });
  {
    MutexLock lock(mutex);
    while (later == nullptr) changed.Wait(mutex);
  }
  server.reset();
  client.join();
  later(std::nullopt);  // nobody is there any more
}

// Clients that say nothing, half of something or nonsense keep nobody from an answer, and are cut
// off in time however slowly they go on.
TEST(SecureServer, SlowClientsKeepNobodyWaiting) {
  SecureServerOptions options = OnLoopback();
  options.max_connections = 20;
  options.handshake_timeout = absl::Milliseconds(300);
  const auto server = StartServer(options);
  std::vector<Connection> silent;
  for (int i = 0; i < 19; ++i) silent.emplace_back(server->port());
  silent.back().Send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(silent.back().IsClosedWithin(absl::Seconds(5)));
  EXPECT_EQ(Fetch({.url = Url(*server, "/echo")}).code, 200);
  // A byte now and then does not count as progress.
  std::atomic<bool> end = false;
  std::thread dripping([&] {
    while (!end) {
      silent.front().Send("\x16");
      absl::SleepFor(absl::Milliseconds(50));
    }
  });
  for (const Connection& connection : silent) {
    EXPECT_TRUE(connection.IsClosedWithin(absl::Seconds(5)));
  }
  end = true;
  dripping.join();
}

TEST(SecureServer, ThereIsAlwaysRoomForOneMore) {
  SecureServerOptions options = OnLoopback();
  options.max_connections = 8;
  options.handshake_timeout = absl::Minutes(10);
  const auto server = StartServer(options);
  std::vector<Connection> silent;
  for (int i = 0; i < 40; ++i) silent.emplace_back(server->port());
  EXPECT_EQ(Fetch({.url = Url(*server, "/echo")}).code, 200);
  int closed = 0;
  for (const Connection& connection : silent) {
    closed += connection.IsClosedWithin(absl::Milliseconds(10)) ? 1 : 0;
  }
  EXPECT_GE(closed, 32);  // those that waited longest
  EXPECT_TRUE(silent.front().IsClosedWithin(absl::Seconds(1)));
}

TEST(SecureServer, ManyClientsAtOnce) {
  const auto server = StartServer(OnLoopback());
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      for (int j = 0; j < 5; ++j) {
        if (Fetch({.url = Url(*server, "/echo")}).code == 200) ++answered;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 40);
}

}  // namespace
}  // namespace berth
