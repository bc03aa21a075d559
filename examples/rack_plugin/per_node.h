// SPDX-License-Identifier: Apache-2.0
// Step 1, the meaning: a rack takes at most maxPods pods of an app, and of the racks that take one
// more, those with the fewest are best. An app is the pods of a namespace with one label "app".
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_PER_NODE_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_PER_NODE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_counts.h"
#include "rack_args.h"

// The pods of the app in each rack: written by PreFilter, read by Filter and Score.
struct RackState final : berth::StateData {
  explicit RackState(berth::DomainCounts c) : counts(std::move(c)) {}
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<RackState>(*this); }
  berth::DomainCounts counts;
};
inline constexpr berth::StateKey<RackState> kRackState{"Rack"};

class RackPerNode : public berth::Plugin,
                    public berth::PreFilterPlugin,
                    public berth::PreFilterExtensions,
                    public berth::FilterPlugin,
                    public berth::PreScorePlugin,
                    public berth::ScorePlugin,
                    public berth::ScoreExtensions,
                    public berth::EnqueueExtensions {
 public:
  explicit RackPerNode(const RackArgs& args) : args_(args) {}
  absl::string_view Name() const override { return "RackPerNode"; }

  // A pod without an app is none of this plugin's business.
  berth::Status PreFilter(berth::CycleState& state, const berth::PodInfo& pod,
                          const berth::NodeTable& nodes, berth::PreFilterResult&) override {
    if (!pod.labels().Has(AppLabel())) return berth::Status::Skip();
    state.Write(kRackState, std::make_unique<RackState>(Count(pod, nodes)));
    return berth::Status::Success();
  }
  berth::Status Filter(const berth::CycleState& state, const berth::PodInfo&,
                       const berth::NodeInfo& node) const override {
    const auto rack = state.Read(kRackState);
    if (!rack.ok()) return berth::Status::Error(rack.status());
    const std::optional<uint32_t> domain = (*rack)->counts.FindDomain(node.labels());
    if (!domain.has_value()) {
      return berth::Status::UnschedulableAndUnresolvable("node(s) were in no rack");
    }
    if ((*rack)->counts.at(*domain) < args_.max_pods) return berth::Status::Success();
    return berth::Status::Unschedulable("node(s) were in a rack with enough pods of the app");
  }

  // Preemption, and pods that are nominated to a node, ask what if a pod came or went.
  berth::Status AddPod(berth::CycleState& state, const berth::PodInfo& pod,
                       const berth::PodInfo& added, const berth::NodeInfo& node) override {
    return Change(state, pod, added, node, 1);
  }
  berth::Status RemovePod(berth::CycleState& state, const berth::PodInfo& pod,
                          const berth::PodInfo& removed, const berth::NodeInfo& node) override {
    return Change(state, pod, removed, node, -1);
  }

  // The Skip of PreFilter leaves out Filter, not Score: this one does.
  berth::Status PreScore(berth::CycleState&, const berth::PodInfo& pod, const berth::NodeTable&,
                         absl::Span<const berth::NodeRow>) override {
    return pod.labels().Has(AppLabel()) ? berth::Status::Success() : berth::Status::Skip();
  }
  absl::StatusOr<int64_t> Score(const berth::CycleState& state, const berth::PodInfo&,
                                const berth::NodeInfo& node) const override {
    const auto rack = state.Read(kRackState);
    if (!rack.ok()) return rack.status();
    const std::optional<uint32_t> domain = (*rack)->counts.FindDomain(node.labels());
    return domain.has_value() ? (*rack)->counts.at(*domain) : args_.max_pods;
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
  static bool SameApp(const berth::PodInfo& pod, const berth::PodInfo& other) {
    const berth::Symbol* const app = other.labels().Find(AppLabel());
    return app != nullptr && *app == *pod.labels().Find(AppLabel()) &&
           other.namespace_name() == pod.namespace_name();
  }
  const RackArgs& args() const { return args_; }

 private:
  // Looks at every pod on every node.
  virtual berth::DomainCounts Count(const berth::PodInfo& pod,
                                    const berth::NodeTable& nodes) const {
    const berth::LabelColumn& racks = nodes.label_column(RackLabel());
    std::vector<int64_t> counts(racks.values().size());
    for (berth::NodeRow row = 0; row < nodes.size(); ++row) {
      for (const auto& other : nodes.node(row).pods()) {
        counts[racks.index(row)] += SameApp(pod, *other) ? 1 : 0;
      }
    }
    return {RackLabel(), racks, std::move(counts)};
  }
  berth::Status Change(berth::CycleState& state, const berth::PodInfo& pod,
                       const berth::PodInfo& other, const berth::NodeInfo& node, int difference) {
    const auto rack = state.ReadMutable(kRackState);
    if (!rack.ok()) return berth::Status::Error(rack.status());
    const std::optional<uint32_t> domain = (*rack)->counts.FindDomain(node.labels());
    if (domain.has_value() && SameApp(pod, other)) (*rack)->counts.Add(*domain, difference);
    return berth::Status::Success();
  }

  const RackArgs args_;
};

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_PER_NODE_H_
