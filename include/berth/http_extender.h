// SPDX-License-Identifier: Apache-2.0
// Scheduler extenders over HTTP, as configurations name them. Needs berth::extender, which is no
// part of berth::berth.
#ifndef BERTH_HTTP_EXTENDER_H_
#define BERTH_HTTP_EXTENDER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "berth/configuration.h"
#include "berth/extensions/extender.h"

namespace berth {

// The extenders of KubeSchedulerConfiguration::extenders, for SchedulerOptions::extenders: those
// that are not ignorable first, as kube-scheduler asks them. Reads the files of tlsConfig; nobody
// is called yet. They share one thread, which ends with the last of them. Errors name the extender
// and what to do.
absl::StatusOr<ExtenderList> NewHttpExtenders(const std::vector<Extender>& extenders);

}  // namespace berth

#endif  // BERTH_HTTP_EXTENDER_H_
