// SPDX-License-Identifier: Apache-2.0
// Step 1, the meaning by hand: a rack takes at most maxPods pods of an app.
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_PER_NODE_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_PER_NODE_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "berth/framework/filter.h"
#include "berth/framework/prefilter.h"
#include "rack_score.h"

// The pods of the app in each rack: written by PreFilter, read by Filter and Score.
struct RackState final : berth::StateData {
  explicit RackState(berth::DomainCounts c) : counts(std::move(c)) {}
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<RackState>(*this); }
  berth::DomainCounts counts;
};
inline constexpr berth::StateKey<RackState> kRackState{"Rack"};

class RackPerNode : public RackScore,
                    public berth::PreFilterPlugin,
                    public berth::PreFilterExtensions,
                    public berth::FilterPlugin {
 public:
  using RackScore::RackScore;
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
    if ((*rack)->counts.at(*domain) < args().max_pods) return berth::Status::Success();
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

 protected:
  static bool SameApp(const berth::PodInfo& pod, const berth::PodInfo& other) {
    const berth::Symbol* const app = other.labels().Find(AppLabel());
    return app != nullptr && *app == *pod.labels().Find(AppLabel()) &&
           other.namespace_name() == pod.namespace_name();
  }
  absl::StatusOr<const berth::DomainCounts*> PodsOfTheApp(
      const berth::CycleState& state) const override {
    const auto rack = state.Read(kRackState);
    if (!rack.ok()) return rack.status();
    return &(*rack)->counts;
  }

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
};

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_PER_NODE_H_
