// One pod's scheduling cycle: PreFilter, Filter, PreScore, Score, choose, confirm. Decides; changes
// nothing but the pod's own state.
#ifndef BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_
#define BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/framework/node_verdicts.h"
#include "evaluation/incremental/evaluation_caches.h"
#include "framework/framework.h"

namespace berth {

// What a cycle came to. Exactly one of: placed (row >= 0), rejected, failed (status is an Error),
// or not decided yet (goes_on).
struct CycleResult {
  Status status;     // Success, the first rejection, or the Error that ended the cycle
  NodeRow row = -1;  // the chosen node
  bool pre_filter_rejected = false;
  bool goes_on = false;  // it stopped, and goes on in the next cycle for this pod
  Status left_out;       // of nodes that PreFilter narrowed away
  // The plugins that rejected the pod or a node, in the profile's order.
  std::vector<Symbol> rejecting_plugins;
  // Why, node by node, if that is kept for pods like this one. Until the next cycle.
  RejectionCache* kept = nullptr;
};

// Runs cycles. One per scheduler; keeps scratch memory between cycles, and what it learned about
// the nodes for pods that come in numbers. Scheduling thread.
class SchedulingCycle {
 public:
  // Without memory every cycle judges every node, and decides the same. `rows_at_once` as
  // SchedulerOptions has it.
  SchedulingCycle(bool memory, int rows_at_once)
      : memory_on_(memory), rows_at_once_(rows_at_once) {}

  struct Limits {
    int percentage = 0;  // 0 judges every node; else kube-scheduler's percentageOfNodesToScore
    int64_t steps_at_once = 0;  // as SchedulerOptions has it
  };
  CycleResult Run(const Framework& framework, CycleState& state,
                  const std::shared_ptr<const PodInfo>& pod, const NodeTable& nodes,
                  const Nominator& nominator, const Limits& limits);

  // Where a pod like that of the last Run() will go next, perhaps; -1 if nothing is known of that.
  NodeRow expected() const { return expected_; }
  // Of the last Run() that got as far as the filters.
  const NodeVerdicts& verdicts() const { return *last_verdicts_; }
  // How often the per-node form refused a node that the batch form had accepted.
  int64_t unconfirmed() const { return unconfirmed_; }
  // Cycles that did not have to judge every node.
  int64_t remembered() const { return remembered_; }

 private:
  // What a cycle goes by. The same pod twice: shared for who keeps it.
  struct Inputs {
    const Framework& framework;
    const std::shared_ptr<const PodInfo>& shared_pod;
    const PodInfo& pod;
    const NodeTable& nodes;
    const Nominator& nominator;
    int64_t steps_at_once;
  };
  bool TryNominatedNode(const Inputs& in, const CycleState& state, const PreFilterResult& narrowed,
                        CycleResult& result);
  bool StillRejected(const Inputs& in, CycleState& state, const NodeVerdicts* judged,
                     CycleResult& result);
  RejectionCache* KeepRejected(const Inputs& in, const CycleState& state);
  bool RunFromMemory(const Inputs& in, CycleState& state, CycleResult& result);
  bool ChooseRanked(const Inputs& in, CycleState& state, ScoreCache& ranked, CycleResult& result);
  struct Choice {
    NodeRow row = -1;  // -1: no node is feasible
    int64_t score = 0;
  };
  void KeepObjectFilters(const Inputs& in, const CycleState& state, const ScoreCache& ranked);
  bool ChooseBest(const Inputs& in, const CycleState& state, bool judged, int tries,
                  ScoreCache& ranked, Choice& choice);
  bool ChooseByClass(const Inputs& in, CycleState& state, const ScoreCache& ranked,
                     std::vector<DomainSum> sums, Choice& choice);
  bool AddUpClasses(const Inputs& in, CycleState& state, const ScoreCache& ranked,
                    const AlikeRows& feasible);
  bool ChooseByRow(const Inputs& in, CycleState& state, bool judged, ScoreCache& ranked,
                   Choice& choice);
  void ListRows(const NodeTable& nodes, const PreFilterResult& narrowed);
  Status FindFeasible(const Inputs& in, const CycleState& state, int wanted);
  Status ScoreFeasible(const Inputs& in, CycleState& state);
  void Choose(const Inputs& in, const CycleState& state, CycleResult& result);
  // `rejected[i]`: the plugin of that index in Framework::filter() rejected a node.
  static void NoteRejectors(const Framework& framework, const std::vector<bool>& rejected,
                            CycleResult& result);

  EvaluationCaches memory_;
  const bool memory_on_;
  const int rows_at_once_;
  int64_t remembered_ = 0;
  NodeVerdicts verdicts_;
  const NodeVerdicts* last_verdicts_ = &verdicts_;
  NodeRow expected_ = -1;
  bool tried_to_keep_ = false;  // in this cycle: memory_ was asked to add
  std::vector<NodeRow> rows_;   // to be judged, in search order
  std::vector<NodeRow> feasible_;
  std::vector<int64_t> totals_;  // by position in feasible_
  std::vector<int64_t> more_;    // the same: what plugins add that look beyond one node
  int next_start_ = 0;           // where a partial search begins, rotating over the nodes
  int64_t unconfirmed_ = 0;
};

// kube-scheduler v1.35 schedule_one.go numFeasibleNodesToFind: how many feasible nodes end a search
// over `nodes`. `percentage` 0 means all.
int FeasibleNodesToFind(int nodes, int percentage, bool scores);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_SCHEDULING_CYCLE_H_
