// SPDX-License-Identifier: Apache-2.0
// Requests to an API server: asynchronous, in time, at a limited rate, and tried again where that
// is safe.
#ifndef BERTH_SRC_KUBERNETES_API_CLIENT_H_
#define BERTH_SRC_KUBERNETES_API_CLIENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kubernetes/backoff.h"
#include "kubernetes/connection.h"
#include "kubernetes/credentials.h"
#include "kubernetes/http_loop.h"
#include "kubernetes/rate_limiter.h"
#include "kubernetes/retry.h"

namespace berth {

// Which of the requests that wait for the rate limiter go first.
enum class Priority : uint8_t {
  kUsual,
  kLow,  // while others wait, one call in eight: it is not held up for ever
};

struct ApiRequest {
  std::string method = "GET";
  std::string target;  // "/api/v1/pods?limit=500"
  std::string accept;  // JSON if it is empty
  std::string content_type, body;
  Repeatable repeatable = Repeatable::kYes;
  Priority priority = Priority::kUsual;
  // To the end of the answer; of a stream, to its beginning. It begins when the request has its
  // turn: as with client-go, waiting for the rate limiter is no part of it. Whatever ended there
  // unsent would only be asked for again.
  absl::Duration timeout = absl::Seconds(30);
  // A stream's state, from its beginning to its end.
  absl::Duration stream_timeout = absl::InfiniteDuration();
};

struct ApiResponse {
  std::string content_type;
  std::string body;
};

// Where the bytes of a stream go, as they come. Called on the client's thread.
class StreamReceiver {
 public:
  virtual ~StreamReceiver() = default;
  virtual void OnStart(absl::string_view content_type) = 0;  // the server said 200
  virtual void OnBytes(absl::string_view bytes) = 0;
  // Once and last. Ok: the server ended it. A refusal is an ApiError; Cancelled if it was
  // cancelled.
  virtual void OnEnd(const absl::Status& status) = 0;
};

// One try of a request that was answered, or that failed on its way.
struct ApiCallRecord {
  absl::string_view method;
  absl::string_view host;  // "10.0.0.1:6443"
  int code = 0;            // 0: no answer
  bool is_stream = false;  // which began: the rest is of its beginning
  absl::Duration duration;
  absl::Duration rate_limiter_wait;              // before it
  size_t request_bytes = 0, response_bytes = 0;  // of the bodies
};

struct ApiClientOptions {
  double qps = 50;  // client-go's defaults of a scheduler; zero or less: no limit
  int burst = 100;
  // A firewall may forget a connection silently, and a watch that hears nothing does not
  // mind. When no stream has brought anything for so long, the server is asked for its version;
  // without an answer in time the connection is ended. client-go sends pings after 30 s and waits
  // for 15 s.
  absl::Duration stream_silence = absl::Seconds(10);
  absl::Duration silence_timeout = absl::Seconds(15);
  std::string user_agent = "berth";
  uint64_t seed = 0;
  // What was sent and is not acknowledged for that long ends a connection.
  absl::Duration unacknowledged_timeout = absl::Seconds(30);
  // Asked when a request that is no GET is about to be sent: of a replica that may only write while
  // it leads. Called on the client's thread. Absent: always.
  std::function<bool()> may_write = nullptr;
  // For people: what goes wrong beside single requests. Called on the client's thread.
  std::function<void(absl::string_view text)> warn = [](absl::string_view) {};
  // For figures. Called on the client's thread.
  std::function<void(const ApiCallRecord& call)> observe = [](const ApiCallRecord&) {};
};

// Threads: any. Answers come on a thread of the client's own; do little there, and do not wait.
class ApiClient {
 public:
  using RequestId = uint64_t;
  // The answer of a 2xx; an ApiError's status; DeadlineExceeded if it may have happened;
  // Unavailable if it was not sent, or if that does not matter; Unknown in place of it if that
  // matters (Repeatable::kNo); Cancelled.
  using Answer = std::function<void(absl::StatusOr<ApiResponse> response)>;

  ApiClient(Connection connection, ApiClientOptions options);
  // As Stop().
  ~ApiClient();
  // Every request that is under way ends with Cancelled, before this returns, and what comes later
  // does, too.
  void Stop();

  // `answer` is called once, on the client's thread.
  RequestId Call(ApiRequest request, Answer answer);
  // `receiver` is kept until its OnEnd() has returned.
  RequestId Stream(ApiRequest request, std::shared_ptr<StreamReceiver> receiver);
  // Ends the request, unless it has ended: with Cancelled, on the client's thread.
  void Cancel(RequestId request);

  // Runs `work` on the client's thread, now or at a time of MonotonicNow(); not at all if the
  // client goes before.
  void Post(std::function<void()> work);
  void RunAt(absl::Time time, std::function<void()> work);

  // From now on no rate limits what is sent: of a process that ends, and whose requests that wait
  // are to be answered first.
  void LiftRateLimit();

  const Connection& connection() const { return connection_; }

 private:
  class Request;

  RequestId Begin(std::unique_ptr<Request> request);
  Request* Find(RequestId id);
  // On the loop's thread, in this order: credentials, its turn by the rate limiter and the number
  // of calls, the transfer, the verdict.
  void Prepare(Request& request);
  void SendWaiting();
  std::deque<RequestId>* NextLine();
  absl::Status MayBeSent(const Request& request) const;
  void SetDeadline(Request& request);
  void EndLate(Request& request);
  void StartTransfer(Request& request);
  void EndTransfer(Request& request);
  void SeeAfterStreams();
  std::vector<std::string> HeadersOf(const ApiRequest& request) const;
  void RetryOrFail(Request& request, const FailedTry& failed, absl::Status status);
  void End(RequestId id, absl::StatusOr<ApiResponse> response);

  bool HasCredentials() const;
  bool CanRefresh() const;
  void Refresh();
  void TakeCredentials(absl::StatusOr<Credentials> read);
  void TellOnce(const std::string& text);
  void TellIfExpired();

  const Connection connection_;
  const ApiClientOptions options_;
  std::atomic<RequestId> next_request_ = 1;
  std::atomic<bool> stopping_ = false;

  // For the loop's thread alone.
  RateLimiter limiter_;
  std::mt19937_64 random_;
  std::map<RequestId, std::unique_ptr<Request>>
      requests_;                                  // cancelled in the order in which they came
  std::shared_ptr<const HttpEndpoint> endpoint_;  // null: no credentials have been read
  int calls_under_way_ = 0;
  // Those that wait for their turn: streams, without which nothing else has a sense; calls, by
  // their priority. Some may have ended.
  std::array<std::deque<RequestId>, 3> lines_;
  int sent_since_low_ = 0;
  bool waits_for_token_ = false;  // a timer is set
  bool sees_after_streams_ = false, asks_for_version_ = false;
  absl::Time last_of_streams_ = absl::InfinitePast();  // when one has brought something
  std::string token_;
  absl::Time credentials_end_ = absl::InfinitePast();  // wall clock
  uint64_t credentials_version_ = 0;
  bool refreshing_ = false;
  // Why there are none, and until when they are not looked for again.
  absl::Status no_credentials_;
  absl::Time none_until_ = absl::InfinitePast();
  RetryBackoff read_backoff_;
  std::string told_;  // of them, last, and when
  absl::Time told_at_ = absl::InfinitePast();
  std::vector<RequestId> waiting_for_credentials_;
  std::thread refresher_;

  HttpLoop loop_;  // last: its thread uses the others
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_API_CLIENT_H_
