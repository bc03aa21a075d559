// SPDX-License-Identifier: Apache-2.0
// Implementation of test_server.h.
#include "tests/kubernetes/test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "berth/check.h"

namespace berth {
namespace {

constexpr int kPollMs = 2;

std::shared_ptr<void> MakeTlsContext(const TestServer::Options& options) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const auto bio = [](const std::string& pem) {
    return std::unique_ptr<BIO, void (*)(BIO*)>(
        BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), [](BIO* b) { BIO_free(b); });
  };
  const TestCertificates& certificates = *options.certificates;
  X509* const own =
      PEM_read_bio_X509(bio(certificates.server_pem).get(), nullptr, nullptr, nullptr);
  EVP_PKEY* const key =
      PEM_read_bio_PrivateKey(bio(certificates.server_key_pem).get(), nullptr, nullptr, nullptr);
  X509* const authority =
      PEM_read_bio_X509(bio(certificates.authority_pem).get(), nullptr, nullptr, nullptr);
  SSL_CTX_use_certificate(context.get(), own);
  SSL_CTX_use_PrivateKey(context.get(), key);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority);
  X509_free(own);
  X509_free(authority);
  EVP_PKEY_free(key);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER,
                     nullptr);  // a client's certificate is asked for
  const unsigned char session[] = "berth";
  SSL_CTX_set_session_id_context(context.get(), session, sizeof(session));
  if (options.http2) {
    SSL_CTX_set_alpn_select_cb(
        context.get(),
        [](SSL*, const unsigned char** out, unsigned char* length, const unsigned char* in,
           unsigned in_length, void*) {
          static const unsigned char kH2[] = "\x02h2";
          return SSL_select_next_proto(const_cast<unsigned char**>(out), length, kH2, 3, in,
                                       in_length) == OPENSSL_NPN_NEGOTIATED
                     ? SSL_TLSEXT_ERR_OK
                     : SSL_TLSEXT_ERR_NOACK;
        },
        nullptr);
  }
  return context;
}

}  // namespace

// Bytes of a connection, with or without TLS. One thread at a time.
class TestServer::Socket {
 public:
  Socket(int fd, void* tls_context) : fd_(fd) {
    if (tls_context == nullptr) return;
    ssl_.reset(SSL_new(static_cast<SSL_CTX*>(tls_context)));
    SSL_set_fd(ssl_.get(), fd);
    if (SSL_accept(ssl_.get()) != 1) open_ = false;
    ERR_clear_error();
  }
  ~Socket() {
    if (open_ && ssl_ != nullptr) SSL_shutdown(ssl_.get());
    ssl_.reset();
    close(fd_);
  }

  bool open() const { return open_; }
  void Cut() {
    open_ = false;
    const linger reset = {1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  }
  // What has come, within a moment; empty if nothing did.
  std::string Read() {
    char buffer[16384];
    if (!open_) return "";
    pollfd readable = {fd_, POLLIN, 0};
    if ((ssl_ == nullptr || SSL_pending(ssl_.get()) == 0) && poll(&readable, 1, kPollMs) <= 0)
      return "";
    const auto n = ssl_ != nullptr ? SSL_read(ssl_.get(), buffer, sizeof(buffer))
                                   : recv(fd_, buffer, sizeof(buffer), 0);
    if (n <= 0) open_ = false;
    ERR_clear_error();
    return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : "";
  }
  bool Write(absl::string_view bytes) {
    while (open_ && !bytes.empty()) {
      const auto n = ssl_ != nullptr
                         ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                         : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        open_ = false;
      } else {
        bytes.remove_prefix(static_cast<size_t>(n));
      }
      ERR_clear_error();
    }
    return open_;
  }
  std::string client_name() const {
    X509* const peer = ssl_ == nullptr ? nullptr : SSL_get0_peer_certificate(ssl_.get());
    if (peer == nullptr) return "";
    char name[256] = "";
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name, sizeof(name));
    return name;
  }
  bool speaks_http2() const {
    const unsigned char* protocol = nullptr;
    unsigned length = 0;
    if (ssl_ != nullptr) SSL_get0_alpn_selected(ssl_.get(), &protocol, &length);
    return absl::string_view(reinterpret_cast<const char*>(protocol), length) == "h2";
  }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  const int fd_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  bool open_ = true;
};

// --- HTTP/1.1 ------------------------------------------------------------------------------------

class TestServer::Http1 final : public TestAnswer {
 public:
  Http1(TestServer& server, Socket& socket, int connection)
      : server_(server), socket_(socket), connection_(connection) {}

  void Run() {
    TestRequest request;
    while (ReadRequest(request)) {
      started_ = false;
      server_.handler_(request, *this);
      if (!started_) return;
      socket_.Write("0\r\n\r\n");
    }
  }

  bool Start(int code, const std::string& content_type,
             const std::map<std::string, std::string>& headers) override {
    started_ = true;
    std::string head = absl::StrCat("HTTP/1.1 ", code, " X\r\nContent-Type: ", content_type,
                                    "\r\nTransfer-Encoding: chunked\r\n");
    for (const auto& [name, value] : headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
    return socket_.Write(absl::StrCat(head, "\r\n"));
  }
  bool Write(absl::string_view bytes) override {
    if (bytes.empty()) return socket_.open();
    return socket_.Write(absl::StrCat(absl::Hex(bytes.size()), "\r\n", bytes, "\r\n"));
  }
  bool IsGone() override {
    buffer_ += socket_.Read();
    return !socket_.open() || server_.stopping_;
  }
  void Cut() override { socket_.Cut(); }

 private:
  bool ReadRequest(TestRequest& request) {
    request = TestRequest();
    request.connection = connection_;
    request.client_name = socket_.client_name();
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!socket_.open() || server_.stopping_) return false;
      buffer_ += socket_.Read();
    }
    const std::string head = buffer_.substr(0, end);
    buffer_.erase(0, end + 4);
    const std::vector<std::string> lines = absl::StrSplit(head, "\r\n");
    const std::vector<std::string> first = absl::StrSplit(lines[0], ' ');
    request.method = first[0];
    request.target = first.size() > 1 ? first[1] : "";
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::pair<std::string, std::string> pair =
          absl::StrSplit(lines[i], absl::MaxSplits(": ", 1));
      request.headers[absl::AsciiStrToLower(pair.first)] = pair.second;
    }
    size_t length = 0;
    (void)absl::SimpleAtoi(request.headers["content-length"], &length);
    while (buffer_.size() < length) {
      if (!socket_.open() || server_.stopping_) return false;
      buffer_ += socket_.Read();
    }
    request.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return true;
  }

  TestServer& server_;
  Socket& socket_;
  const int connection_;
  std::string buffer_;
  bool started_ = false;
};

// --- HTTP/2 --------------------------------------------------------------------------------------

class TestServer::Http2 {
 public:
  Http2(TestServer& server, Socket& socket, int connection)
      : server_(server), socket_(socket), connection_(connection) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnClose);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry many = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 250};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &many, 1);
  }
  ~Http2() {
    for (auto& [id, stream] : streams_) {
      {
        MutexLock lock(mutex_);
        stream->gone = true;
      }
      if (stream->thread.joinable()) stream->thread.join();
    }
    nghttp2_session_del(session_);
  }

  void Run() {
    while (socket_.open() && !server_.stopping_) {
      const std::string bytes = socket_.Read();
      if (!bytes.empty() &&
          nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()),
                                   bytes.size()) < 0) {
        return;
      }
      for (auto& [id, stream] : streams_) Progress(id, *stream);
      const uint8_t* out = nullptr;
      ssize_t size;
      while ((size = nghttp2_session_mem_send(session_, &out)) > 0) {
        socket_.Write({reinterpret_cast<const char*>(out), static_cast<size_t>(size)});
      }
      MutexLock lock(mutex_);
      if (cut_) return socket_.Cut();
    }
  }

 private:
  struct Stream final : TestAnswer {
    explicit Stream(Http2& session) : session(session) {}
    bool Start(int code, const std::string& content_type,
               const std::map<std::string, std::string>& more) override {
      MutexLock lock(session.mutex_);
      headers = more;
      headers["content-type"] = content_type;
      headers[":status"] = absl::StrCat(code);
      started = true;
      return !gone;
    }
    bool Write(absl::string_view bytes) override {
      MutexLock lock(session.mutex_);
      out.append(bytes.data(), bytes.size());
      return !gone;
    }
    bool IsGone() override {
      absl::SleepFor(absl::Milliseconds(kPollMs));
      MutexLock lock(session.mutex_);
      return gone || session.server_.stopping_;
    }
    void Cut() override {
      MutexLock lock(session.mutex_);
      session.cut_ = true;
    }

    Http2& session;
    TestRequest request;
    std::thread thread;
    bool submitted = false;
    // Guarded by the session's mutex.
    std::map<std::string, std::string> headers;
    std::string out;
    bool started = false, ended = false, gone = false;
  };

  static Http2& Self(void* self) { return *static_cast<Http2*>(self); }
  Stream& StreamOf(int32_t id) {
    std::unique_ptr<Stream>& stream = streams_[id];
    if (stream == nullptr) stream = std::make_unique<Stream>(*this);
    return *stream;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self) {
    TestRequest& request = Self(self).StreamOf(frame->hd.stream_id).request;
    const std::string key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":method") request.method = text;
    if (key == ":path") request.target = text;
    request.headers[key == ":authority" ? "host" : key] = text;
    return 0;
  }
  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size,
                    void* self) {
    Self(self).StreamOf(id).request.body.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    const bool of_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!of_request || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    Http2& session = Self(self);
    Stream& stream = session.StreamOf(frame->hd.stream_id);
    stream.request.connection = session.connection_;
    stream.request.client_name = session.socket_.client_name();
    stream.thread = std::thread([&session, &stream] {
      session.server_.handler_(stream.request, stream);
      MutexLock lock(session.mutex_);
      stream.ended = true;
    });
    return 0;
  }
  static int OnClose(nghttp2_session*, int32_t id, uint32_t, void* self) {
    Http2& session = Self(self);
    MutexLock lock(session.mutex_);
    session.StreamOf(id).gone = true;
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session*, int32_t id, uint8_t* buffer, size_t size,
                          uint32_t* flags, nghttp2_data_source*, void* self) {
    Http2& session = Self(self);
    Stream& stream = session.StreamOf(id);
    MutexLock lock(session.mutex_);
    const size_t n = std::min(size, stream.out.size());
    std::memcpy(buffer, stream.out.data(), n);
    stream.out.erase(0, n);
    if (stream.out.empty() && stream.ended) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (n == 0 && !stream.ended) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(n);
  }

  void Progress(int32_t id, Stream& stream) {
    std::map<std::string, std::string> headers;
    {
      MutexLock lock(mutex_);
      if (!stream.started || stream.gone) return;
      if (stream.submitted && stream.out.empty() && !stream.ended) return;
      headers = stream.headers;
    }
    if (stream.submitted) {
      nghttp2_session_resume_data(session_, id);
      return;
    }
    stream.submitted = true;
    std::vector<nghttp2_nv> lines;  // in the map's order ":status" is the first
    for (const auto& [name, value] : headers) {
      lines.push_back({reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                       reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(),
                       value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    nghttp2_data_provider body = {};
    body.read_callback = &ReadBody;
    nghttp2_submit_response(session_, id, lines.data(), lines.size(), &body);
  }

  TestServer& server_;
  Socket& socket_;
  const int connection_;
  nghttp2_session* session_ = nullptr;
  Mutex mutex_;
  bool cut_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<int32_t, std::unique_ptr<Stream>> streams_;
};

// --- The server ----------------------------------------------------------------------------------

TestServer::TestServer(Options options, Handler handler)
    : options_(options), handler_(std::move(handler)) {
  signal(SIGPIPE, SIG_IGN);  // of OpenSSL's writes
  if (options.certificates != nullptr) tls_context_ = MakeTlsContext(options);
  Listen();
}

TestServer::~TestServer() { Stop(); }

std::string TestServer::url() const {
  return absl::StrCat(options_.certificates != nullptr ? "https" : "http", "://127.0.0.1:", port_);
}

void TestServer::Listen() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port_));
  socklen_t length = sizeof(address);
  BERTH_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0) << std::strerror(errno);
  BERTH_CHECK(listen(fd, 128) == 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  listener_ = fd;
  accepting_ = std::thread([this] { Accept(); });
}

void TestServer::Accept() {
  while (!stopping_) {
    pollfd readable = {listener_, POLLIN, 0};
    if (poll(&readable, 1, 5) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int connection = ++connections_;
    MutexLock lock(mutex_);
    serving_.emplace_back([this, fd, connection] { Serve(fd, connection); });
  }
}

void TestServer::Serve(int fd, int connection) {
  Socket socket(fd, tls_context_.get());
  if (!socket.open()) return;
  if (socket.speaks_http2()) {
    Http2(*this, socket, connection).Run();
  } else {
    Http1(*this, socket, connection).Run();
  }
  if (stopping_) socket.Cut();
}

void TestServer::Stop() {
  if (listener_ < 0) return;
  stopping_ = true;
  accepting_.join();
  close(listener_.exchange(-1));
  std::vector<std::thread> serving;
  {
    MutexLock lock(mutex_);
    serving.swap(serving_);
  }
  for (std::thread& thread : serving) thread.join();
}

void TestServer::Restart() {
  stopping_ = false;
  Listen();
}

}  // namespace berth
