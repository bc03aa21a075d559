// SPDX-License-Identifier: Apache-2.0
// Implementation of api_client.h.
#include "kubernetes/api_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "berth/api/time.h"
#include "berth/check.h"
#include "kubernetes/api_error.h"
#include "kubernetes/backoff.h"
#include "kubernetes/envelope.h"

namespace berth {
namespace {

constexpr BackoffLimits kRetries = {absl::Milliseconds(100), absl::Seconds(5)};
constexpr absl::Duration kRefreshRetry = absl::Seconds(10);
// Where there are none, many requests would have them read, and plugins run, again and again.
constexpr BackoffLimits kReads = {absl::Seconds(1), kRefreshRetry};
constexpr absl::Duration kTellAgain = absl::Minutes(1);
// Beyond that calls wait for each other. libcurl opens another connection for what is more than 100
// streams, until the server has told it its limit; watches are streams, too.
constexpr int kMaxCallsUnderWay = 64;
// One in so many calls of kLow is sent while others wait.
constexpr int kLowShare = 8;
enum Line : size_t { kStreams, kUsualCalls, kLowCalls };
constexpr size_t kMaxErrorBytes = 1 << 20;  // of an answer that is no success
constexpr size_t kMaxBodyBytes = size_t{1} << 30;

struct ServerUrl {
  std::string scheme, authority, path;
  std::string port;  // ":6443", or empty

  std::string HostAndPort() const {
    return port.empty() ? absl::StrCat(authority, scheme == "https" ? ":443" : ":80") : authority;
  }
};

// client-go v0.35 transport/round_trippers.go headerKeyEscape: what no header name may have,
// percent-encoded.
std::string EscapedHeaderName(absl::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (absl::ascii_isalnum(c) || absl::StrContains("!#$&'*+-.^_`|~", c)) {
      escaped.push_back(c);
    } else {
      absl::StrAppend(&escaped, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return escaped;
}

// As libcurl takes it, for which "Name:" takes a header away.
std::string Header(absl::string_view name, absl::string_view value) {
  return value.empty() ? absl::StrCat(name, ";") : absl::StrCat(name, ": ", value);
}

// The name of the first header of which a control character would make two; empty if there is none.
std::string BrokenHeader(absl::Span<const std::string> headers) {
  for (const std::string& header : headers) {
    const auto is_control = [](char c) { return absl::ascii_iscntrl(c) && c != '\t'; };
    if (std::any_of(header.begin(), header.end(), is_control)) {
      return header.substr(0, header.find_first_of(":;"));
    }
  }
  return "";
}

ServerUrl Split(absl::string_view url) {
  ServerUrl split;
  const size_t colon = url.find("://");
  BERTH_CHECK(colon != absl::string_view::npos) << url;
  split.scheme = std::string(url.substr(0, colon));
  url.remove_prefix(colon + 3);
  const size_t slash = url.find('/');
  split.authority = std::string(url.substr(0, slash));
  if (slash != absl::string_view::npos) split.path = std::string(url.substr(slash));
  const size_t port = split.authority.rfind(':');
  if (port != std::string::npos && split.authority.find(']', port) == std::string::npos) {
    split.port = split.authority.substr(port);
  }
  return split;
}

std::shared_ptr<const HttpEndpoint> EndpointOf(const Connection& connection,
                                               const Credentials& read,
                                               absl::Duration unacknowledged_timeout) {
  auto endpoint = std::make_shared<HttpEndpoint>();
  endpoint->url = connection.server;
  if (!connection.tls_server_name.empty()) {
    const ServerUrl url = Split(connection.server);
    endpoint->url = absl::StrCat(url.scheme, "://", connection.tls_server_name, url.port, url.path);
    endpoint->connect_to = url.HostAndPort();
    endpoint->host_header = url.authority;
  }
  endpoint->unacknowledged_timeout = unacknowledged_timeout;
  endpoint->proxy = connection.proxy_url;
  endpoint->verify = !connection.insecure_skip_tls_verify;
  endpoint->authority_pem = read.authority_pem;
  endpoint->certificate_pem = read.certificate_pem;
  endpoint->key_pem = read.key_pem;
  return endpoint;
}

std::optional<absl::Duration> ParseRetryAfter(absl::string_view header) {
  int64_t seconds = 0;
  if (!absl::SimpleAtoi(header, &seconds) || seconds < 0) return std::nullopt;
  return seconds == 0 ? absl::ZeroDuration() : RetryAfter(seconds);
}

std::string Summary(const ApiRequest& request) {
  return absl::StrCat(request.method, " ", request.target);
}

}  // namespace

// One request through all of its tries.
class ApiClient::Request final : public HttpReceiver {
 public:
  Request(ApiClient& client, ApiRequest request, Answer answer,
          std::shared_ptr<StreamReceiver> receiver)
      : client_(client),
        what(std::move(request)),
        answer(std::move(answer)),
        stream(std::move(receiver)),
        backoff(kRetries, 0) {}

  void OnHead(const HttpHead& head) override {
    head_ = head;
    if (stream != nullptr && IsSuccess()) {
      Observe();
      started = true;
      client_.last_of_streams_ = MonotonicNow();
      stream->OnStart(head.content_type);
    }
  }

  void OnBytes(absl::string_view bytes) override {
    if (started) {
      client_.last_of_streams_ = MonotonicNow();
      return stream->OnBytes(bytes);
    }
    if (body_.size() + bytes.size() > (IsSuccess() ? kMaxBodyBytes : kMaxErrorBytes)) {
      too_long_ = true;
      return;
    }
    body_.append(bytes.data(), bytes.size());
  }

  void OnEnd(const absl::Status& status, bool was_sent) override {
    if (!started) Observe();
    client_.EndTransfer(*this);
    if (!status.ok()) {
      in_doubt |= was_sent;
      return client_.RetryOrFail(*this, {.refusal = std::nullopt, .was_sent = was_sent}, status);
    }
    if (IsSuccess() && too_long_) {
      return client_.End(id, absl::ResourceExhaustedError(
                                 absl::StrCat(Summary(what), ": the answer is too long")));
    }
    if (IsSuccess()) return client_.End(id, ApiResponse{head_.content_type, std::move(body_)});
    ApiError error = ParseApiError(head_.code, head_.content_type, body_);
    const std::optional<absl::Duration> wait = ParseRetryAfter(head_.retry_after);
    if (wait.has_value()) error.retry_after = wait;
    in_doubt |= LeavesDoubt(error);
    client_.RetryOrFail(*this, {.refusal = error}, error.ToStatus());
  }

  void StartTry() {
    head_ = HttpHead();
    body_.clear();
    too_long_ = false;
    try_began = MonotonicNow();
  }

 private:
  void Observe() const {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(client_.connection_.server, absl::MaxSplits("://", 1));
    const absl::string_view host = parts.second.empty() ? parts.first : parts.second;
    client_.options_.observe({.method = what.method,
                              .host = host.substr(0, host.find('/')),
                              .code = head_.code,
                              .is_stream = stream != nullptr && IsSuccess(),
                              .duration = MonotonicNow() - try_began,
                              .rate_limiter_wait = limiter_wait,
                              .request_bytes = what.body.size(),
                              .response_bytes = body_.size()});
  }
  bool IsSuccess() const { return head_.code >= 200 && head_.code < 300; }

  ApiClient& client_;
  HttpHead head_;
  std::string body_;
  bool too_long_ = false;

 public:
  const ApiRequest what;
  const Answer answer;                           // of a call
  const std::shared_ptr<StreamReceiver> stream;  // of a stream
  RequestId id = 0;
  absl::Time deadline = absl::InfiniteFuture();  // until it has had its turn
  absl::Time waits_since;                        // for its turn
  absl::Duration limiter_wait;
  absl::Time try_began;
  RetryBackoff backoff;
  HttpLoop::TransferId transfer = 0;  // 0: none is under way
  uint64_t credentials_version = 0;   // that it was last sent with
  bool refreshed = false;             // after a 401
  bool started = false;               // the stream
  bool in_doubt = false;              // some try may have been done
  std::string last_failure;           // in words
};

ApiClient::ApiClient(Connection connection, ApiClientOptions options)
    : connection_(std::move(connection)),
      options_(std::move(options)),
      limiter_(options_.qps, options_.burst),
      random_(options_.seed),
      read_backoff_(kReads, options_.seed) {}

ApiClient::~ApiClient() { Stop(); }

void ApiClient::Stop() {
  stopping_ = true;  // a plugin that runs is killed
  struct Ended {
    Mutex mutex;
    CondVar changed;
    bool yes ABSL_GUARDED_BY(mutex) = false;
  } ended;
  loop_.Post([this, &ended] {
    while (!requests_.empty()) {
      End(requests_.begin()->first, absl::CancelledError("the client ends"));
    }
    if (refresher_.joinable()) refresher_.join();
    MutexLock lock(ended.mutex);
    ended.yes = true;
    ended.changed.SignalAll();
  });
  MutexLock lock(ended.mutex);
  while (!ended.yes) ended.changed.Wait(ended.mutex);
}

ApiClient::RequestId ApiClient::Call(ApiRequest request, Answer answer) {
  return Begin(std::make_unique<Request>(*this, std::move(request), std::move(answer), nullptr));
}

ApiClient::RequestId ApiClient::Stream(ApiRequest request,
                                       std::shared_ptr<StreamReceiver> receiver) {
  return Begin(std::make_unique<Request>(*this, std::move(request), nullptr, std::move(receiver)));
}

ApiClient::RequestId ApiClient::Begin(std::unique_ptr<Request> request) {
  const RequestId id = next_request_++;
  request->id = id;
  request->backoff = RetryBackoff(kRetries, options_.seed + id);
  // A std::function must be copyable.
  auto shared = std::make_shared<std::unique_ptr<Request>>(std::move(request));
  loop_.Post([this, id, shared] {
    Request& begun = *requests_.emplace(id, std::move(*shared)).first->second;
    if (stopping_) return End(id, absl::CancelledError("the client ends"));
    Prepare(begun);
  });
  return id;
}

void ApiClient::Cancel(RequestId request) {
  loop_.Post([this, request] {
    if (Find(request) != nullptr) End(request, absl::CancelledError("cancelled"));
  });
}

void ApiClient::Post(std::function<void()> work) { loop_.Post(std::move(work)); }

void ApiClient::RunAt(absl::Time time, std::function<void()> work) {
  loop_.Post(
      [this, time, work = std::move(work)]() mutable { loop_.RunAt(time, std::move(work)); });
}

void ApiClient::LiftRateLimit() {
  loop_.Post([this] {
    limiter_.Lift();
    SendWaiting();
  });
}

ApiClient::Request* ApiClient::Find(RequestId id) {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : found->second.get();
}

void ApiClient::Prepare(Request& request) {
  request.waits_since = MonotonicNow();
  if (!HasCredentials()) {
    if (endpoint_ == nullptr && MonotonicNow() < none_until_) {
      return End(request.id, no_credentials_);
    }
    waiting_for_credentials_.push_back(request.id);
    return Refresh();
  }
  const bool is_low = request.what.priority == Priority::kLow;
  std::deque<RequestId>& line = lines_[request.stream != nullptr ? kStreams
                                       : is_low                  ? kLowCalls
                                                                 : kUsualCalls];
  // What was sent has stood in line before.
  if (request.deadline == absl::InfiniteFuture()) {
    line.push_back(request.id);
  } else {
    line.push_front(request.id);
  }
  SendWaiting();
}

// Where the next request stands that may be sent as far as the others are concerned; null: nowhere.
std::deque<ApiClient::RequestId>* ApiClient::NextLine() {
  for (std::deque<RequestId>& line : lines_) {
    while (!line.empty() && Find(line.front()) == nullptr) line.pop_front();
  }
  if (!lines_[kStreams].empty()) return &lines_[kStreams];
  if (calls_under_way_ >= kMaxCallsUnderWay) return nullptr;
  const bool is_turn_of_low = lines_[kUsualCalls].empty() || sent_since_low_ + 1 >= kLowShare;
  if (!lines_[kLowCalls].empty() && is_turn_of_low) return &lines_[kLowCalls];
  return lines_[kUsualCalls].empty() ? nullptr : &lines_[kUsualCalls];
}

// Sends what has its turn. Only what is sent takes a token.
void ApiClient::SendWaiting() {
  while (std::deque<RequestId>* const line = stopping_ ? nullptr : NextLine()) {
    Request& next = *Find(line->front());
    if (absl::Status may = MayBeSent(next); !may.ok()) {
      line->pop_front();
      End(next.id, std::move(may));
      continue;
    }
    const absl::Time now = MonotonicNow();
    if (!limiter_.Take(now)) {
      if (std::exchange(waits_for_token_, true)) return;
      loop_.RunAt(limiter_.NextToken(), [this] {
        waits_for_token_ = false;
        SendWaiting();
      });
      return;
    }
    line->pop_front();
    sent_since_low_ = line == &lines_[kLowCalls] ? 0 : sent_since_low_ + 1;
    if (next.stream == nullptr) ++calls_under_way_;
    next.limiter_wait = now - next.waits_since;
    if (next.deadline == absl::InfiniteFuture()) SetDeadline(next);
    StartTransfer(next);
  }
}

absl::Status ApiClient::MayBeSent(const Request& request) const {
  if (options_.may_write == nullptr || request.what.method == "GET" || options_.may_write()) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      Summary(request.what), ": ", request.in_doubt ? "is not sent again" : "was not sent",
      ", because this process does not lead"));
}

void ApiClient::SetDeadline(Request& request) {
  request.deadline = MonotonicNow() + request.what.timeout;
  loop_.RunAt(request.deadline, [this, id = request.id] {
    Request* const late = Find(id);
    if (late != nullptr && !late->started) EndLate(*late);
  });
}

void ApiClient::EndLate(Request& request) {
  const bool in_doubt =
      request.in_doubt || (request.transfer != 0 && loop_.WasSent(request.transfer));
  std::string text = absl::StrCat(Summary(request.what), ": no answer within ",
                                  absl::FormatDuration(request.what.timeout),
                                  in_doubt ? "; it may have happened" : "; it was not sent");
  if (!request.last_failure.empty()) absl::StrAppend(&text, "; before: ", request.last_failure);
  if (request.transfer != 0) {
    loop_.AbortLate(request.transfer, MonotonicNow() - request.try_began);
    EndTransfer(request);
  }
  End(request.id, in_doubt ? absl::DeadlineExceededError(text) : absl::UnavailableError(text));
}

void ApiClient::StartTransfer(Request& request) {
  HttpRequest http;
  http.endpoint = endpoint_;
  http.method = request.what.method;
  http.target = request.what.target;
  http.body = request.what.body;
  http.headers = HeadersOf(request.what);
  if (const std::string broken = BrokenHeader(http.headers); !broken.empty()) {
    if (request.stream == nullptr) --calls_under_way_;
    return End(request.id, absl::FailedPreconditionError(absl::StrCat(
                               "the header ", broken,
                               " would have a line break or another control "
                               "character in it; see the token and the user of the kubeconfig")));
  }
  request.credentials_version = credentials_version_;
  request.StartTry();
  request.transfer = loop_.Start(std::move(http), request);
  if (request.stream != nullptr && !std::exchange(sees_after_streams_, true)) SeeAfterStreams();
  if (request.stream == nullptr || request.what.stream_timeout == absl::InfiniteDuration()) return;
  loop_.RunAt(MonotonicNow() + request.what.stream_timeout, [this, id = request.id] {
    if (Find(id) != nullptr) End(id, absl::DeadlineExceededError("the stream did not end in time"));
  });
}

void ApiClient::SeeAfterStreams() {
  const absl::Time now = MonotonicNow();
  loop_.RunAt(now + options_.stream_silence / 2, [this] { SeeAfterStreams(); });
  const bool any = std::any_of(requests_.begin(), requests_.end(),
                               [](const auto& request) { return request.second->started; });
  if (!any || stopping_ || now - last_of_streams_ < options_.stream_silence) return;
  if (std::exchange(asks_for_version_, true)) return;
  // Any answer will do. On HTTP/2 it shares the connection of the streams.
  Call({.target = "/version", .repeatable = Repeatable::kNo, .timeout = options_.silence_timeout},
       [this](const absl::StatusOr<ApiResponse>&) {
         asks_for_version_ = false;
         last_of_streams_ = MonotonicNow();
       });
}

std::vector<std::string> ApiClient::HeadersOf(const ApiRequest& request) const {
  std::vector<std::string> headers = {
      absl::StrCat("Accept: ", request.accept.empty() ? kJsonType : request.accept),
      absl::StrCat("User-Agent: ", options_.user_agent)};
  if (!request.content_type.empty()) {
    headers.push_back(absl::StrCat("Content-Type: ", request.content_type));
  }
  if (!token_.empty()) {
    headers.push_back(absl::StrCat("Authorization: Bearer ", token_));
  } else if (!connection_.username.empty()) {
    headers.push_back(absl::StrCat(
        "Authorization: Basic ",
        absl::Base64Escape(absl::StrCat(connection_.username, ":", connection_.password))));
  }
  const Impersonation& as = connection_.impersonate;
  if (!as.user.empty()) headers.push_back(absl::StrCat("Impersonate-User: ", as.user));
  if (!as.uid.empty()) headers.push_back(absl::StrCat("Impersonate-Uid: ", as.uid));
  for (const std::string& group : as.groups) {
    headers.push_back(absl::StrCat("Impersonate-Group: ", group));
  }
  for (const auto& [key, values] : as.extra) {
    for (const std::string& value : values) {
      headers.push_back(Header(absl::StrCat("Impersonate-Extra-", EscapedHeaderName(key)), value));
    }
  }
  return headers;
}

void ApiClient::EndTransfer(Request& request) {
  request.transfer = 0;
  if (request.stream == nullptr) --calls_under_way_;
  loop_.Post([this] { SendWaiting(); });  // not from here: it may be the caller
}

void ApiClient::RetryOrFail(Request& request, const FailedTry& failed, absl::Status status) {
  const RequestId id = request.id;
  request.last_failure = std::string(status.message());
  if (request.started) return End(id, std::move(status));
  if (failed.refusal.has_value() && failed.refusal->code == 401) TellIfExpired();
  if (failed.refusal.has_value() && failed.refusal->code == 401 && !request.refreshed &&
      (CanRefresh() || credentials_version_ != request.credentials_version)) {
    request.refreshed = true;
    // Others may have been told the same, and seen to it.
    if (credentials_version_ == request.credentials_version)
      credentials_end_ = absl::InfinitePast();
    return Prepare(request);
  }
  // The owner of the stream decides about it.
  if (request.stream != nullptr || !MayRetry(request.what.repeatable, failed)) {
    if (!failed.refusal.has_value()) {
      // It is not known.
      const bool is_unknown = request.in_doubt && request.what.repeatable == Repeatable::kNo;
      status = absl::Status(
          is_unknown ? absl::StatusCode::kUnknown : status.code(),
          absl::StrCat(Summary(request.what), ": ", status.message(),
                       request.in_doubt ? "; it may have happened" : "; it was not sent"));
    }
    return End(id, std::move(status));
  }
  const absl::Time now = MonotonicNow();
  absl::Duration wait = request.backoff.Next(now);
  if (failed.refusal.has_value() && failed.refusal->retry_after.has_value()) {
    wait = std::max(wait, *failed.refusal->retry_after);
  }
  if (now + wait >= request.deadline)
    return End(id, std::move(status));  // this says more than the deadline
  loop_.RunAt(now + wait, [this, id] {
    if (Request* const again = Find(id); again != nullptr) Prepare(*again);
  });
}

void ApiClient::End(RequestId id, absl::StatusOr<ApiResponse> response) {
  const auto found = requests_.find(id);
  BERTH_CHECK(found != requests_.end());
  const std::unique_ptr<Request> request = std::move(found->second);
  requests_.erase(found);
  if (request->transfer != 0) {
    loop_.Abort(request->transfer);
    EndTransfer(*request);
  }
  if (request->stream != nullptr) {
    request->stream->OnEnd(response.status());
  } else {
    request->answer(std::move(response));
  }
}

// --- Credentials ---------------------------------------------------------------------------------

bool ApiClient::HasCredentials() const {
  return endpoint_ != nullptr && absl::Now() < credentials_end_;
}

bool ApiClient::CanRefresh() const {
  return connection_.exec.has_value() || !connection_.token_file.empty() ||
         !connection_.client_certificate.file.empty();
}

// Reads them on a thread of their own: a plugin may take long.
void ApiClient::Refresh() {
  if (refreshing_ || stopping_) return;
  refreshing_ = true;
  if (refresher_.joinable()) refresher_.join();
  refresher_ = std::thread([this] {
    auto read = std::make_shared<absl::StatusOr<Credentials>>(
        ReadCredentials(connection_, absl::Now(), stopping_));
    loop_.Post([this, read] { TakeCredentials(std::move(*read)); });
  });
}

void ApiClient::TakeCredentials(absl::StatusOr<Credentials> read) {
  refreshing_ = false;
  if (read.ok()) {
    std::shared_ptr<const HttpEndpoint> endpoint =
        EndpointOf(connection_, *read, options_.unacknowledged_timeout);
    endpoint_ = std::move(endpoint);
    token_ = std::move(read->token);
    // A plugin whose credential has expired when it comes is not run in a loop.
    credentials_end_ = std::max(read->read_again, absl::Now() + absl::Seconds(1));
    ++credentials_version_;
    read_backoff_.Reset();
  } else {
    no_credentials_ =
        absl::UnauthenticatedError(absl::StrCat(connection_.name, ": ", read.status().message()));
    TellOnce(std::string(no_credentials_.message()));
    const absl::Time now = MonotonicNow();
    none_until_ = now + read_backoff_.Next(now);
    // With the ones from before the server may still be content.
    if (endpoint_ != nullptr) credentials_end_ = absl::Now() + kRefreshRetry;
  }
  for (const RequestId id : std::exchange(waiting_for_credentials_, {})) {
    Request* const request = Find(id);
    if (request == nullptr) continue;
    if (endpoint_ == nullptr) {
      End(id, no_credentials_);
    } else {
      Prepare(*request);
    }
  }
}

// The server does not say what it has against a certificate.
void ApiClient::TellIfExpired() {
  if (endpoint_ == nullptr || endpoint_->certificate_pem.empty()) return;
  const absl::Time end = CertificateEnd(endpoint_->certificate_pem);
  if (end > absl::Now()) return;
  TellOnce(absl::StrCat(connection_.name, ": the client certificate has expired, at ",
                        TimeToString(end)));
}

// The same is reported again after a while.
void ApiClient::TellOnce(const std::string& text) {
  const absl::Time now = MonotonicNow();
  if (text == told_ && now - told_at_ < kTellAgain) return;
  told_ = text;
  told_at_ = now;
  options_.warn(text);
}

}  // namespace berth
