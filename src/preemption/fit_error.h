// SPDX-License-Identifier: Apache-2.0
// Why preemption helps on no node, counted.
#ifndef BERTH_SRC_PREEMPTION_FIT_ERROR_H_
#define BERTH_SRC_PREEMPTION_FIT_ERROR_H_

#include <set>
#include <string>
#include <vector>

#include "berth/columns/node_table.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/status.h"
#include "berth/preemption/preemption.h"
#include "framework/failure_messages.h"

namespace berth {

// What speaks against the potential nodes, as FitError of kube-scheduler's framework/types.go
// prints it.
class FitError {
 public:
  FitError(const PreemptionRules& rules, const PodInfo& preemptor, const NodeTable& nodes)
      : rules_(rules), preemptor_(preemptor), nodes_(nodes) {}

  void Add(const Status& status, int nodes = 1);
  // A node from which no pod may be evicted; or more than kMostNamed such nodes.
  void AddWithoutVictims(NodeRow row);
  void AddManyWithoutVictims(int nodes) { without_victims_ += nodes; }
  // Of more nodes without victims none is named.
  static constexpr int kMostNamed = 64;
  // All `count` potential nodes are such.
  void AddAllWithoutVictims(const NodeStatuses& statuses, int count);

  // Unschedulable with all of it, or the errors, if there are any.
  Status ToStatus() &&;

 private:
  bool NamesNodesWithoutVictims() const;
  std::string ErrorText() const;

  const PreemptionRules& rules_;
  const PodInfo& preemptor_;
  const NodeTable& nodes_;
  int counted_ = 0;  // nodes
  ReasonCounts counts_;
  std::set<std::string> errors_;  // in this order, whichever node was looked at first
  int without_victims_ = 0;
  std::vector<NodeRow> named_without_victims_;  // these, unless they are too many
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_FIT_ERROR_H_
