// SPDX-License-Identifier: Apache-2.0
// Which requests may be sent again.
#ifndef BERTH_SRC_KUBERNETES_RETRY_H_
#define BERTH_SRC_KUBERNETES_RETRY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kubernetes/api_error.h"

namespace berth {

// What happens if the server does a request twice.
enum class Repeatable : uint8_t {
  kYes,  // nothing: it reads, or writes the same again, or has a precondition
  kNo,   // something else: send it again only if the server certainly did not do it
};

// A try that failed, by the network or by the server.
struct FailedTry {
  std::optional<ApiError> refusal;  // absent: no answer came
  bool was_sent = true;             // some of it, perhaps
};

// Whether it may have been done all the same: a server that fails, or one before it, does not say.
// But nothing was done after 501, and after 503 with Retry-After, which the API server's filters
// send before they look at the request; a load balancer may not.
bool LeavesDoubt(const ApiError& refusal);

// Whether to try again. A server says of 429 that nothing was done.
bool MayRetry(Repeatable repeatable, const FailedTry& failed);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_RETRY_H_
