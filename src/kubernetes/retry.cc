// SPDX-License-Identifier: Apache-2.0
// Implementation of retry.h.
#include "kubernetes/retry.h"

namespace berth {

bool MayRetry(Repeatable repeatable, const FailedTry& failed) {
  if (!failed.refusal.has_value()) return repeatable == Repeatable::kYes || !failed.was_sent;
  const ApiError& refusal = *failed.refusal;
  if (refusal.code == 429) return true;
  // The API server's filters send it before they look at the request; a load balancer may not.
  if (refusal.code == 503 && refusal.retry_after.has_value()) return true;
  return refusal.code >= 500 && refusal.code != 501 && repeatable == Repeatable::kYes;
}

}  // namespace berth
