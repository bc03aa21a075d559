// SPDX-License-Identifier: Apache-2.0
// Steps 3 and 4, what is remembered from one pod to the next: nothing here changes a decision.
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_REMEMBERED_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_REMEMBERED_H_

#include "berth/incremental/domain_filter.h"
#include "berth/incremental/domain_scorer.h"
#include "columns.h"

// Step 3: the rule of Filter(), as a rule about racks. What was rejected is judged again where a
// rack or a node changed.
class RackDomainFilter : public RackColumns, public berth::DomainFilter {
 public:
  using RackColumns::RackColumns;
  absl::string_view Name() const override { return "RackDomainFilter"; }

  void FilterDomains(const berth::CycleState& state,
                     std::vector<berth::DomainVerdictRule>& rules) const override {
    const RackState* const rack = state.Find(kRackState);
    if (rack == nullptr) return;
    rules.push_back({.counts = rack->counts,
                     .limits = {.most = args().max_pods - 1,
                                .above_max = static_cast<uint8_t>(berth::Code::kUnschedulable),
                                .without_label = static_cast<uint8_t>(
                                    berth::Code::kUnschedulableAndUnresolvable)}});
  }
};

// Step 4: nodes whose racks have as many pods of the app are scored as one.
class RackDomainScorer : public RackDomainFilter, public berth::DomainScorer {
 public:
  using RackDomainFilter::RackDomainFilter;
  absl::string_view Name() const override { return "RackDomainScorer"; }

  std::optional<berth::Status> PreScoreDomains(berth::CycleState& state, const berth::PodInfo& pod,
                                               const berth::NodeTable&,
                                               std::vector<berth::DomainSum>& sums) override {
    if (!pod.labels().Has(AppLabel())) return berth::Status::Skip();
    const auto rack = state.Read(kRackState);
    if (!rack.ok()) return berth::Status::Error(rack.status());
    const berth::DomainCounts& counts = (*rack)->counts;
    if (counts.pods() == nullptr) return std::nullopt;  // a what-if: not counted by the table
    sums.push_back({.column = &counts.column(), .parts = {{.pods = counts.pods()}}});
    return berth::Status::Success();
  }
};

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_REMEMBERED_H_
