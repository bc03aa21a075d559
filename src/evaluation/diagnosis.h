// SPDX-License-Identifier: Apache-2.0
// Why a pod fits no node: kept as codes; messages are made only when they are read.
#ifndef BERTH_SRC_EVALUATION_DIAGNOSIS_H_
#define BERTH_SRC_EVALUATION_DIAGNOSIS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/postfilter.h"
#include "evaluation/free_capacity.h"
#include "framework/failure_messages.h"
#include "framework/framework.h"

namespace berth {

// Whether this is NodeVerdicts::rejector() of any row.
bool HasRejector(const NodeVerdicts& verdicts, uint8_t rejector);
// Whether any row is feasible.
bool AnyFeasible(const NodeVerdicts& verdicts);
// How many rows each plugin rejected, by NodeVerdicts::rejector().
using RejectorCounts = std::array<int, 256>;
RejectorCounts CountRejectors(const NodeVerdicts& verdicts);

// In order.
std::vector<NodeRow> RowsWith(const NodeVerdicts& verdicts, Code code);

// The statuses of all nodes after one pod's filters. Rows with the same reason id share a message:
// Filter() makes it once. Borrows everything it is given; valid until the table, the verdicts or
// the pod's state change.
class VerdictStatuses final : public NodeStatuses {
 public:
  VerdictStatuses(const Framework& framework, const CycleState& state, const PodInfo& pod,
                  const NodeTable& nodes, const NodeVerdicts& verdicts, const Status& excluded,
                  const ExtenderStatuses* by_extenders = nullptr)
      : framework_(framework),
        state_(state),
        pod_(pod),
        nodes_(nodes),
        verdicts_(verdicts),
        excluded_(excluded),
        by_extenders_(by_extenders) {}

  Code code(NodeRow row) const override { return verdicts_.code(row); }
  Status status(NodeRow row) const override;
  Symbol rejecting_plugin(NodeRow row) const override;
  std::vector<NodeRow> RowsWith(Code code) const override;
  int CountWith(Code code) const override;

  // A number, counted from 0, that rows with the same status share; kNoReasonGroup for a row
  // without a reason id.
  int group(NodeRow row) const {
    const uint8_t rejector = verdicts_.rejector(row);
    const uint8_t reason_id = rejector < NodeVerdicts::kNoRejector ? verdicts_.reason_id(row) : 0;
    if (reason_id == NodeVerdicts::kNoReasonId) return kNoReasonGroup;
    const uint8_t code = static_cast<uint8_t>(verdicts_.code(row));
    const uint32_t key = uint32_t{rejector} << 16 | uint32_t{code} << 8 | reason_id;
    if (key != last_key_) {  // mostly that of the row before
      last_group_ = FindReasonGroup(row, key);
      last_key_ = key;
    }
    return last_group_;
  }
  static constexpr int kNoReasonGroup = -1;
  // The first row after `row` that is not of its group, or may not be.
  NodeRow EndOfReasonGroup(NodeRow row) const;
  const Status& status_of_reason_group(int group) const { return status_of_group_[group]; }

 private:
  Status Ask(NodeRow row) const;
  int FindReasonGroup(NodeRow row, uint32_t key) const;

  const Framework& framework_;
  const CycleState& state_;
  const PodInfo& pod_;
  const NodeTable& nodes_;
  const NodeVerdicts& verdicts_;
  const Status& excluded_;                // of the nodes that PreFilter excluded
  const ExtenderStatuses* by_extenders_;  // of rows that extenders rejected; null: there are none
  // The groups that were read so far.
  mutable std::vector<Status> status_of_group_;
  mutable absl::flat_hash_map<uint32_t, int> group_of_;  // by rejector, code and reason id
  mutable uint32_t last_key_ = 0;
  mutable int last_group_ = kNoReasonGroup;
};

// Every node with the same status: after a PreFilter rejection.
class UniformStatuses final : public NodeStatuses {
 public:
  UniformStatuses(int rows, const Status& status) : rows_(rows), status_(status) {}

  Code code(NodeRow) const override { return status_.code(); }
  Status status(NodeRow) const override { return status_; }
  std::vector<NodeRow> RowsWith(Code code) const override;

 private:
  int rows_;
  const Status& status_;
};

// Of `rows` nodes.
ReasonCounts CountReasons(const VerdictStatuses& statuses, int rows);

// Why nodes are not feasible for a pod: what PostFilter, the pod's event and WaitingFor are made
// of.
class Diagnosis {
 public:
  virtual ~Diagnosis() = default;
  virtual const NodeStatuses& statuses() const = 0;
  virtual ReasonCounts CountReasons() const = 0;
  // Whether the Filter plugin of that index (ProfilePlugins::filter) rejected a node.
  // Or kExtender of NodeVerdicts.
  virtual bool HasRejected(uint8_t filter) const = 0;
  virtual RejectorCounts CountRejectors() const = 0;
  // How much is free of a resource on the nodes that are rejected for want of it, and all that is
  // free on feasible ones.
  virtual FreeCapacity MeasureFree(const FreeCapacityQuestion& question) = 0;
};

// The result of one evaluation of all nodes. Borrows everything it is given, as VerdictStatuses.
class VerdictDiagnosis final : public Diagnosis {
 public:
  VerdictDiagnosis(const Framework& framework, const CycleState& state, const PodInfo& pod,
                   const NodeTable& nodes, const NodeVerdicts& verdicts, const Status& excluded,
                   const ExtenderStatuses* by_extenders = nullptr)
      : nodes_(nodes),
        verdicts_(verdicts),
        statuses_(framework, state, pod, nodes, verdicts, excluded, by_extenders) {}

  const NodeStatuses& statuses() const override { return statuses_; }
  ReasonCounts CountReasons() const override {
    return berth::CountReasons(statuses_, nodes_.size());
  }
  bool HasRejected(uint8_t filter) const override { return HasRejector(verdicts_, filter); }
  RejectorCounts CountRejectors() const override { return berth::CountRejectors(verdicts_); }
  FreeCapacity MeasureFree(const FreeCapacityQuestion& question) override;

 private:
  const NodeTable& nodes_;
  const NodeVerdicts& verdicts_;
  VerdictStatuses statuses_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_DIAGNOSIS_H_
