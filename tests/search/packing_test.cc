// SPDX-License-Identifier: Apache-2.0
// Proofs that pods do not fit together, against all ways to place them.
#include "search/packing.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "berth/extensions/member_choices.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

struct Amounts {
  int64_t cpu = 0, gpu = 0, devices = 0;
};

// Devices, as a plugin counts them.
class Devices final : public CountedNeeds {
 public:
  Devices(std::vector<int64_t> of_members, std::vector<int64_t> on_nodes)
      : of_members_(std::move(of_members)), on_nodes_(std::move(on_nodes)) {}
  size_t sorts() const override { return 1; }
  absl::Span<const int64_t> Of(size_t member) const override { return {&of_members_[member], 1}; }
  void FreeOn(const NodeInfo& node, int32_t, absl::Span<int64_t> free) const override {
    free[0] = on_nodes_[std::stoi(std::string(node.name().view().substr(1)))];
  }

 private:
  const std::vector<int64_t> of_members_, on_nodes_;  // the latter by the number in the name
};

// The most pods that find a place, the first of which is to be placed next.
int MostPlaced(const std::vector<Amounts>& pods, size_t first, std::vector<Amounts>& free) {
  if (first == pods.size()) return 0;
  int most = MostPlaced(pods, first + 1, free);
  for (Amounts& node : free) {
    const Amounts& pod = pods[first];
    if (node.cpu < pod.cpu || node.gpu < pod.gpu || node.devices < pod.devices) continue;
    node.cpu -= pod.cpu;
    node.gpu -= pod.gpu;
    node.devices -= pod.devices;
    most = std::max(most, 1 + MostPlaced(pods, first + 1, free));
    node.cpu += pod.cpu;
    node.gpu += pod.gpu;
    node.devices += pod.devices;
  }
  return most;
}

// With devices beside what columns have, in every other case; then a gang of one kind has sums,
// too.
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
    const bool has_devices = seed % 2 == 1;
    std::vector<int64_t> on_nodes(4, 0), of_members;
    for (int n = draw(1, 3); n > 0; --n) {
      on_nodes[n] = has_devices ? draw(0, 5) : 0;
      free.push_back({draw(0, 9), draw(0, 4), on_nodes[n]});
      infos.push_back(testing::MakeNode()
                          .Name(absl::StrCat("n", n))
                          .Allocatable("cpu", absl::StrCat(free.back().cpu, "m"))
                          .Allocatable("nvidia.com/gpu", absl::StrCat(free.back().gpu))
                          .Allocatable("pods", "10")
                          .Info());
    }
    std::vector<PodsOfKind> kinds;
    std::vector<Amounts> pods;
    for (int k = draw(has_devices ? 1 : 2, 3); k > 0; --k) {
      const Amounts each = {draw(1, 5), draw(0, 2), has_devices ? draw(0, 3) : 0};
      const int members = draw(1, 3);
      pods.insert(pods.end(), members, each);
      kinds.push_back({{{{cpu, each.cpu}, {gpu, each.gpu}}}, members});
      if (has_devices) kinds.back().counted = {each.devices};
      of_members.insert(of_members.end(), members, each.devices);
    }
    const testing::TestNodes cluster(std::move(infos));
    const int most = MostPlaced(pods, 0, free);
    const int wanted = draw(1, static_cast<int>(pods.size()));
    const PackingBound bound(
        kinds, 0, has_devices ? std::make_shared<Devices>(of_members, on_nodes) : nullptr);
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
