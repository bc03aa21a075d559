// SPDX-License-Identifier: Apache-2.0
// A scheduler extender: a process of its own that is asked after the plugins. kube-scheduler's
// fwk.Extender; berth/http_extender.h has the one that speaks HTTP.
#ifndef BERTH_EXTENSIONS_EXTENDER_H_
#define BERTH_EXTENSIONS_EXTENDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/postfilter.h"

namespace berth {

// The name of all extenders where a plugin's name is expected, as in kube-scheduler: what rejected
// the nodes that an extender rejected.
inline constexpr absl::string_view kExtenderName = "Extender";

// One extender. All calls but Bind() and what Prioritize() returns are made by the scheduling
// thread, which waits: each call must have a deadline. An error names the extender and is
// InvalidArgument if it has answered nonsense; the caller decides by IsIgnorable() what becomes
// of it. Answers are not trusted: nodes and pods that were not asked about are refused by the
// caller.
class SchedulerExtender {
 public:
  virtual ~SchedulerExtender() = default;

  // For messages; its URL.
  virtual absl::string_view Name() const = 0;
  // Whether scheduling goes on without it when it fails.
  virtual bool IsIgnorable() const = 0;
  // Whether it has to do with the pod. Asked first, and for every pod: no other call is made for a
  // pod that it is not interested in.
  virtual bool IsInterested(const PodInfo& pod) const = 0;

  // What it can be asked.
  virtual bool IsFilter() const = 0;
  virtual bool IsPrioritizer() const = 0;
  virtual bool SupportsPreemption() const = 0;
  virtual bool IsBinder() const = 0;

  // The nodes, by name, on which the pod may run. Some of the others have a reason; preemption may
  // help on those in `failed`. A node in both of these is in the latter.
  struct FilterResult {
    std::vector<std::string> nodes;
    std::map<std::string, std::string> failed, failed_and_unresolvable;
  };
  virtual absl::StatusOr<FilterResult> Filter(const PodInfo& pod,
                                              absl::Span<const NodeInfo* const> nodes) = 0;

  // A score of a node, 0 to 10 by convention, not by any check.
  struct HostPriority {
    std::string node;
    int64_t score = 0;
  };
  using Priorities = absl::StatusOr<std::vector<HostPriority>>;
  // Begins to ask and returns at once; what it returns is called once, on the same thread, and
  // waits for the answer. Pod and nodes are not read any more then.
  virtual std::function<Priorities()> Prioritize(const PodInfo& pod,
                                                 absl::Span<const NodeInfo* const> nodes) = 0;
  // Multiplies its scores.
  virtual int64_t weight() const = 0;

  // The candidates that it leaves, with the victims that it wants to go, by their uids.
  struct Victims {
    std::vector<std::string> uids;
    int64_t pdb_violations = 0;
  };
  virtual absl::StatusOr<std::map<std::string, Victims>> ProcessPreemption(
      const PodInfo& pod, absl::Span<const PreemptionCandidate* const> candidates) = 0;

  // Binds the pod in the cluster. Any thread.
  virtual absl::Status Bind(const PodInfo& pod, absl::string_view node_name) = 0;
};

// In the order in which they are asked.
using ExtenderList = std::vector<std::shared_ptr<SchedulerExtender>>;

}  // namespace berth

#endif  // BERTH_EXTENSIONS_EXTENDER_H_
