// SPDX-License-Identifier: Apache-2.0
// Calls of a served plugin: what it throws is an error of that call.
#ifndef BERTH_SRC_REMOTE_PLUGIN_SERVED_CALL_H_
#define BERTH_SRC_REMOTE_PLUGIN_SERVED_CALL_H_

#include <exception>

#include "absl/strings/str_cat.h"
#include "berth/framework/status.h"

namespace berth {

// What `call` returns, a Status, or an Error with what it throws.
template <class Call>
Status GuardedCall(const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return Status::Error(absl::StrCat("threw: ", error.what()));
  } catch (...) {
    return Status::Error("threw what is no std::exception");
  }
}

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_SERVED_CALL_H_
