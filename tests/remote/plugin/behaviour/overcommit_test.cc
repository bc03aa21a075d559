// SPDX-License-Identifier: Apache-2.0
// The process of a plugin that counts comes and goes while pods are placed: it is told what holds,
// and no more is given away than there is.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "berth/framework/filter.h"
#include "berth/framework/plugin.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

// A node has as many seats as its label says, and each pod takes one.
class Seats final : public Plugin, public FilterPlugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs&, Handle&) {
    return std::make_unique<Seats>();
  }
  absl::string_view Name() const override { return "Seats"; }
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo& node) const override {
    const Symbol* const seats = node.labels().Find("seats");
    size_t count = 0;
    if (seats == nullptr || !absl::SimpleAtoi(seats->view(), &count)) return Status::Success();
    if (node.pods().size() < count) return Status::Success();
    return Status::Unschedulable("node(s) had no seat left");
  }
};

TEST(RemotePlugin, OvercommitsNothingWhenItsProcessComesAndGoes) {
  constexpr size_t kNodes = 20, kSeats = 4;
  const std::string address = FreshAddress();
  const auto serve = [&] {
    return PluginServer::Start({.registration = WithPlugin("Seats", &Seats::Create),
                                .is_signed = true,
                                .depends_on = {"NodeLabels", "NodePods"}},
                               {.address = address});
  };
  auto first = serve();
  ASSERT_TRUE(first.ok()) << first.status();
  std::vector<Object> nodes;
  for (size_t i = 0; i < kNodes; ++i) {
    nodes.push_back(MakeNode()
                        .Name(absl::StrCat("n", i))
                        .Label("seats", absl::StrCat(kSeats))
                        .Capacity("cpu", "100")
                        .Pods(100)
                        .Object());
  }
  const auto simulation = Simulate(RemoteProfile(address, "deadline: 2s, "), std::move(nodes));
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  (*simulation)->RunUntilIdle();

  std::atomic<bool> stop = false;
  std::atomic<int> restarts = 0;
  std::thread restarter([&, server = *std::move(first)]() mutable {
    while (!stop) {
      absl::SleepFor(absl::Milliseconds(30 + restarts % 5 * 40));
      server.reset();
      auto next = serve();
      if (next.ok()) server = *std::move(next);
      ++restarts;
    }
  });
  size_t added = 0;
  const absl::Time end = absl::Now() + absl::Seconds(100);
  while ((*simulation)->cluster().Bindings().size() < kNodes * kSeats && absl::Now() < end) {
    if (added < kNodes * kSeats + 10) {
      (*simulation)->cluster().Set(MakePod().Name(absl::StrCat("p", added++)).Object());
    }
    (*simulation)->Advance(absl::Seconds(20));
    absl::SleepFor(absl::Milliseconds(2));
  }
  stop = true;
  restarter.join();
  EXPECT_GT(restarts, 1);
  std::map<std::string, size_t> taken;
  for (const auto& [pod, node] : (*simulation)->cluster().Bindings()) ++taken[node];
  EXPECT_EQ(taken.size(), kNodes);
  for (const auto& [node, count] : taken) EXPECT_EQ(count, kSeats) << node;
}

}  // namespace
}  // namespace berth::testing
