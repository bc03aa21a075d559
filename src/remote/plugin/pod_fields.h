// SPDX-License-Identifier: Apache-2.0
// Fields of a pod by name: what a remote plugin says that its verdicts read.
#ifndef BERTH_SRC_REMOTE_PLUGIN_POD_FIELDS_H_
#define BERTH_SRC_REMOTE_PLUGIN_POD_FIELDS_H_

#include <string>

#include "absl/status/status.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/sign.h"

namespace berth {

// Whether the field can be signed: "spec" or what is below it by the names of the API
// ("spec.tolerations"), "metadata.labels", "metadata.namespace", "metadata.annotations[KEY]".
absl::Status CheckPodField(const std::string& field);

// Adds the field's value. Pods of equal values add equal bytes.
void SignPodField(const std::string& field, const PodInfo& pod, PodSignature& signature);

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_POD_FIELDS_H_
