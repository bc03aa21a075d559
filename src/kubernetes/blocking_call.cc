// SPDX-License-Identifier: Apache-2.0
// Implementation of blocking_call.h.
#include "kubernetes/blocking_call.h"

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "berth/mutex.h"

namespace berth {

absl::StatusOr<ApiResponse> CallAndWait(ApiClient& client, ApiRequest request) {
  struct {
    Mutex mutex;
    CondVar came;
    std::optional<absl::StatusOr<ApiResponse>> answer ABSL_GUARDED_BY(mutex);
  } waiting;
  client.Call(std::move(request), [&waiting](absl::StatusOr<ApiResponse> answer) {
    MutexLock lock(waiting.mutex);
    waiting.answer = std::move(answer);
    waiting.came.SignalAll();
  });
  MutexLock lock(waiting.mutex);
  while (!waiting.answer.has_value()) waiting.came.Wait(waiting.mutex);
  return *std::move(waiting.answer);
}

}  // namespace berth
