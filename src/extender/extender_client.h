// SPDX-License-Identifier: Apache-2.0
// Requests to extenders: an answer within a time and of a size, or an error.
#ifndef BERTH_SRC_EXTENDER_EXTENDER_CLIENT_H_
#define BERTH_SRC_EXTENDER_EXTENDER_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kubernetes/http_loop.h"

namespace berth {

struct ExtenderCall {
  HttpRequest request;
  absl::Duration timeout;  // for all of it, the last byte included
  size_t most_bytes = 0;   // of an answer
};

// Threads: any but its own. No answer is waited for when it ends.
class ExtenderClient {
 public:
  ExtenderClient();
  ~ExtenderClient();

  // Begins the call and returns at once; what it returns waits for the end, or is dropped.
  // DeadlineExceeded after the timeout; FailedPrecondition for a code other than 200;
  // ResourceExhausted for an answer that is too large. Errors do not name the extender.
  std::function<absl::StatusOr<std::string>()> Begin(ExtenderCall call);

 private:
  class Exchange;

  // Under way; of the loop's thread.
  absl::flat_hash_set<std::shared_ptr<Exchange>> exchanges_;
  HttpLoop loop_;  // last: its thread ends before anything else goes
};

}  // namespace berth

#endif  // BERTH_SRC_EXTENDER_EXTENDER_CLIENT_H_
