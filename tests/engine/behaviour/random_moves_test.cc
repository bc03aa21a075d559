// SPDX-License-Identifier: Apache-2.0
// Moves that make room for gangs on small clusters, against all sets of pods that could be moved
// and all assignments: no more pods go than have to, each of them has a place again, and nobody
// goes in vain.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"
#include "tests/search/fewest_moves.h"

namespace berth {
namespace {

using testing::Random;

constexpr int kMostMoves = 2;

MoveSetting MakeMoveSetting(Random& random) {
  MoveSetting made;
  for (int n = random.Between(2, 4); n > 0; --n) made.free.push_back(random.Below(4));
  for (int p = random.Between(2, 7); p > 0; --p) {
    made.running.push_back({random.Below(static_cast<int>(made.free.size())), random.Between(1, 4),
                            random.Percent(85)});
  }
  const int gpus = random.Between(2, 5);
  for (int m = random.Between(1, 2); m > 0; --m) {
    made.members.push_back(random.Percent(70) ? gpus : random.Between(1, 4));
  }
  return made;
}

std::string DescribeMoves(const MoveSetting& made) {
  std::string text = "free";
  for (const int free : made.free) absl::StrAppend(&text, " ", free);
  absl::StrAppend(&text, "; members");
  for (const int gpus : made.members) absl::StrAppend(&text, " ", gpus);
  for (const MoveSetting::Running& pod : made.running) {
    absl::StrAppend(&text, "; ", pod.amount, " on n", pod.node, pod.may_move ? "" : " stays");
  }
  return text;
}

Object MovablePod(const std::string& name, int owner, const MoveSetting::Running& running,
                  bool is_new) {
  const Object made = MakeGpuPod(name, running.amount);
  auto pod = std::make_shared<api::Pod>(made.As<api::Pod>());
  if (running.may_move) {
    pod->mutable_metadata()->add_owner_references()->set_uid(absl::StrCat("owner-", owner));
  }
  if (!is_new) {
    pod->mutable_spec()->set_node_name(absl::StrCat("n", running.node));
    pod->mutable_status()->set_phase("Running");
  }
  return Object::Of(std::move(pod));
}

TEST(RandomMoves, MakeRoomWithTheFewestAndGiveEachAPlace) {
  int moved_one = 0, moved_two = 0, proven = 0, proven_none = 0, missed = 0;
  LoadedConfiguration loaded = ParseConfiguration(absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}
  pluginConfig: [{name: Coscheduling, args: {mostMoves: )",
                                                               kMostMoves, "}}]\n"),
                                                  "moves", Builtins());
  ASSERT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  for (int seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    const MoveSetting made = MakeMoveSetting(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", DescribeMoves(made)));
    std::vector<Object> objects;
    for (size_t n = 0; n < made.free.size(); ++n) {
      int gpus = made.free[n];
      for (const MoveSetting::Running& pod : made.running) {
        if (pod.node == static_cast<int>(n)) gpus += pod.amount;
      }
      objects.push_back(MakeGpuNode(absl::StrCat("n", n), gpus));
    }
    for (size_t p = 0; p < made.running.size(); ++p) {
      objects.push_back(
          MovablePod(absl::StrCat("r", p), static_cast<int>(p), made.running[p], false));
    }
    const int members = static_cast<int>(made.members.size());
    objects.push_back(MakeGroup("g", members));
    for (int m = 0; m < members; ++m) {
      objects.push_back(MakeGpuPod(absl::StrCat("g-", m), made.members[m], "g"));
    }
    auto simulation = Simulation::Create({.configuration = loaded.configuration,
                                          .registry = &Builtins(),
                                          .objects = std::move(objects)})
                          .value();
    simulation->RunUntilIdle();
    const std::vector<std::string> evicted = simulation->cluster().Evictions();
    std::string why;
    for (const UnboundPod& pod : simulation->scheduler().Unbound()) why = pod.message;
    SCOPED_TRACE(why);
    const int fewest = FewestMoves(made, kMostMoves);
    const int moved = static_cast<int>(evicted.size());
    ASSERT_LE(moved, kMostMoves);
    if (fewest == 0 || fewest > kMostMoves) {
      ASSERT_EQ(moved, 0) << "for nothing";
      if (absl::StrContains(why, "does not help")) ++proven_none;
    } else if (moved == 0) {
      ASSERT_TRUE(absl::StrContains(why, "not all ways were tried")) << fewest << " would do";
      ++missed;
    } else {
      ASSERT_GE(moved, fewest);
      if (absl::StrContains(why, "no fewer would do")) {
        ASSERT_EQ(moved, fewest);
        ++proven;
      }
      ++(moved == 1 ? moved_one : moved_two);
    }
    if (absl::StrContains(why, "does not help")) {
      ASSERT_GT(fewest, kMostMoves);
    }
    // Their controllers make them again, the last one first.
    for (size_t i = evicted.size(); i-- > 0;) {
      int p = 0;
      ASSERT_TRUE(absl::SimpleAtoi(evicted[i].substr(sizeof("default/r") - 1), &p));
      ASSERT_TRUE(made.running[p].may_move);
      simulation->cluster().Set(
          MovablePod(absl::StrCat("again", p), p, made.running[p], /*is_new=*/true));
    }
    simulation->RunUntilQuiet();
    if (moved > 0 || fewest == 0) {
      ASSERT_TRUE(simulation->scheduler().Unbound().empty())
          << simulation->scheduler().Unbound().front().pod << ": "
          << simulation->scheduler().Unbound().front().message;
    }
    ASSERT_EQ(static_cast<int>(simulation->cluster().Evictions().size()), moved);
  }
  std::printf(
      "moved one pod %d times, two %d times; proven that no fewer do: %d; proven that moves "
      "do not help: %d; missed: %d\n",
      moved_one, moved_two, proven, proven_none, missed);
  EXPECT_GT(moved_one, 100);
  EXPECT_GT(moved_two, 30);
  EXPECT_GT(proven, 150);
  EXPECT_GT(proven_none, 20);
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace berth
