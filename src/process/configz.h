// SPDX-License-Identifier: Apache-2.0
// The configuration in effect, as /configz shows it.
#ifndef BERTH_SRC_PROCESS_CONFIGZ_H_
#define BERTH_SRC_PROCESS_CONFIGZ_H_

#include <string>

#include "berth/configuration.h"
#include "process/http.h"

namespace berth {

// {"componentconfig": the configuration in full, as JSON}. Keys of extenders are not shown.
std::string ConfigzText(const KubeSchedulerConfiguration& configuration);

void AddConfigzEndpoint(const KubeSchedulerConfiguration& configuration, Endpoints& endpoints);

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_CONFIGZ_H_
