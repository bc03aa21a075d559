// SPDX-License-Identifier: Apache-2.0
// Requests to an API server: asynchronous, in time, at a limited rate, and tried again where that
// is safe.
#ifndef BERTH_SRC_KUBERNETES_API_CLIENT_H_
#define BERTH_SRC_KUBERNETES_API_CLIENT_H_

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
#include "kubernetes/connection.h"
#include "kubernetes/credentials.h"
#include "kubernetes/http_loop.h"
#include "kubernetes/rate_limiter.h"
#include "kubernetes/retry.h"

namespace berth {

struct ApiRequest {
  std::string method = "GET";
  std::string target;  // "/api/v1/pods?limit=500"
  std::string accept;  // JSON if it is empty
  std::string content_type, body;
  Repeatable repeatable = Repeatable::kYes;
  // From now to the end of the answer; of a stream, to its beginning.
  absl::Duration timeout = absl::Seconds(30);
  // Of a stream, from its beginning to its end.
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

struct ApiClientOptions {
  double qps = 50;  // client-go's defaults of a scheduler; zero or less: no limit
  int burst = 100;
  std::string user_agent = "berth";
  uint64_t seed = 0;
  // For people: what goes wrong beside single requests. Called on the client's thread.
  std::function<void(absl::string_view text)> warn = [](absl::string_view) {};
};

// Threads: any. Answers come on a thread of the client's own; do little there, and do not wait.
class ApiClient {
 public:
  using RequestId = uint64_t;
  // The answer of a 2xx; an ApiError's status; DeadlineExceeded or Unavailable, whose message says
  // whether it was sent; Unknown in place of Unavailable if that matters (Repeatable::kNo);
  // Cancelled.
  using Answer = std::function<void(absl::StatusOr<ApiResponse> response)>;

  ApiClient(Connection connection, ApiClientOptions options);
  // Every request that is under way ends with Cancelled, before this returns.
  ~ApiClient();

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

  const Connection& connection() const { return connection_; }

 private:
  class Request;

  RequestId Begin(std::unique_ptr<Request> request);
  Request* Find(RequestId id);
  // On the loop's thread, in this order: credentials, a token of the rate limiter, the transfer,
  // the verdict.
  void Prepare(Request& request);
  void Send(Request& request);
  void StartTransfer(Request& request);
  void StartNext();
  void Judge(Request& request, const FailedTry& failed, absl::Status status);
  void End(RequestId id, absl::StatusOr<ApiResponse> response);

  bool HasCredentials() const;
  bool CanRefresh() const;
  void Refresh();
  void TakeCredentials(absl::StatusOr<Credentials> read);

  const Connection connection_;
  const ApiClientOptions options_;
  std::atomic<RequestId> next_request_ = 1;
  std::atomic<bool> stopping_ = false;

  // Of the loop's thread.
  RateLimiter limiter_;
  std::mt19937_64 random_;
  std::map<RequestId, std::unique_ptr<Request>>
      requests_;                                  // cancelled in the order in which they came
  std::shared_ptr<const HttpEndpoint> endpoint_;  // null: no credentials have been read
  int calls_under_way_ = 0;
  std::deque<RequestId> ready_;  // calls that wait for others to end
  std::string token_;
  absl::Time credentials_end_ = absl::InfinitePast();  // wall clock
  uint64_t credentials_version_ = 0;
  bool refreshing_ = false;
  std::vector<RequestId> waiting_for_credentials_;
  std::thread refresher_;

  HttpLoop loop_;  // last: its thread uses the others
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_API_CLIENT_H_
