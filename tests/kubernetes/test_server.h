// SPDX-License-Identifier: Apache-2.0
// A small HTTP server for tests: HTTP/1.1 or HTTP/2, with or without TLS, and with every way of
// breaking.
#ifndef BERTH_TESTS_KUBERNETES_TEST_SERVER_H_
#define BERTH_TESTS_KUBERNETES_TEST_SERVER_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "berth/mutex.h"
#include "tests/kubernetes/test_certificates.h"

namespace berth {

struct TestRequest {
  std::string method, target, body;
  std::map<std::string, std::string> headers;  // names in lower case; ":authority" is "host"
  std::string client_name;                     // of its certificate
  int connection = 0;                          // counted from 1
};

// The answer to one request. Calls return false when the client has gone.
class TestAnswer {
 public:
  virtual ~TestAnswer() = default;
  virtual bool Start(int code, const std::string& content_type,
                     const std::map<std::string, std::string>& headers = {}) = 0;
  virtual bool Write(absl::string_view bytes) = 0;
  virtual bool IsGone() = 0;
  virtual void Cut() = 0;  // closes the connection as it is; the handler returns next

  bool Send(int code, const std::string& content_type, absl::string_view body,
            const std::map<std::string, std::string>& headers = {}) {
    return Start(code, content_type, headers) && Write(body);
  }
};

class TestServer {
 public:
  // Runs on a thread of its own; the answer ends when it returns.
  using Handler = std::function<void(const TestRequest& request, TestAnswer& answer)>;
  struct Options {
    const TestCertificates* certificates = nullptr;  // null: no TLS
    bool http2 = false;                              // needs TLS
  };

  TestServer(Options options, Handler handler);
  explicit TestServer(Handler handler) : TestServer(Options(), std::move(handler)) {}
  ~TestServer();

  std::string url() const;
  int port() const { return port_; }
  int connections() const { return connections_; }
  // Closes all connections and refuses new ones; or takes them again, at the same port.
  void Stop();
  void Restart();

 private:
  class Socket;
  class Http1;
  class Http2;

  void Listen();
  void Accept();
  void Serve(int fd, int connection);

  const Options options_;
  const Handler handler_;
  std::shared_ptr<void> tls_context_;
  int port_ = 0;
  std::atomic<int> listener_ = -1;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  std::thread accepting_;
  Mutex mutex_;
  std::vector<std::thread> serving_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth

#endif  // BERTH_TESTS_KUBERNETES_TEST_SERVER_H_
