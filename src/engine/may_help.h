// SPDX-License-Identifier: Apache-2.0
// Whether PostFilter can come to anything for pods.
#ifndef BERTH_SRC_ENGINE_MAY_HELP_H_
#define BERTH_SRC_ENGINE_MAY_HELP_H_

#include <memory>

#include "absl/types/span.h"
#include "berth/framework/pod_info.h"
#include "framework/framework.h"

namespace berth {

// Whether some PostFilter plugin might do something for one of these pods (PostFilterBound). The
// node table is up to date.
bool MayAnyHelp(const Framework& framework, absl::Span<const std::shared_ptr<const PodInfo>> pods);
// The same of one.
bool MayAnyHelp(const Framework& framework, const PodInfo& pod);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_MAY_HELP_H_
