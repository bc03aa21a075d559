// SPDX-License-Identifier: Apache-2.0
// What of a node's total depends on the pod's requests alone, for all pods that request the same.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_SHARED_SCORES_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_SHARED_SCORES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/incremental/sign.h"
#include "evaluation/incremental/equivalence_cache.h"
#include "evaluation/node_evaluator.h"

namespace berth {

// Many applications request the same few amounts. Plugins that look at one node at a time and do
// not normalise, as NodeResourcesFit, give a node the same points for all of their pods, whatever
// else differs. Keeps these, added up by row, for each signature of such plugins; rows that changed
// since are scored again. Scheduling thread.
class SharedScores {
 public:
  // Sets `totals`, of all rows, to what is kept, or to 0 if nothing is. Returns the plugins whose
  // points it has added up; they scored infeasible rows too. `node_plugins` signed the pod;
  // PreScore has run. Nothing is kept for the first pods of a signature.
  PluginMask Find(const EvaluationRequest& request, PluginMask node_plugins,
                  std::vector<int64_t>& totals);

 private:
  struct Column {
    std::vector<int64_t> totals;  // by row
    uint64_t version = 0;         // of the table
  };

  void SelectPlugins(const EvaluationRequest& request, PluginMask node_plugins);
  bool Refresh(const EvaluationRequest& request, Column& column);
  bool AddUp(const EvaluationRequest& request, absl::Span<const NodeRow> rows);

  EquivalenceCache<Column> columns_;
  // Of one call:
  PluginMask plugins_ = 0;
  Aspects depends_on_ = Aspect::kNothing;
  PodSignature signature_;
  std::vector<NodeRow> changed_;
  std::vector<int64_t> scores_, sums_;  // of changed_
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_SHARED_SCORES_H_
