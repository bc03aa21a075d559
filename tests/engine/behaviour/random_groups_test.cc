// SPDX-License-Identifier: Apache-2.0
// A group is placed as its pods would be one by one, wherever these reach its minimum: no fewer of
// them run, and no more pods are evicted for them.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

constexpr char kGroupLabel[] = "scheduling.x-k8s.io/pod-group";
constexpr int kImportant = 100;  // nobody preempts it

// A cluster of a few nodes, full in part, and pods that come together.
struct Case {
  std::vector<Object> around;
  std::vector<testing::PodBuilder> members;  // pending, and running ones first
  int running = 0;
  int min_member = 1;
};

testing::PodBuilder MakeMember(Random& random, int number) {
  const std::vector<std::string> roles = {"a", "b", "c"};
  auto pod = testing::MakePod().Name(absl::StrCat("g-", number)).Namespace("default");
  pod.Request("cpu", absl::StrCat(random.Between(1, 3))).Label("role", random.OneOf(roles));
  pod.Priority(random.OneOf<int>({5, 10, 10, 10, 20}));
  if (random.Percent(20)) pod.PreemptNever();
  const std::string topology = random.Percent(50) ? "kubernetes.io/hostname" : "zone";
  const LabelSet near = {{"role", random.OneOf(roles)}};
  const int rule = random.Below(10);
  if (rule <= 1) pod.PodAffinity(topology, near);
  if (rule == 2) pod.PodAntiAffinity(topology, near);
  if (rule == 3) {
    pod.SpreadConstraint(1, topology, UnsatisfiableAction::kDoNotSchedule, near);
  }
  return pod;
}

Case MakeCase(Random& random) {
  Case made;
  const int nodes = random.Between(1, 4);
  for (int n = 0; n < nodes; ++n) {
    const std::string name = absl::StrCat("n", n);
    const int cpu = random.Between(2, 6);
    made.around.push_back(testing::MakeNode()
                              .Name(name)
                              .Label("kubernetes.io/hostname", name)
                              .Label("zone", absl::StrCat("z", n % 2))
                              .Allocatable("cpu", absl::StrCat(cpu))
                              .Allocatable("memory", "64Gi")
                              .Object());
    for (int p = 0; p < random.Below(cpu); ++p) {
      made.around.push_back(testing::MakePod()
                                .Name(absl::StrCat("low-", n, "-", p))
                                .Namespace("default")
                                .Request("cpu", "1")
                                .Priority(random.OneOf<int>({0, 0, 7, kImportant}))
                                .NodeName(name)
                                .Phase("Running")
                                .Object());
    }
  }
  const bool alike = random.Percent(30);
  const testing::PodBuilder first = MakeMember(random, 0);
  made.running = random.Percent(30) ? 1 : 0;
  const int members = random.Between(1, 7) + made.running;
  for (int i = 0; i < members; ++i) {
    testing::PodBuilder pod = alike ? first : MakeMember(random, i);
    pod.Name(absl::StrCat("g-", i));
    if (i < made.running) {
      pod.Priority(kImportant).NodeName(absl::StrCat("n", random.Below(nodes))).Phase("Running");
    }
    made.members.push_back(std::move(pod));
  }
  made.min_member = random.Between(1, members);
  return made;
}

bool IsMember(const std::string& pod) { return absl::StartsWith(pod, "default/g-"); }

struct Outcome {
  int running_at_once = 0;  // members, before anybody that is evicted has gone
  int running = 0;          // at last
  std::vector<std::string> evicted;
  std::string text;
};

Outcome Place(const Case& made, bool together) {
  std::vector<Object> objects = made.around;
  if (together) objects.push_back(MakeGroup("g", made.min_member));
  for (testing::PodBuilder pod : made.members) {
    if (together) pod.Label(kGroupLabel, "g");
    objects.push_back(pod.Object());
  }
  auto simulation = Simulation::Create({.configuration = GangConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = std::move(objects)})
                        .value();
  Outcome outcome;
  simulation->RunUntilIdle();
  outcome.running_at_once =
      made.running + static_cast<int>(simulation->cluster().Bindings().size());
  simulation->RunUntilQuiet();
  outcome.evicted = simulation->cluster().Evictions();
  outcome.running = made.running + static_cast<int>(simulation->cluster().Bindings().size()) -
                    static_cast<int>(absl::c_count_if(outcome.evicted, IsMember));
  for (const auto& [pod, node] : simulation->cluster().Bindings()) {
    absl::StrAppend(&outcome.text, pod, " on ", node, "; ");
  }
  for (const std::string& pod : outcome.evicted) absl::StrAppend(&outcome.text, pod, " evicted; ");
  return outcome;
}

TEST(RandomGroups, ArePlacedAsTheirPodsWouldBeOneByOne) {
  int started = 0, started_by_evicting = 0, missed = 0, surplus_evicted = 0;
  for (int seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    const Case made = MakeCase(random);
    const Outcome one_by_one = Place(made, /*together=*/false);
    const Outcome group = Place(made, /*together=*/true);
    SCOPED_TRACE(absl::StrCat(
        "seed ", seed, ", minMember ", made.min_member, " of ", made.members.size(), ", ",
        made.running, " running\none by one: ", one_by_one.text, "\nas a group: ", group.text));
    if (one_by_one.running_at_once < made.min_member && made.min_member > made.running + 1) {
      // It starts as a whole, in another order perhaps, or not at all.
      EXPECT_TRUE(group.running <= made.running || group.running >= made.min_member);
      EXPECT_FALSE(absl::c_any_of(group.evicted, IsMember)) << "by a sibling";
      if (one_by_one.running >= made.min_member && absl::c_none_of(one_by_one.evicted, IsMember)) {
        ++started_by_evicting;
        missed += group.running < made.min_member ? 1 : 0;
      }
      if (HasFailure()) return;
      continue;
    }
    ++started;
    if (absl::c_none_of(one_by_one.evicted, IsMember)) {
      EXPECT_FALSE(absl::c_any_of(group.evicted, IsMember)) << "by a sibling";
    }
    surplus_evicted += static_cast<int>(group.evicted.size());
    EXPECT_GE(group.running_at_once, one_by_one.running_at_once);
    EXPECT_GE(group.running, one_by_one.running);
    EXPECT_LE(group.evicted.size(), one_by_one.evicted.size());
    if (HasFailure()) return;
  }
  EXPECT_GT(started, 500) << "groups that say something";
  // In seed 1130 pods are evicted for a single pod that is not placed after all, and one that never
  // preempts gets the room. A group evicts only for members that are placed.
  EXPECT_GT(started_by_evicting, 50);
  EXPECT_LE(missed, 1) << "of " << started_by_evicting;
  EXPECT_GT(surplus_evicted, 100);
}

}  // namespace
}  // namespace berth
