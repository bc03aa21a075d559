// SPDX-License-Identifier: Apache-2.0
// Pods of workloads that no API server has seen: what the controllers of a cluster would make of a
// Deployment and its like.
#ifndef BERTH_SRC_API_WORKLOADS_H_
#define BERTH_SRC_API_WORKLOADS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/object.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

struct WorkloadKind {
  absl::string_view api_version, kind;
};
// Those that have a pod template that a controller makes pods of, or another that does.
absl::Span<const WorkloadKind> WorkloadKinds();

// Whether objects of this kind have a pod template that a controller makes pods of: "apps/v1"
// "Deployment", and so on.
bool MakesPods(absl::string_view api_version, absl::string_view kind);

// One of them, with what it would come to.
struct Workload {
  std::string api_version, kind, namespace_name, name;
  SourceLocation where;
  // Pods, claims of a StatefulSet, and the ReplicaSet of a Deployment; changeable, in this order.
  std::vector<std::pair<Kind, std::shared_ptr<google::protobuf::Message>>> objects;
  int pods = 0;
  std::string owner_kind;  // of its pods: a ReplicaSet's for a Deployment
  // Why there are none; empty if there are.
  std::string why_none;
};

// Reads a workload of a kind that MakesPods(). What is wrong with it is reported. Nullopt if it was
// stored by an API server, whose controllers have made its pods, or is at fault.
std::optional<Workload> ReadWorkload(Value value, absl::string_view api_version,
                                     absl::string_view kind, absl::string_view default_namespace,
                                     Problems& problems);

}  // namespace berth

#endif  // BERTH_SRC_API_WORKLOADS_H_
