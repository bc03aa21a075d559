// SPDX-License-Identifier: Apache-2.0
// What RBAC does not let the scheduler do, said once for each rule that is missing.
#ifndef BERTH_SRC_KUBERNETES_DENIALS_H_
#define BERTH_SRC_KUBERNETES_DENIALS_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "berth/mutex.h"

namespace berth {

// The rule of a Role or ClusterRole that would have allowed what `status` refuses, as
// "{apiGroups: [""], resources: ["pods/binding"], verbs: ["create"]}"; absent if it is no refusal
// for lack of one.
std::optional<std::string> MissingRule(const absl::Status& status);

// Threads: any.
class Denials {
 public:
  explicit Denials(std::function<void(absl::string_view text)> warn) : warn_(std::move(warn)) {}
  // Warns if a rule is missing that was not missing before.
  void See(const absl::Status& status);

 private:
  const std::function<void(absl::string_view text)> warn_;
  Mutex mutex_;
  std::set<std::string> said_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_DENIALS_H_
