// SPDX-License-Identifier: Apache-2.0
// An API server's refusal (metav1.Status) as absl::Status.
#ifndef BERTH_SRC_KUBERNETES_API_ERROR_H_
#define BERTH_SRC_KUBERNETES_API_ERROR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/value.h"

namespace berth {

namespace kubernetes_wire {
class Status;
}  // namespace kubernetes_wire

struct ApiError {
  int code = 0;        // of HTTP
  std::string reason;  // "NotFound", "Expired", "Conflict"; empty if the server gave none
  std::string message;
  std::optional<absl::Duration> retry_after;

  bool IsGone() const { return code == 410 || reason == "Expired" || reason == "Gone"; }
  // The code is what the scheduler makes of it (see berth/cluster.h); the message names the reason.
  // The error itself can be had back with Of().
  absl::Status ToStatus() const;
  // The one that `status` was made of.
  static std::optional<ApiError> Of(const absl::Status& status);
};

// The error of the answer with this code and body: a metav1.Status in either form, or text of a
// proxy.
ApiError ParseApiError(int code, absl::string_view content_type, absl::string_view body);
// How long to wait after a refusal that names so many seconds, in a header or a body: two minutes
// at most, as what is a mistake in between would stop a watch for years. Absent if it names none.
std::optional<absl::Duration> RetryAfter(int64_t seconds);
ApiError ToApiError(const kubernetes_wire::Status& status);
// The error of a metav1.Status in JSON.
ApiError ToApiError(Value status);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_API_ERROR_H_
