// SPDX-License-Identifier: Apache-2.0
// A request whose answer is waited for.
#ifndef BERTH_SRC_KUBERNETES_BLOCKING_CALL_H_
#define BERTH_SRC_KUBERNETES_BLOCKING_CALL_H_

#include "absl/status/statusor.h"
#include "kubernetes/api_client.h"

namespace berth {

// As ApiClient::Call(). Never on the client's own thread, which brings the answer.
absl::StatusOr<ApiResponse> CallAndWait(ApiClient& client, ApiRequest request);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_BLOCKING_CALL_H_
