// SPDX-License-Identifier: Apache-2.0
// The dry runs of one preemptor, kept while its search yields.
#ifndef BERTH_SRC_PREEMPTION_DRY_RUNS_H_
#define BERTH_SRC_PREEMPTION_DRY_RUNS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "berth/framework/handle.h"
#include "preemption/dry_run_node.h"

namespace berth {

// A search may need a dry run of every node. It yields between two of them when its WorkBudget is
// spent. The attempt comes again, searches again, and finds here what it has tried: as long as the
// cluster is as it was. If it changed meanwhile, nothing is kept, and the search does twice as much
// before it yields: it ends however often the cluster changes. Scheduling thread.
class DryRuns {
 public:
  explicit DryRuns(Handle& handle) : handle_(handle) {}

  // A search for the pod of `query` begins, or begins again.
  void Begin(const PreemptionQuery& query);
  // It has its answer: nothing is kept.
  void End();

  // DryRunNode(). With PreemptionQuery::spare_groups no candidate where all pods are spared. Null
  // if it yields: WorkBudget::yielded(). Valid until the next call.
  const DryRunResult* Run(const PreemptionQuery& query, NodeRow row);

 private:
  // What dry runs depend on. Versions only grow, so their sum tells whether one changed.
  struct Inputs {
    uint64_t table = 0, versions = 0;
    friend bool operator==(const Inputs&, const Inputs&) = default;
  };
  struct Results {
    std::vector<int32_t> of_row;  // its position in `in_order`, or -1
    std::vector<std::pair<NodeRow, DryRunResult>> in_order;
    void Clear();
  };
  Inputs CurrentInputs() const;
  DryRunResult RunNow(const PreemptionQuery& query, NodeRow row);

  Handle& handle_;
  std::shared_ptr<const PackedPod> pod_;  // whose search has no answer yet; or null
  Results results_, sparing_groups_;
  DryRunResult last_;    // where they are not kept
  Inputs inputs_;        // of the results, where it yielded
  int stages_ = 0;       // of this attempt: WorkBudget::Refill()
  int most_stages_ = 0;  // of one attempt
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_DRY_RUNS_H_
