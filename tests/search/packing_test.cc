// SPDX-License-Identifier: Apache-2.0
// Proofs that pods do not fit together, against all ways to place them.
#include "search/packing.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

struct Amounts {
  int64_t cpu = 0, gpu = 0;
};

// The most pods that find a place, the first of which is to be placed next.
int MostPlaced(const std::vector<Amounts>& pods, size_t first, std::vector<Amounts>& free) {
  if (first == pods.size()) return 0;
  int most = MostPlaced(pods, first + 1, free);
  for (Amounts& node : free) {
    if (node.cpu < pods[first].cpu || node.gpu < pods[first].gpu) continue;
    node.cpu -= pods[first].cpu;
    node.gpu -= pods[first].gpu;
    most = std::max(most, 1 + MostPlaced(pods, first + 1, free));
    node.cpu += pods[first].cpu;
    node.gpu += pods[first].gpu;
  }
  return most;
}

TEST(Packing, ProvesNothingThatIsNotSo) {
  const ResourceId cpu = ResourceIdOf("cpu"), gpu = ResourceIdOf("nvidia.com/gpu");
  int proofs = 0, without_room = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&random](int least, int most) {
      return least + static_cast<int>(random() % (most - least + 1));
    };
    std::vector<NodeInfo> infos;
    std::vector<Amounts> free;
    for (int n = draw(1, 3); n > 0; --n) {
      free.push_back({draw(0, 9), draw(0, 4)});
      infos.push_back(testing::MakeNode()
                          .Name(absl::StrCat("n", n))
                          .Allocatable("cpu", absl::StrCat(free.back().cpu, "m"))
                          .Allocatable("nvidia.com/gpu", absl::StrCat(free.back().gpu))
                          .Allocatable("pods", "10")
                          .Info());
    }
    std::vector<PodsOfKind> kinds;
    std::vector<Amounts> pods;
    for (int k = draw(2, 3); k > 0; --k) {
      const Amounts each = {draw(1, 5), draw(0, 2)};
      const int members = draw(1, 3);
      pods.insert(pods.end(), members, each);
      kinds.push_back({{{{cpu, each.cpu}, {gpu, each.gpu}}}, members});
    }
    const testing::TestNodes cluster(std::move(infos));
    const int most = MostPlaced(pods, 0, free);
    const int wanted = draw(1, static_cast<int>(pods.size()));
    const PackingBound bound(kinds, 0);
    const PackingBound::Verdict verdict = bound.Check(cluster.table(), nullptr, wanted);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    ASSERT_GE(verdict.most, std::min(most, wanted));
    if (verdict.is_proof) {
      ASSERT_LT(most, wanted);
    }
    proofs += verdict.is_proof ? 1 : 0;
    without_room += most < wanted ? 1 : 0;
  }
  EXPECT_GT(proofs, without_room * 9 / 10);
}

// Three of five CPUs and three of four: a node of eight holds one of these or two of those.
TEST(Packing, LargePodsTakeANodeEach) {
  const ResourceId cpu = ResourceIdOf("cpu");
  std::vector<NodeInfo> infos;
  for (int n = 0; n < 4; ++n) {
    infos.push_back(testing::MakeNode()
                        .Name(absl::StrCat("n", n))
                        .Allocatable("cpu", "8")
                        .Allocatable("pods", "10")
                        .Info());
  }
  const testing::TestNodes cluster(std::move(infos));
  const PackingBound bound({{{{{cpu, 5000}}}, 3}, {{{{cpu, 4000}}}, 3}}, 0);
  EXPECT_TRUE(bound.Check(cluster.table(), nullptr, 6).is_proof);
  EXPECT_FALSE(bound.Check(cluster.table(), nullptr, 5).is_proof);
  const std::vector<NodeRow> two = {0, 1};
  EXPECT_EQ(bound.Check(cluster.table(), &two, 5).most, 4);
}

}  // namespace
}  // namespace berth
