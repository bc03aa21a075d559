// SPDX-License-Identifier: Apache-2.0
// Implementation of retry.h.
#include "kubernetes/retry.h"

namespace berth {

bool LeavesDoubt(const ApiError& refusal) {
  const bool was_turned_away = refusal.code == 503 && refusal.retry_after.has_value();
  return refusal.code >= 500 && refusal.code != 501 && !was_turned_away;
}

bool MayRetry(Repeatable repeatable, const FailedTry& failed) {
  if (!failed.refusal.has_value()) return repeatable == Repeatable::kYes || !failed.was_sent;
  const ApiError& refusal = *failed.refusal;
  if (refusal.code == 429) return true;
  if (LeavesDoubt(refusal)) return repeatable == Repeatable::kYes;
  return refusal.code == 503;
}

}  // namespace berth
