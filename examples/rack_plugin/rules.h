// SPDX-License-Identifier: Apache-2.0
// Steps 3 and 4: the rule of step 1 as a list of rules, from which everything else follows: Filter,
// FilterNodes, dry runs, and what is kept from one pod to the next.
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_RULES_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_RULES_H_

#include <optional>
#include <vector>

#include "berth/incremental/domain_rules.h"
#include "berth/incremental/domain_scorer.h"
#include "columns.h"
#include "rack_score.h"

// Step 3: what was rejected is evaluated again where a rack or a node changed.
class RackRules : public ScoresByRack<RackScore>, public berth::DomainRulesPlugin {
 public:
  using ScoresByRack::ScoresByRack;
  absl::string_view Name() const override { return "RackRules"; }

  // A pod without an app is none of this plugin's business.
  berth::Status ListRules(const berth::PodInfo& pod, const berth::NodeTable&,
                          berth::DomainRules& rules) override {
    if (!pod.labels().Has(AppLabel())) return berth::Status::Skip();
    rules.Add(
        {.topology_key = RackLabel(), .selector = SameAppAs(pod)},
        {.limit = berth::DomainLimit::AtMost(args().max_pods - 1),
         .otherwise = {berth::Code::kUnschedulable,
                       "node(s) were in a rack with enough pods of the app"},
         .without_key = {{berth::Code::kUnschedulableAndUnresolvable, "node(s) were in no rack"}}});
    return berth::Status::Success();
  }
  // The list depends on the pod's labels and on what it counts alone.
  // All pods that count match the rule's selector.
  void CountOtherPods(const berth::PodInfo&, const berth::PodInfo&, const berth::NodeInfo&, int64_t,
                      berth::DomainRules&) const override {}

 protected:
  absl::StatusOr<const berth::DomainCounts*> PodsOfTheApp(
      const berth::CycleState& state) const override {
    const auto rules = RulesIn(state);
    if (!rules.ok()) return rules.status();
    return &(*rules)->counts(0);
  }
};

// Step 4: nodes whose racks have as many pods of the app are scored as one.
class RackDomainScorer : public RackRules, public berth::DomainScorer {
 public:
  using RackRules::RackRules;
  absl::string_view Name() const override { return "RackDomainScorer"; }

  std::optional<berth::Status> PreScoreDomains(berth::CycleState& state, const berth::PodInfo& pod,
                                               const berth::NodeTable&,
                                               std::vector<berth::DomainSum>& sums) override {
    if (!pod.labels().Has(AppLabel())) return berth::Status::Skip();
    const auto counts = PodsOfTheApp(state);
    if (!counts.ok()) return berth::Status::Error(counts.status());
    if ((*counts)->pods() == nullptr) return std::nullopt;  // a dry run: not the table's
    sums.push_back({.column = &(*counts)->column(), .parts = {{.pods = (*counts)->pods()}}});
    return berth::Status::Success();
  }
};

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_RULES_H_
