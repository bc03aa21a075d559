// SPDX-License-Identifier: Apache-2.0
// What an API server and its clients make of a pod's status.
#ifndef BERTH_API_POD_STATUS_H_
#define BERTH_API_POD_STATUS_H_

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace berth {

namespace api {
class PodCondition;
class PodStatus;
}  // namespace api

// Phase Succeeded or Failed.
bool HasEnded(const api::PodStatus& status);

// The condition of that type, added if there is none, without reason and message. Its time is that
// of its last change from true to false or back, in whole seconds as the API server keeps it.
api::PodCondition& SetCondition(absl::string_view type, bool is_true, absl::Time now,
                                api::PodStatus& status);

}  // namespace berth

#endif  // BERTH_API_POD_STATUS_H_
