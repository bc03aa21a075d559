// SPDX-License-Identifier: Apache-2.0
// Step 2, columns: the pods are counted by the table of nodes, and each rack is evaluated once, not
// each node.
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_COLUMNS_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_COLUMNS_H_

#include "berth/columns/node_verdicts.h"
#include "berth/columns/pod_table.h"
#include "per_node.h"

inline berth::PodSelector SameAppAs(const berth::PodInfo& pod) {
  const berth::LabelSet app = {{"app", pod.labels().Find(AppLabel())->view()}};
  return {.namespaces = {pod.namespace_name()}, .labels = berth::LabelSelector::FromLabels(app)};
}

class RackColumns : public ScoresByRack<RackPerNode> {
 public:
  using ScoresByRack::ScoresByRack;
  absl::string_view Name() const override { return "RackColumns"; }

  berth::Status FilterNodes(const berth::CycleState& state, const berth::PodInfo&,
                            const berth::NodeTable&, berth::NodeVerdicts& verdicts) const override {
    const auto rack = state.Read(kRackState);
    if (!rack.ok()) return berth::Status::Error(rack.status());
    const berth::DomainCounts& counts = (*rack)->counts;
    const berth::LabelColumn& racks = counts.column();
    const absl::Span<const berth::NodeRow> rows = verdicts.candidates();
    const auto evaluate = [&](uint32_t domain) {
      if (!racks.values()[domain].present) return berth::Code::kUnschedulableAndUnresolvable;
      return counts.at(domain) < args().max_pods ? berth::Code::kSuccess
                                                 : berth::Code::kUnschedulable;
    };
    // Filter() has one reason for each code, so the code is its id.
    racks.EvaluateRows(rows, evaluate, [&](size_t i, berth::Code code) {
      verdicts.Set(rows[i], code, static_cast<uint8_t>(code));
    });
    return berth::Status::Success();
  }

 private:
  // Counted once, and counted along as pods come and go.
  berth::DomainCounts Count(const berth::PodInfo& pod,
                            const berth::NodeTable& nodes) const override {
    return {RackLabel(), nodes.label_column(RackLabel()), nodes.pods().Count(SameAppAs(pod))};
  }
};

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_COLUMNS_H_
