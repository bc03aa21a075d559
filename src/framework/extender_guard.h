// SPDX-License-Identifier: Apache-2.0
// Calls of extenders that may throw.
#ifndef BERTH_SRC_FRAMEWORK_EXTENDER_GUARD_H_
#define BERTH_SRC_FRAMEWORK_EXTENDER_GUARD_H_

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/extensions/extender.h"

namespace berth {

// What `call` returns, a Status or StatusOr. What the extender throws is an Internal error.
template <class Call>
auto GuardExtender(const SchedulerExtender& extender, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("extender \"", extender.Name(), "\" threw: ", error.what()));
  } catch (...) {
    return absl::InternalError(
        absl::StrCat("extender \"", extender.Name(), "\" threw what is no std::exception"));
  }
}

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_EXTENDER_GUARD_H_
