// SPDX-License-Identifier: Apache-2.0
// What the steps have in common: of the racks that take one more pod of an app, those with the
// fewest are best. An app is the pods of a namespace with one label "app".
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_RACK_SCORE_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_RACK_SCORE_H_

#include <optional>
#include <vector>

#include "berth/framework/enqueue.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_counts.h"
#include "rack_args.h"

class RackScore : public berth::Plugin,
                  public berth::PreScorePlugin,
                  public berth::ScorePlugin,
                  public berth::ScoreExtensions,
                  public berth::EnqueueExtensions {
 public:
  explicit RackScore(const RackArgs& args) : args_(args) {}

  // The Skip of PreFilter leaves out Filter, not Score: this one does.
  berth::Status PreScore(berth::CycleState&, const berth::PodInfo& pod, const berth::NodeTable&,
                         absl::Span<const berth::NodeRow>) override {
    return pod.labels().Has(AppLabel()) ? berth::Status::Success() : berth::Status::Skip();
  }
  absl::StatusOr<int64_t> Score(const berth::CycleState& state, const berth::PodInfo&,
                                const berth::NodeInfo& node) const override {
    const absl::StatusOr<const berth::DomainCounts*> counts = PodsOfTheApp(state);
    if (!counts.ok()) return counts.status();
    const std::optional<uint32_t> domain = (*counts)->FindDomain(node.labels());
    return domain.has_value() ? (*counts)->at(*domain) : args_.max_pods;
  }
  absl::Status NormalizeScores(const berth::CycleState&, const berth::PodInfo&,
                               absl::Span<const berth::NodeRow>,
                               absl::Span<int64_t> scores) const override {
    berth::DefaultNormalizeScores(berth::ScoreDirection::kLowerIsBetter, scores);
    return absl::OkStatus();
  }

  // What may let a rejected pod in.
  std::vector<berth::ClusterEventWithHint> EventsToRegister() const override {
    using berth::EventResource;
    namespace action = berth::action;
    return {{{EventResource::AssignedPod(), action::kDelete | action::kUpdatePodLabel, ""}, {}},
            {{EventResource::UnscheduledPod(), action::kUpdatePodLabel, ""}, {}},
            {{EventResource::Node(), action::kAdd | action::kUpdateNodeLabel, ""}, {}}};
  }

 protected:
  // In each rack, after PreFilter.
  virtual absl::StatusOr<const berth::DomainCounts*> PodsOfTheApp(
      const berth::CycleState& state) const = 0;
  const RackArgs& args() const { return args_; }

 private:
  const RackArgs args_;
};

// From step 2 on: scores each rack once, not each node.
template <class Base>
class ScoresByRack : public Base {
 public:
  using Base::Base;

  absl::Status ScoreNodes(const berth::CycleState& state, const berth::PodInfo&,
                          const berth::NodeTable&, absl::Span<const berth::NodeRow> rows,
                          absl::Span<int64_t> scores) const override {
    const absl::StatusOr<const berth::DomainCounts*> counts = this->PodsOfTheApp(state);
    if (!counts.ok()) return counts.status();
    const berth::LabelColumn& racks = (*counts)->column();
    const auto score = [&](uint32_t domain) {
      return racks.values()[domain].present ? (*counts)->at(domain) : this->args().max_pods;
    };
    racks.EvaluateRows(rows, score, [&](size_t i, int64_t of_rack) { scores[i] = of_rack; });
    return absl::OkStatus();
  }
};

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_RACK_SCORE_H_
