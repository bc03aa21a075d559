// What is judged again when pods that fit nowhere are tried again.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/builtin_plugins.h"
#include "berth/framework/filter.h"
#include "berth/framework/plugin.h"
#include "berth/framework/sign.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "tests/engine/simulate.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

// Rejects every node by its name, and counts how often it is asked.
class RejectsAll final : public Plugin, public FilterPlugin, public SignPlugin {
 public:
  explicit RejectsAll(int& asked) : asked_(asked) {}

  absl::string_view Name() const override { return "RejectsAll"; }
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo&) const override {
    ++asked_;
    return Status::UnschedulableAndUnresolvable("not here");
  }
  Status SignPod(const PodInfo&, PodSignature&) const override { return Status::Success(); }
  Aspects DependsOn() const override { return Aspect::kNodeName; }

 private:
  int& asked_;
};

// The profile scores by images, whose spread is another with each node; that is no reason to filter
// all nodes again.
TEST(RejectedNodes, OnlyThoseThatCameAreJudgedWhenNodesComeAndGo) {
  constexpr int kNodes = 300;
  int asked = 0;
  std::vector<PluginRegistration> extra;
  extra.push_back(WithPlugin(
      "RejectsAll", [&](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
        return std::make_unique<RejectsAll>(asked);
      }));
  const Registry registry = BuiltinRegistry(std::move(extra)).value();
  std::vector<Object> objects;
  const auto node = [](int i) { return MakeNode().Name(absl::StrCat("n", i)).Object(); };
  for (int i = 0; i < kNodes; ++i) objects.push_back(node(i));
  auto simulation = Simulate(registry,
                             "apiVersion: kubescheduler.config.k8s.io/v1\n"
                             "kind: KubeSchedulerConfiguration\n"
                             "profiles:\n"
                             "- plugins: {multiPoint: {enabled: [{name: RejectsAll}]}}\n",
                             std::move(objects));
  for (int i = 0; i < 3; ++i) {  // what is said of a kind is kept from its second pod on
    simulation->cluster().Set(MakePod().Name(absl::StrCat("p", i)).Object());
  }
  simulation->RunUntilIdle();
  EXPECT_GE(asked, kNodes);

  for (int round = 0; round < 20; ++round) {
    const int64_t cycles = simulation->scheduler().counters().cycles;
    asked = 0;
    simulation->cluster().Set(node(kNodes + round));
    simulation->cluster().Delete(Kind::kNode, node(7 * round).key());
    simulation->RunUntilIdle();
    simulation->Advance(absl::Minutes(5));
    simulation->RunUntilIdle();
    EXPECT_GE(simulation->scheduler().counters().cycles, cycles + 3);
    EXPECT_GT(asked, 0) << "the one that came";
    EXPECT_LT(asked, 20) << round;
  }
}

}  // namespace
}  // namespace berth
