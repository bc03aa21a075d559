// SPDX-License-Identifier: Apache-2.0
// Fields of a pod by name: what a remote plugin says that its verdicts read.
#ifndef BERTH_SRC_REMOTE_PLUGIN_POD_FIELDS_H_
#define BERTH_SRC_REMOTE_PLUGIN_POD_FIELDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "berth/api/packed_pod.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/sign.h"

namespace berth {

// Whether the field can be signed: "spec" or what is below it by the names of the API
// ("spec.tolerations"), "metadata.labels", "metadata.namespace", "metadata.annotations[KEY]".
absl::Status CheckPodField(const std::string& field);

// What pods are in some fields, as bytes: equal for pods of equal values. What is shared by pods of
// one shape is kept of the latest: mostly the next pod has it, too. Threads: one at a time.
class PodFieldSigner {
 public:
  // Each field passed CheckPodField().
  explicit PodFieldSigner(const std::vector<std::string>& fields);

  std::string Sign(const PodInfo& pod);

 private:
  std::vector<std::string> spec_fields_, own_fields_;
  std::shared_ptr<const PodShape> shape_;
  std::string bytes_of_shape_;
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_POD_FIELDS_H_
