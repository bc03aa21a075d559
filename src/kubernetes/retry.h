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

// Whether to try again. A server says of 429, and of 5xx with Retry-After, that nothing was done
// but for 500, 502 and 504, after which it may have been.
bool MayRetry(Repeatable repeatable, const FailedTry& failed);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_RETRY_H_
