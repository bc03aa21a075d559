// SPDX-License-Identifier: Apache-2.0
// What a served plugin says of one pod and all nodes, packed as the answer to Evaluate.
#ifndef BERTH_SRC_REMOTE_PLUGIN_SERVED_EVALUATION_H_
#define BERTH_SRC_REMOTE_PLUGIN_SERVED_EVALUATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/plugin.h"
#include "berth/framework/pod_info.h"
#include "berth/v1/plugin.pb.h"
#include "remote/plugin/served_handle.h"

namespace berth {

// Borrows the plugin and the nodes. Threads: one at a time.
class ServedEvaluation {
 public:
  ServedEvaluation(Plugin& plugin, const ServedNodes& nodes) : plugin_(plugin), nodes_(nodes) {}

  // Fills all of `answer` but its id and revision. Error: the question is about a node, or has a
  // pod, that cannot be.
  absl::Status Answer(const v1::Evaluate& question, const PodInfo& pod, v1::Evaluation& answer);

 private:
  template <class P>
  P* As() const {
    return dynamic_cast<P*>(&plugin_);
  }
  // Whether Filter and Score are to follow.
  bool PreFilter(CycleState& state, const PodInfo& pod, v1::Evaluation& answer, bool& skips_filter);
  // Leaves in rows_ those that it does not reject.
  bool Filter(const CycleState& state, const PodInfo& pod, v1::Evaluation& answer);
  void Score(CycleState& state, const PodInfo& pod, v1::Evaluation& answer);
  Status RunScore(CycleState& state, const PodInfo& pod);
  void AnswerForAll(const v1::Evaluate& question, const PodInfo& pod, v1::Evaluation& answer);
  absl::Status AnswerForOne(const v1::HypotheticalNode& hypothetical, const PodInfo& pod,
                            v1::Evaluation& answer);

  Plugin& plugin_;
  const ServedNodes& nodes_;
  NodeVerdicts verdicts_;
  std::vector<NodeRow> rows_;     // that are still in question
  std::vector<int64_t> scores_;   // of rows_
  std::vector<uint8_t> reasons_;  // by index: the position among the answer's reasons
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_SERVED_EVALUATION_H_
