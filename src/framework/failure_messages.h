// SPDX-License-Identifier: Apache-2.0
// Why no node is feasible, as people read it.
#ifndef BERTH_SRC_FRAMEWORK_FAILURE_MESSAGES_H_
#define BERTH_SRC_FRAMEWORK_FAILURE_MESSAGES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/symbol.h"
#include "berth/framework/status.h"

namespace berth {

// How many nodes have each reason.
struct ReasonCount {
  int nodes = 0;
  Symbol plugin;            // that gave it first
  bool resolvable = false;  // on some node evicting pods might help
};
using ReasonCounts = std::map<std::string, ReasonCount>;

// The text of the pod's FailedScheduling event. kube-scheduler v1.35 framework/types.go FitError:
// "0/N nodes are available: " and either the PreFilter message or "count reason, ..." sorted as
// strings, then the PostFilter message, if any.
std::string PreFilterFailureMessage(int node_count, absl::string_view pre_filter_message,
                                    absl::string_view post_filter_message);
std::string FilterFailureMessage(int node_count, const ReasonCounts& reasons,
                                 absl::string_view post_filter_message);

// "1500m", "8Gi", "8". Of "pods": places for pods.
std::string AmountText(absl::string_view resource, int64_t amount);

// The text for a pod that Reserve or Permit rejected on its node: a FitError over that one node.
std::string RefusalMessage(const Status& status);

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FAILURE_MESSAGES_H_
