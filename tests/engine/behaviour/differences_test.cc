// SPDX-License-Identifier: Apache-2.0
// What docs/parity.md says of the scheduling cycle and the queue, where a scenario cannot show it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/builtin_plugins.h"
#include "berth/configuration.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/simulate.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

// Answers every Permit alike, and registers for no event.
class Porter final : public Plugin, public PermitPlugin, public EnqueueExtensions {
 public:
  static constexpr absl::string_view kName = "Porter";
  explicit Porter(Status answer) : answer_(std::move(answer)) {}
  absl::string_view Name() const override { return kName; }
  Status Permit(CycleState&, const PodInfo&, absl::string_view, absl::Duration& timeout) override {
    timeout = absl::Seconds(10);
    return answer_;
  }
  std::vector<ClusterEventWithHint> EventsToRegister() const override { return {}; }

 private:
  const Status answer_;
};

Registry WithPorter(const Status& answer) {
  const PluginFactory factory = [answer](const PluginArgs&, Handle&) {
    return absl::StatusOr<std::unique_ptr<Plugin>>(std::make_unique<Porter>(answer));
  };
  return BuiltinRegistry({WithPlugin(Porter::kName, factory)}).value();
}

constexpr char kDefault[] =
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}";
constexpr char kPorter[] = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Porter}]}}
)";

std::vector<Object> OneNodeOnePod() {
  return {MakeNode().Name("n").Capacity("cpu", "1").Object(),
          MakePod().Name("p").Request("cpu", "1").Object()};
}

TEST(Differences, APodWhosePermitFailedIsRetriedAfterItsBackoff) {
  const Registry registry = WithPorter(Status::Wait());
  const auto simulation = Simulate(registry, kPorter, OneNodeOnePod());
  simulation->Advance(absl::Seconds(9));
  EXPECT_EQ(simulation->scheduler().counters().attempts, 1);
  simulation->Advance(absl::Seconds(4));  // 10 s of waiting and at most 2 s of backoff are over
  EXPECT_EQ(simulation->scheduler().counters().attempts, 2);
}

TEST(Differences, APodThatPermitRefusedWaitsForAnEvent) {
  const Registry registry = WithPorter(Status::Unschedulable("no"));
  const auto simulation = Simulate(registry, kPorter, OneNodeOnePod());
  simulation->Advance(absl::Minutes(4));
  EXPECT_EQ(simulation->scheduler().counters().attempts, 1);
}

TEST(Differences, ConditionsAndEventsAreToldWhenTheyChange) {
  const Registry registry = BuiltinRegistry().value();
  const auto simulation = Simulate(registry, kDefault,
                                   {MakeNode().Name("n").Capacity("cpu", "1").Object(),
                                    MakePod().Name("p").Request("cpu", "2").Object()});
  // Everything unschedulable is looked at again after five minutes.
  simulation->Advance(absl::Minutes(16));
  EXPECT_GE(simulation->scheduler().counters().attempts, 3);
  EXPECT_EQ(simulation->cluster().RecordedEvents().size(), 1u);
  simulation->cluster().Set(MakeNode().Name("other").Capacity("cpu", "1").Object());
  simulation->Advance(absl::Minutes(6));
  EXPECT_EQ(simulation->cluster().RecordedEvents().size(), 2u) << "now of two nodes";
}

// kube-scheduler looks for no candidate with these arguments, and never preempts.
TEST(Differences, PreemptionLooksForOneCandidateAtLeast) {
  const Registry registry = BuiltinRegistry().value();
  const auto simulation =
      Simulate(registry, R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: DefaultPreemption
    args: {minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 0}
)",
               {MakeNode().Name("n").Capacity("cpu", "1").Object(),
                MakePod().Name("low").NodeName("n").Request("cpu", "1").Object(),
                MakePod().Name("p").Priority(1).Request("cpu", "1").Object()});
  simulation->RunUntilQuiet();
  EXPECT_THAT(simulation->cluster().Evictions(), ::testing::ElementsAre("default/low"));
}

}  // namespace
}  // namespace berth
