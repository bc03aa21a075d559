// SPDX-License-Identifier: Apache-2.0
// What is said to an extender and what it answers, as JSON: kube-scheduler v1.35
// k8s.io/kube-scheduler/extender/v1/types.go.
#ifndef BERTH_SRC_EXTENDER_EXTENDER_MESSAGES_H_
#define BERTH_SRC_EXTENDER_EXTENDER_MESSAGES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/extensions/extender.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace berth {

// --- Requests ---

// ExtenderArgs, of filter and prioritize. The pod and the nodes are JSON.
std::string NodeNamesRequest(absl::string_view pod, absl::Span<const NodeInfo* const> nodes);
std::string NodesRequest(absl::string_view pod, absl::Span<const absl::string_view> nodes);

// ExtenderPreemptionArgs, with the uids of the victims or with the victims.
std::string MetaVictimsRequest(absl::string_view pod,
                               absl::Span<const PreemptionCandidate* const> candidates);
std::string VictimsRequest(absl::string_view pod,
                           absl::Span<const PreemptionCandidate* const> candidates);

// ExtenderBindingArgs.
std::string BindingRequest(const PodInfo& pod, absl::string_view node_name);

// A pod or a node as its message has it; what the message does not have is not said
// (docs/extenders.md).
std::string ObjectJson(const google::protobuf::Message& object);
std::string PodJson(const PodInfo& pod);

// --- Answers. As Go's encoding/json reads them: the case of names does not matter, of equal ones
// the last counts, null is nothing, unknown names and what follows the value are ignored.
// InvalidArgument for everything else that is not of the right form; without the extender's name.

// ExtenderFilterResult. `node_names_first`: nodeCacheCapable. Its Error is Unknown.
absl::StatusOr<SchedulerExtender::FilterResult> ReadFilterResult(absl::string_view json,
                                                                 bool node_names_first);
// HostPriorityList.
SchedulerExtender::Priorities ReadPriorities(absl::string_view json);
// ExtenderPreemptionResult.
absl::StatusOr<std::map<std::string, SchedulerExtender::Victims>> ReadPreemptionResult(
    absl::string_view json);
// ExtenderBindingResult.
absl::Status ReadBindingResult(absl::string_view json);

}  // namespace berth

#endif  // BERTH_SRC_EXTENDER_EXTENDER_MESSAGES_H_
