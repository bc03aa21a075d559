// SPDX-License-Identifier: Apache-2.0
// The thread that talks to the network: HTTP transfers by libcurl, timers, and what others have it
// run.
#ifndef BERTH_SRC_KUBERNETES_HTTP_LOOP_H_
#define BERTH_SRC_KUBERNETES_HTTP_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/mutex.h"
#include "kubernetes/rate_limiter.h"

namespace berth {

// Time that no one sets: for deadlines and waits. It has no date.
absl::Time MonotonicNow();

// How connections to one server are made. Transfers of equal settings share connections.
struct HttpEndpoint {
  std::string url;          // "https://host:port", with a path if there is one
  std::string connect_to;   // "host:port" to connect to in place of the url's; may be empty
  std::string host_header;  // may be empty
  std::string proxy;        // empty: as the environment says
  std::string authority_pem, certificate_pem, key_pem;
  bool verify = true;
  // What was sent and is not acknowledged for that long ends a connection.
  absl::Duration unacknowledged_timeout = absl::Seconds(30);
};

struct HttpRequest {
  std::shared_ptr<const HttpEndpoint> endpoint;
  std::string method;
  std::string target;                // path and query
  std::vector<std::string> headers;  // "Accept: …"
  std::string body;
};

struct HttpHead {
  int code = 0;
  std::string content_type;
  std::string retry_after;
};

// What becomes of a transfer. Called on the loop's thread.
class HttpReceiver {
 public:
  virtual ~HttpReceiver() = default;
  virtual void OnHead(const HttpHead& head) = 0;
  virtual void OnBytes(absl::string_view bytes) = 0;
  // Last, unless it was aborted. `was_sent`: something of the request, perhaps.
  virtual void OnEnd(const absl::Status& status, bool was_sent) = 0;
};

class HttpLoop {
 public:
  using TransferId = uint64_t;

  HttpLoop();
  // Ends the thread. Transfers are dropped, and what is still to run, without a call.
  ~HttpLoop();

  // Runs `work` on the loop's thread, soon. Threads: any.
  void Post(std::function<void()> work);

  // The others are called on the loop's thread, also while it calls.
  void RunAt(absl::Time time, std::function<void()> work);
  // `receiver` must live until OnEnd() or Abort().
  TransferId Start(HttpRequest request, HttpReceiver& receiver);
  void Abort(TransferId transfer);  // nothing is called any more
  // The same, for want of an answer. If the connection has been silent for `wait` it is ended, so
  // that what comes next makes another: of HTTP/2 it would be shared again, dead or not.
  void AbortLate(TransferId transfer, absl::Duration wait);
  // Something of the request, perhaps. It must be under way.
  bool WasSent(TransferId transfer) const;

 private:
  class Easy;
  class Transfer;
  class Multi;

  void Run();
  void RunPosted();
  void RunDue();
  void StartAndAbort();
  void Finish();
  bool Pause();

  const std::unique_ptr<Multi> multi_;
  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // the loop's thread waits for the next
  CondVar posted_or_stopping_;

  TransferId next_transfer_ = 1;
  absl::flat_hash_map<TransferId, std::unique_ptr<Transfer>> transfers_;
  // libcurl cannot be told from within its callbacks.
  std::vector<TransferId> to_start_;
  std::vector<std::unique_ptr<Transfer>> aborted_;
  std::multimap<absl::Time, std::function<void()>> timers_;
  RateLimiter waits_;
  std::thread thread_;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_HTTP_LOOP_H_
