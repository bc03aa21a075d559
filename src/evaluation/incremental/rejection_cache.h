// SPDX-License-Identifier: Apache-2.0
// Why no node is feasible for one class of pods, kept from one attempt to the next: only nodes that
// changed, or whose topology domains or objects changed, are filtered again.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_REJECTION_CACHE_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_REJECTION_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/work_budget.h"
#include "evaluation/diagnosis.h"
#include "evaluation/incremental/domain_tracker.h"
#include "evaluation/incremental/node_change_tracker.h"
#include "evaluation/incremental/rejection_counts.h"
#include "framework/framework.h"
#include "framework/yield_guard.h"

namespace berth {

// One profile's rejections for pods of one signature. Scheduling thread.
class RejectionCache {
 public:
  // `plugins` are those that signed (PodSigner::SignForNodes).
  RejectionCache(const Framework& framework, PluginMask plugins)
      : framework_(framework), plugins_(plugins), node_changes_(framework, plugins) {}

  enum class Outcome : uint8_t {
    kRejected,  // by every node: what follows is up to date
    kFits,      // some node may be feasible
    kUnknown,   // a plugin failed, or there are too many reasons: the cache is of no use
    kYielded,   // the budget is spent: the next Refresh() continues
  };
  // Brings everything up to date with `nodes` and the pods nominated to them, for `evaluated_pod`,
  // a pod of this signature. `state` is that of its PreFilter with all plugins; `beyond_node` the
  // result of VerdictDependencies::FindBeyondNode() for it. Stops at nodes that fit.
  // Spends the budget of `state`.
  Outcome Refresh(const CycleState& state, const PodInfo& evaluated_pod, const NodeTable& nodes,
                  const Nominator& nominator, const DependenciesBeyondNode& beyond_node);

  // Whether the last pod of this class was rejected.
  bool last_pod_was_rejected() const { return last_pod_was_rejected_; }
  void set_last_pod_was_rejected(bool last_pod_was_rejected) {
    last_pod_was_rejected_ = last_pod_was_rejected;
  }

  const NodeVerdicts& verdicts() const { return verdicts_; }
  const RejectionCounts& counts() const { return counts_; }

 private:
  // One Refresh().
  struct Attempt {
    const CycleState& state;
    const PodInfo& pod;
    const NodeTable& nodes;
  };
  bool CatchUp(const NodeChangeTracker::Question& changes);
  bool CatchUpBeyondNode(const Attempt& in, const DependenciesBeyondNode& beyond_node);
  Outcome FilterMarked(const Attempt& in);
  Outcome FilterOne(const Attempt& in, NodeRow row);
  Outcome FilterEach(const Attempt& in, absl::Span<const NodeRow> rows);
  Outcome FilterMany(const Attempt& in, size_t at_once);
  bool YieldIfSpent(size_t marked, WorkBudget& budget);
  void Mark(NodeRow row);
  void MarkAll(int rows);

  const Framework& framework_;
  const PluginMask plugins_;
  bool last_pod_was_rejected_ = true;

  NodeChangeTracker node_changes_;
  // As of the last Refresh(). `spec_` is the pod's, if cluster objects are among its inputs.
  DomainTracker domains_;
  std::vector<PluginInputs> objects_;
  std::shared_ptr<const void> spec_;
  NodeVerdicts verdicts_;        // kNotFiltered: to be filtered
  std::vector<NodeRow> marked_;  // these
  YieldGuard yields_;            // with marked rows left
  RejectionCounts counts_;       // by row; marked rows still have their old one
};

// The statuses that are cached. Valid until the next Refresh().
class CachedStatuses final : public NodeStatuses {
 public:
  explicit CachedStatuses(const RejectionCache& cache) : cache_(cache) {}

  Code code(NodeRow row) const override { return cache_.verdicts().code(row); }
  Status status(NodeRow row) const override { return cache_.counts().status(row); }
  Symbol rejecting_plugin(NodeRow row) const override { return cache_.counts().plugin(row); }
  std::vector<NodeRow> RowsWith(Code code) const override;
  int CountWith(Code code) const override { return cache_.counts().CountWith(code); }

 private:
  const RejectionCache& cache_;
};

// Why no node is feasible, from the cache. Valid until the next Refresh().
class CachedDiagnosis final : public Diagnosis {
 public:
  CachedDiagnosis(const Framework& framework, RejectionCache& cache, const NodeTable& nodes)
      : framework_(framework), cache_(cache), nodes_(nodes), statuses_(cache) {}

  const NodeStatuses& statuses() const override { return statuses_; }
  ReasonCounts CountReasons() const override { return cache_.counts().Count(); }
  bool HasRejected(uint8_t filter) const override { return CountOf(filter) > 0; }
  RejectorCounts CountRejectors() const override;
  FreeCapacity MeasureFree(const FreeCapacityQuestion& question) override {
    return MeasureFreeCapacity(question, nodes_, cache_.verdicts());
  }

 private:
  // Nothing is cached of pods that an extender is interested in: it has rejected no node.
  int CountOf(uint8_t filter) const {
    if (filter >= framework_.plugins().filter.size()) return 0;
    return cache_.counts().CountOf(framework_.plugins().filter[filter].name);
  }

  const Framework& framework_;
  RejectionCache& cache_;
  const NodeTable& nodes_;
  CachedStatuses statuses_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_REJECTION_CACHE_H_
