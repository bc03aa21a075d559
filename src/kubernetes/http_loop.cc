// SPDX-License-Identifier: Apache-2.0
// Implementation of http_loop.h.
#include "kubernetes/http_loop.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"

namespace berth {
namespace {

constexpr int kLongestWaitMs = 60'000;
constexpr long kReceiveBytes = 256 << 10;
constexpr long kConnectTimeoutMs = 10'000;
constexpr long kIdleSeconds = 30, kProbeSeconds = 10;  // of TCP's own probes
constexpr size_t kMostIdleHandles = 64;
// A wait that ends costs more than what is then done, mostly. Under load the loop does not wait
// more often than that, and finds more to do each time.
constexpr double kWaitsPerSecond = 50;
constexpr int kWaitsAtOnce = 20;          // so that a pod alone is not held up
constexpr size_t kWorthAWait = 64 << 10;  // bytes
constexpr absl::Duration kPostsTogether = absl::Milliseconds(2);

struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Headers = std::unique_ptr<curl_slist, FreeList>;

void Append(Headers& headers, const std::string& line) {
  curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
  BERTH_CHECK(longer != nullptr);
  (void)headers.release();
  headers.reset(longer);
}

void InitializeOnce() {
  static const bool done = [] {
    BERTH_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
    return true;
  }();
  (void)done;
}

template <class T>
void Set(CURL* handle, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  BERTH_CHECK(code == CURLE_OK) << "curl option " << option << ": " << curl_easy_strerror(code);
}

// libcurl's "Failed to connect to ... after 3 ms: ..." without the time: what went wrong for
// several requests, or again, is said once, and so has to read the same.
std::string WithoutTime(absl::string_view text) {
  constexpr absl::string_view kAfter = " after ", kMs = " ms";
  const size_t after = text.find(kAfter);
  if (after == absl::string_view::npos) return std::string(text);
  const size_t number = after + kAfter.size();
  const size_t end = text.find_first_not_of("0123456789", number);
  if (end == number || end == absl::string_view::npos || !absl::StartsWith(text.substr(end), kMs)) {
    return std::string(text);
  }
  return absl::StrCat(text.substr(0, after), text.substr(end + kMs.size()));
}

// The text must live as long as the handle.
void SetPem(CURL* handle, CURLoption option, const std::string& pem) {
  curl_blob blob = {const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  Set(handle, option, &blob);
}

// The port of an address of either family; 0 if it has none.
int LocalPort(curl_socket_t socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  return address.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
             : 0;
}

absl::Duration SilentFor(curl_socket_t socket) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return absl::ZeroDuration();
  return absl::Milliseconds(info.tcpi_last_data_recv);
}

absl::StatusCode CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return absl::StatusCode::kUnauthenticated;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// What of the connection's settings is wrong, which libcurl does not say in words of theirs.
absl::string_view BlameOf(CURLcode code) {
  switch (code) {
    case CURLE_SSL_CACERT_BADFILE:
      return "the certificate authority cannot be used: ";
    case CURLE_SSL_CERTPROBLEM:
      return "the client certificate or its key cannot be used: ";
    default:
      return "";
  }
}

}  // namespace

absl::Time MonotonicNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// A handle with what an endpoint sets, which serves one transfer after the other: to make one costs
// as much as to send a request.
class HttpLoop::Easy {
 public:
  Easy(Multi& multi, std::shared_ptr<const HttpEndpoint> endpoint);
  Easy(const Easy&) = delete;
  CURL* get() const { return handle_.get(); }
  const HttpEndpoint& endpoint() const { return *endpoint_; }

 private:
  static int OnSocket(void* self, curl_socket_t socket, curlsocktype);
  static int CloseSocket(void* multi, curl_socket_t socket);

  Multi& multi_;
  const std::shared_ptr<const HttpEndpoint> endpoint_;
  Headers connect_to_;
  const std::unique_ptr<CURL, FreeHandle> handle_;  // last: it refers to the others
};

class HttpLoop::Multi {
 public:
  Multi() {
    InitializeOnce();
    handle_ = curl_multi_init();
    BERTH_CHECK(handle_ != nullptr);
    curl_multi_setopt(handle_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
    curl_multi_setopt(handle_, CURLMOPT_MAX_CONCURRENT_STREAMS, 250L);
  }
  Multi(const Multi&) = delete;
  ~Multi() { curl_multi_cleanup(handle_); }
  CURLM* get() const { return handle_; }
  // The sockets of all connections.
  std::set<curl_socket_t>& sockets() { return sockets_; }

  // A handle of that endpoint which no transfer has.
  std::unique_ptr<Easy> Take(const std::shared_ptr<const HttpEndpoint>& endpoint) {
    // What credentials it had before they were renewed is no use any more.
    while (!idle_.empty() && &idle_.back()->endpoint() != endpoint.get()) idle_.pop_back();
    if (idle_.empty()) return std::make_unique<Easy>(*this, endpoint);
    std::unique_ptr<Easy> easy = std::move(idle_.back());
    idle_.pop_back();
    return easy;
  }
  // For a transfer that has ended well.
  void Keep(std::unique_ptr<Easy> easy) {
    if (idle_.size() < kMostIdleHandles) idle_.push_back(std::move(easy));
  }
  void DropIdle() { idle_.clear(); }

  void CountReceived(size_t bytes) { received_ += bytes; }
  size_t TakeReceived() { return std::exchange(received_, 0); }

 private:
  std::set<curl_socket_t> sockets_;
  std::vector<std::unique_ptr<Easy>> idle_;
  size_t received_ = 0;
  CURLM* handle_;
};

class HttpLoop::Transfer {
 public:
  Transfer(Multi& multi, TransferId id, HttpRequest request, HttpReceiver& receiver);

  TransferId id() const { return id_; }
  CURL* handle() const { return easy_->get(); }
  std::unique_ptr<Easy> TakeEasy() { return std::move(easy_); }
  void Begin() { begun_ = true; }  // libcurl has it
  void Abort() { receiver_ = nullptr; }
  bool WasSent() const;
  void EndConnectionIfSilentFor(absl::Duration wait);
  void End(CURLcode code);

 private:
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  bool Tell();  // the head, before the first byte

  Multi& multi_;
  const TransferId id_;
  const HttpRequest request_;
  HttpReceiver* receiver_;
  Headers headers_;
  char error_[CURL_ERROR_SIZE] = "";
  HttpHead head_;
  bool told_ = false;
  bool begun_ = false;
  std::unique_ptr<Easy> easy_;  // last: it refers to the others
};

HttpLoop::Transfer::Transfer(Multi& multi, TransferId id, HttpRequest request,
                             HttpReceiver& receiver)
    : multi_(multi),
      id_(id),
      request_(std::move(request)),
      receiver_(&receiver),
      easy_(multi.Take(request_.endpoint)) {
  CURL* const handle = easy_->get();
  Set(handle, CURLOPT_PRIVATE, this);
  Set(handle, CURLOPT_ERRORBUFFER, error_);
  Set(handle, CURLOPT_URL, absl::StrCat(request_.endpoint->url, request_.target).c_str());
  if (request_.body.empty()) {
    Set(handle, CURLOPT_HTTPGET, 1L);  // no body, whatever the method
  } else {
    Set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    Set(handle, CURLOPT_POSTFIELDS, request_.body.data());
  }
  Set(handle, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  for (const std::string& line : request_.headers) Append(headers_, line);
  Append(headers_, "Expect:");  // no "100-continue", for which a server is waited for
  if (request_.body.empty() && request_.method == "POST") Append(headers_, "Content-Length: 0");
  if (!request_.endpoint->host_header.empty()) {
    Append(headers_, absl::StrCat("Host: ", request_.endpoint->host_header));
  }
  Set(handle, CURLOPT_HTTPHEADER, headers_.get());
  Set(handle, CURLOPT_HEADERDATA, this);
  Set(handle, CURLOPT_WRITEDATA, this);
  Set(handle, CURLOPT_HEADERFUNCTION, &OnHeader);
  Set(handle, CURLOPT_WRITEFUNCTION, &OnBody);
}

HttpLoop::Easy::Easy(Multi& multi, std::shared_ptr<const HttpEndpoint> of)
    : multi_(multi), endpoint_(std::move(of)), handle_(curl_easy_init()) {
  BERTH_CHECK(handle_ != nullptr);
  CURL* const handle = handle_.get();
  const HttpEndpoint& endpoint = *endpoint_;
  Set(handle, CURLOPT_NOSIGNAL, 1L);
  Set(handle, CURLOPT_PATH_AS_IS, 1L);
  Set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(handle, CURLOPT_BUFFERSIZE, kReceiveBytes);
  Set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  // Rather a stream of a connection that is being made than another one. Without TLS there are no
  // streams, and libcurl 7.88 would wait for the first answer to end.
  Set(handle, CURLOPT_PIPEWAIT, absl::StartsWith(endpoint.url, "https:") ? 1L : 0L);
  Set(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  Set(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  Set(handle, CURLOPT_TCP_KEEPIDLE, kIdleSeconds);
  Set(handle, CURLOPT_TCP_KEEPINTVL, kProbeSeconds);
  Set(handle, CURLOPT_SOCKOPTFUNCTION, &OnSocket);
  Set(handle, CURLOPT_SOCKOPTDATA, this);
  Set(handle, CURLOPT_CLOSESOCKETFUNCTION, &CloseSocket);
  Set(handle, CURLOPT_CLOSESOCKETDATA, &multi_);
  Set(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (!endpoint.proxy.empty()) Set(handle, CURLOPT_PROXY, endpoint.proxy.c_str());
  if (!endpoint.connect_to.empty()) {
    Append(connect_to_, absl::StrCat("::", endpoint.connect_to));
    Set(handle, CURLOPT_CONNECT_TO, connect_to_.get());
  }
  if (!endpoint.verify) {
    Set(handle, CURLOPT_SSL_VERIFYPEER, 0L);
    Set(handle, CURLOPT_SSL_VERIFYHOST, 0L);
  } else if (!endpoint.authority_pem.empty()) {  // and no one else
    Set(handle, CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    Set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    SetPem(handle, CURLOPT_CAINFO_BLOB, endpoint.authority_pem);
  }
  if (!endpoint.certificate_pem.empty()) {
    SetPem(handle, CURLOPT_SSLCERT_BLOB, endpoint.certificate_pem);
    SetPem(handle, CURLOPT_SSLKEY_BLOB, endpoint.key_pem);
  }
}

int HttpLoop::Easy::OnSocket(void* self, curl_socket_t socket, curlsocktype) {
  const Easy& easy = *static_cast<Easy*>(self);
  const auto timeout_ms =
      static_cast<unsigned>(absl::ToInt64Milliseconds(easy.endpoint().unacknowledged_timeout));
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
  easy.multi_.sockets().insert(socket);
  return CURL_SOCKOPT_OK;
}

// For a connection, which lives longer than the transfer that made it.
int HttpLoop::Easy::CloseSocket(void* multi, curl_socket_t socket) {
  static_cast<Multi*>(multi)->sockets().erase(socket);
  return close(socket);
}

// libcurl names the socket of a transfer only when that has ended, but the port before.
void HttpLoop::Transfer::EndConnectionIfSilentFor(absl::Duration wait) {
  long port = 0;
  if (!WasSent()) return;
  curl_easy_getinfo(handle(), CURLINFO_LOCAL_PORT, &port);
  if (port == 0) return;
  for (const curl_socket_t socket : multi_.sockets()) {
    if (LocalPort(socket) == port && SilentFor(socket) >= wait) shutdown(socket, SHUT_RDWR);
  }
}

size_t HttpLoop::Transfer::OnHeader(char* data, size_t size, size_t count, void* self) {
  Transfer& transfer = *static_cast<Transfer*>(self);
  HttpHead& head = transfer.head_;
  const absl::string_view line = absl::StripAsciiWhitespace({data, size * count});
  const size_t colon = line.find(':');
  if (absl::StartsWith(line, "HTTP/")) {
    head = HttpHead();  // of the last answer: others ("100 Continue") may come before
  } else if (colon != absl::string_view::npos) {
    const absl::string_view name = line.substr(0, colon);
    const std::string value(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    if (absl::EqualsIgnoreCase(name, "content-type")) head.content_type = value;
    if (absl::EqualsIgnoreCase(name, "retry-after")) head.retry_after = value;
  } else if (line.empty()) {  // the end of the head: of a watch nothing else may come for long
    long code = 0;
    curl_easy_getinfo(transfer.handle(), CURLINFO_RESPONSE_CODE, &code);
    if (code >= 200 && !transfer.Tell()) return 0;  // ends the transfer
  }
  return size * count;
}

bool HttpLoop::Transfer::Tell() {
  if (receiver_ == nullptr) return false;
  if (told_) return true;
  told_ = true;
  long code = 0;
  curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &code);
  head_.code = static_cast<int>(code);
  receiver_->OnHead(head_);
  return receiver_ != nullptr;
}

size_t HttpLoop::Transfer::OnBody(char* data, size_t size, size_t count, void* self) {
  Transfer& transfer = *static_cast<Transfer*>(self);
  if (!transfer.Tell()) return 0;  // ends the transfer
  transfer.multi_.CountReceived(size * count);
  transfer.receiver_->OnBytes({data, size * count});
  return transfer.receiver_ == nullptr ? 0 : size * count;
}

bool HttpLoop::Transfer::WasSent() const {
  if (!begun_) return false;  // the handle speaks of the transfer before
  long sent = 0;
  curl_easy_getinfo(handle(), CURLINFO_REQUEST_SIZE, &sent);
  return sent > 0;
}

void HttpLoop::Transfer::End(CURLcode code) {
  if (code == CURLE_OK && !Tell()) return;
  if (receiver_ == nullptr) return;
  absl::Status status;
  if (code != CURLE_OK) {
    const absl::string_view text = error_[0] != '\0' ? error_ : curl_easy_strerror(code);
    status = absl::Status(
        CodeOf(code), absl::StrCat(request_.endpoint->url, ": ", BlameOf(code), WithoutTime(text)));
  }
  receiver_->OnEnd(status, WasSent());
}

HttpLoop::HttpLoop()
    : multi_(std::make_unique<Multi>()),
      waits_(kWaitsPerSecond, kWaitsAtOnce),
      thread_([this] { Run(); }) {}

HttpLoop::~HttpLoop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    posted_or_stopping_.SignalAll();
  }
  curl_multi_wakeup(multi_->get());
  thread_.join();
  StartAndAbort();
  for (const auto& [id, transfer] : transfers_) {
    curl_multi_remove_handle(multi_->get(), transfer->handle());
  }
  transfers_.clear();
  multi_->DropIdle();
}

void HttpLoop::Post(std::function<void()> work) {
  {
    MutexLock lock(mutex_);
    const bool is_first = posted_.empty();
    posted_.push_back(std::move(work));
    if (!is_first) return;
    if (paused_) return posted_or_stopping_.SignalAll();
  }
  curl_multi_wakeup(multi_->get());
}

void HttpLoop::RunAt(absl::Time time, std::function<void()> work) {
  timers_.emplace(time, std::move(work));
}

HttpLoop::TransferId HttpLoop::Start(HttpRequest request, HttpReceiver& receiver) {
  const TransferId id = next_transfer_++;
  transfers_.emplace(id, std::make_unique<Transfer>(*multi_, id, std::move(request), receiver));
  to_start_.push_back(id);
  return id;
}

void HttpLoop::AbortLate(TransferId transfer, absl::Duration wait) {
  const auto found = transfers_.find(transfer);
  if (found != transfers_.end()) found->second->EndConnectionIfSilentFor(wait);
  Abort(transfer);
}

void HttpLoop::Abort(TransferId transfer) {
  const auto found = transfers_.find(transfer);
  if (found == transfers_.end()) return;
  found->second->Abort();
  aborted_.push_back(std::move(found->second));
  transfers_.erase(found);
}

bool HttpLoop::WasSent(TransferId transfer) const {
  const auto found = transfers_.find(transfer);
  BERTH_CHECK(found != transfers_.end());
  return found->second->WasSent();
}

void HttpLoop::StartAndAbort() {
  for (const TransferId id : std::exchange(to_start_, {})) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) continue;
    curl_multi_add_handle(multi_->get(), found->second->handle());
    found->second->Begin();
  }
  for (const auto& transfer : std::exchange(aborted_, {})) {
    curl_multi_remove_handle(multi_->get(), transfer->handle());
  }
}

void HttpLoop::RunPosted() {
  std::vector<std::function<void()>> posted;
  {
    MutexLock lock(mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) work();
}

void HttpLoop::RunDue() {
  const absl::Time now = MonotonicNow();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    timers_.extract(timers_.begin()).mapped()();
  }
}

void HttpLoop::Finish() {
  int left = 0;
  while (CURLMsg* const message = curl_multi_info_read(multi_->get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    CURL* const handle = message->easy_handle;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
    curl_multi_remove_handle(multi_->get(), handle);
    const TransferId id = transfer->id();
    transfer->End(code);
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) continue;  // its receiver aborted it even now
    if (code == CURLE_OK) multi_->Keep(found->second->TakeEasy());
    transfers_.erase(found);
  }
}

// Returns when the loop may wait again, or a timer is due; false if something was posted.
bool HttpLoop::Pause() {
  long due_ms = -1;
  curl_multi_timeout(multi_->get(), &due_ms);
  // A long list comes as fast as it can be read.
  if (due_ms == 0 || multi_->TakeReceived() >= kWorthAWait) return true;
  const absl::Time now = MonotonicNow();
  if (waits_.Take(now)) return true;
  absl::Time until = waits_.NextToken();
  if (!timers_.empty()) until = std::min(until, timers_.begin()->first);
  // Pods wait for what is posted, and what is posted comes in bursts.
  const absl::Time soon = std::min(now + kPostsTogether, until);
  if (soon > now) std::this_thread::sleep_for(absl::ToChronoNanoseconds(soon - now));
  {
    MutexLock lock(mutex_);
    paused_ = true;
    while (posted_.empty() && !stopping_) {
      const absl::Duration left = until - MonotonicNow();
      if (left <= absl::ZeroDuration()) break;
      posted_or_stopping_.WaitFor(mutex_, left);
    }
    paused_ = false;
    if (!posted_.empty() || stopping_) return false;
  }
  (void)waits_.Take(MonotonicNow());
  return true;
}

void HttpLoop::Run() {
  // They are other threads'; and a connection that the server closed raises SIGPIPE.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (true) {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
    }
    RunPosted();
    RunDue();
    StartAndAbort();
    int running = 0;
    curl_multi_perform(multi_->get(), &running);
    Finish();
    if (!to_start_.empty() || !aborted_.empty()) continue;
    if (!Pause()) continue;
    const absl::Duration wait =
        timers_.empty() ? absl::InfiniteDuration() : timers_.begin()->first - MonotonicNow();
    const int64_t wait_ms = absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1)));
    curl_multi_poll(multi_->get(), nullptr, 0,
                    static_cast<int>(std::clamp<int64_t>(wait_ms, 0, kLongestWaitMs)), nullptr);
  }
}

}  // namespace berth
