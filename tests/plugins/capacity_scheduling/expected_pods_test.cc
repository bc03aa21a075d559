// SPDX-License-Identifier: Apache-2.0
// Sums of pods that leave and come, kept over changes, against sums made again.
#include "plugins/capacity_scheduling/expected_pods.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

TEST(ExpectedPods, AreThoseOfARecountAfterAnyChange) {
  int leaving = 0, coming = 0;
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
    const auto a_pod = [&](int number) {
      auto pod = testing::MakePod().Name(absl::StrCat("p", number)).Priority(below(3));
      pod.Request("cpu", absl::StrCat(below(4000), "m"));
      if (below(2) == 0) pod.Request("nvidia.com/gpu", absl::StrCat(below(3)));
      if (below(2) == 0) pod.Deleted();
      return pod.Obj();
    };
    constexpr int kNodes = 8;
    std::vector<NodeInfo> infos;
    for (int n = 0; n < kNodes; ++n) {
      infos.push_back(testing::MakeNode().Name(absl::StrCat("n", n)).Info());
    }
    std::vector<const NodeInfo*> order;
    for (const NodeInfo& info : infos) order.push_back(&info);
    NodeTable table;
    table.SetOrder(order);
    testing::FakeNominator nominator;
    ExpectedPods expected;
    for (int step = 0; step < 100; ++step) {
      const int n = below(kNodes);
      switch (below(5)) {
        case 0:
          nominator.Nominate(a_pod(step), absl::StrCat("n", n));
          break;
        case 1:  // a node comes back in another place, or goes
          std::swap(order[below(static_cast<int>(order.size()))], order.back());
          if (order.size() > 2 && below(2) == 0) order.pop_back();
          table.SetOrder(order);
          break;
        case 2:
          if (infos[n].pods().empty()) break;
          infos[n].RemovePod(*PodPtr(infos[n].pods().front()));
          break;
        default:
          infos[n].AddPod(a_pod(step));
      }
      for (NodeRow row = 0; row < table.size(); ++row) {
        if (order[row] == &infos[n]) table.RefreshRow(row);
      }
      if (below(3) == 0) continue;
      expected.Refresh(table, nominator);
      ExpectedPods again;
      again.Refresh(table, nominator);
      for (NodeRow row = 0; row < table.size(); ++row) {
        const ExpectedPods::OnRow& kept = expected.at(row);
        ResourceVector more;
        int pods = 0;
        for (const PodPtr& pod : nominator.NominatedPods(table.node(row).name())) {
          more.Add(pod->requests());
        }
        for (const PodPtr& pod : table.node(row).pods()) {
          if (!pod->deletion_time().has_value()) continue;
          more.Subtract(pod->requests());
          ++pods;
        }
        ASSERT_EQ(kept.more, more);
        ASSERT_EQ(kept.leaving_pods, pods);
        ASSERT_EQ(kept.coming_pods, again.at(row).coming_pods);
        ASSERT_EQ(kept.lowest_priority, again.at(row).lowest_priority);
        ASSERT_EQ(kept.coming_pods,
                  static_cast<int>(nominator.NominatedPods(table.node(row).name()).size()));
        leaving += pods;
        coming += kept.coming_pods;
      }
    }
  }
  EXPECT_GT(leaving, 1000);
  EXPECT_GT(coming, 1000);
}

}  // namespace
}  // namespace berth
