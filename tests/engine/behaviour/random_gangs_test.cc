// SPDX-License-Identifier: Apache-2.0
// Random gangs on small clusters against all assignments: a gang that fits is placed, or the budget
// is named; a proof is never wrong; nobody is evicted in vain, no gang is left in part, and no
// victim could have stayed.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
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

constexpr char kGangLabel[] = "scheduling.x-k8s.io/pod-group";
constexpr int kHigh = 100;  // of the gang that preempts

struct Member {
  int gpus = 1;
  std::string role;
  std::string near;  // the role that has to be on its node, or empty
};

struct Running {
  std::string name;
  int node = 0;
  int gpus = 1;
  int priority = 0;
  std::string group;  // or empty
};

struct GangCase {
  std::vector<int> nodes;  // GPUs
  std::vector<Member> members;
  int min_member = 1;
  std::vector<Running> running;
  std::map<std::string, int> min_of_group;
};

// Whether the gang could start with so much free. Only as kube-scheduler does it: one after
// another, each of them feasible beside those before.
bool Fits(const GangCase& made, std::vector<int> free) {
  std::vector<int> place(made.members.size(), -1);
  std::set<std::vector<int>> seen;
  const std::function<bool(int)> extend = [&](int placed) {
    if (placed >= made.min_member) return true;
    if (!seen.insert(place).second) return false;
    for (size_t m = 0; m < made.members.size(); ++m) {
      if (place[m] >= 0) continue;
      const Member& member = made.members[m];
      const auto is_near = [&](size_t other) { return made.members[other].role == member.near; };
      bool any_near = false;
      for (size_t o = 0; o < made.members.size(); ++o) any_near |= place[o] >= 0 && is_near(o);
      for (int node = 0; node < static_cast<int>(made.nodes.size()); ++node) {
        if (free[node] < member.gpus) continue;
        if (!member.near.empty()) {
          bool here = false;
          for (size_t o = 0; o < made.members.size(); ++o) here |= place[o] == node && is_near(o);
          // The first of those that want to be near each other goes anywhere.
          if (!here && !(member.near == member.role && !any_near)) continue;
        }
        place[m] = node;
        free[node] -= member.gpus;
        const bool fits = extend(placed + 1);
        place[m] = -1;
        free[node] += member.gpus;
        if (fits) return true;
      }
    }
    return false;
  };
  return extend(0);
}

std::vector<int> FreeWithout(const GangCase& made, const std::set<std::string>& gone) {
  std::vector<int> free = made.nodes;
  for (const Running& pod : made.running) {
    if (!gone.contains(pod.name)) free[pod.node] -= pod.gpus;
  }
  return free;
}

std::string Describe(const GangCase& made) {
  std::string text = "GPUs";
  for (const int gpus : made.nodes) absl::StrAppend(&text, " ", gpus);
  absl::StrAppend(&text, "; minMember ", made.min_member, " of");
  for (const Member& member : made.members) {
    absl::StrAppend(&text, " ", member.role, member.gpus,
                    member.near.empty() ? "" : absl::StrCat(" near ", member.near));
  }
  for (const Running& pod : made.running) {
    absl::StrAppend(&text, "; ", pod.name, " ", pod.gpus, " on n", pod.node, " priority ",
                    pod.priority, pod.group.empty() ? "" : " in " + pod.group);
  }
  for (const auto& [group, minimum] : made.min_of_group) {
    absl::StrAppend(&text, "; ", group, " needs ", minimum);
  }
  return text;
}

GangCase MakeGangCase(Random& random, bool with_running) {
  GangCase made;
  for (int n = random.Between(1, 4); n > 0; --n) made.nodes.push_back(random.Between(1, 8));
  const std::vector<std::string> roles = {"a", "b", "c"};
  const int kinds = random.Between(1, 3);
  std::vector<Member> of_kind;
  for (int kind = 0; kind < kinds; ++kind) {
    Member& member = of_kind.emplace_back();
    member.gpus = random.Between(1, 4);
    member.role = roles[kind];
    if (!with_running && random.Percent(25)) member.near = roles[random.Below(kinds)];
  }
  for (int m = random.Between(2, 6); m > 0; --m) made.members.push_back(random.OneOf(of_kind));
  made.min_member = random.Between(2, static_cast<int>(made.members.size()));
  if (!with_running) return made;
  std::vector<int> free = made.nodes;
  std::map<std::string, int> members;
  for (int i = 0; i < 10; ++i) {
    Running pod{absl::StrCat("r", i)};
    pod.node = random.Below(static_cast<int>(made.nodes.size()));
    pod.gpus = random.Between(1, 4);
    if (free[pod.node] < pod.gpus) continue;
    free[pod.node] -= pod.gpus;
    pod.priority = random.OneOf<int>({0, 0, 10, kHigh});
    if (random.Percent(40)) {
      pod.group = random.OneOf<std::string>({"v", "w"});
      pod.priority = pod.group == "v" ? 0 : 10;
      ++members[pod.group];
    }
    made.running.push_back(pod);
  }
  for (const auto& [group, count] : members) made.min_of_group[group] = random.Between(1, count);
  return made;
}

std::unique_ptr<Simulation> Simulate(const GangCase& made) {
  std::vector<Object> objects;
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    objects.push_back(testing::MakeNode()
                          .Name(absl::StrCat("n", n))
                          .Label("kubernetes.io/hostname", absl::StrCat("n", n))
                          .Allocatable("cpu", "64")
                          .Allocatable("memory", "256Gi")
                          .Allocatable("nvidia.com/gpu", absl::StrCat(made.nodes[n]))
                          .Object());
  }
  for (const auto& [group, minimum] : made.min_of_group) {
    objects.push_back(MakeGroup(group, minimum));
  }
  for (const Running& pod : made.running) {
    auto builder = testing::MakePod()
                       .Name(pod.name)
                       .Namespace("default")
                       .Request("nvidia.com/gpu", absl::StrCat(pod.gpus))
                       .Priority(pod.priority)
                       .NodeName(absl::StrCat("n", pod.node))
                       .Phase("Running");
    if (!pod.group.empty()) builder.Label(kGangLabel, pod.group);
    objects.push_back(builder.Object());
  }
  objects.push_back(MakeGroup("g", made.min_member));
  for (size_t m = 0; m < made.members.size(); ++m) {
    const Member& member = made.members[m];
    auto builder = testing::MakePod()
                       .Name(absl::StrCat("g-", m))
                       .Namespace("default")
                       .Label(kGangLabel, "g")
                       .Label("role", member.role)
                       .Priority(kHigh)
                       .Request("nvidia.com/gpu", absl::StrCat(member.gpus));
    if (!member.near.empty()) {
      const LabelSet near = {{"role", member.near}};
      builder.PodAffinity("kubernetes.io/hostname", near);
    }
    objects.push_back(builder.Object());
  }
  auto simulation = Simulation::Create({.configuration = GangConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = std::move(objects)})
                        .value();
  simulation->RunUntilQuiet();
  return simulation;
}

std::string WhyPending(Simulation& simulation) {
  for (const UnboundPod& pod : simulation.scheduler().Unbound()) {
    if (pod.group == "default/g") return pod.message;
  }
  return "";
}

TEST(RandomGangs, ArePlacedIfAnyAssignmentPlacesThem) {
  int fits = 0, proofs = 0, unlike = 0;
  for (int seed = 0; seed < 2500; ++seed) {
    Random random(seed);
    const GangCase made = MakeGangCase(random, /*with_running=*/false);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    const bool possible = Fits(made, made.nodes);
    auto simulation = Simulate(made);
    const int bound = static_cast<int>(simulation->cluster().Bindings().size());
    const std::string why = WhyPending(*simulation);
    EXPECT_TRUE(bound == 0 || bound >= made.min_member) << "in part";
    if (possible) {
      ++fits;
      EXPECT_TRUE(bound >= made.min_member || absl::StrContains(why, "Undecided after")) << why;
    } else {
      EXPECT_EQ(bound, 0);
    }
    if (absl::StrContains(why, "No place exists")) {
      ++proofs;
      EXPECT_FALSE(possible) << why;
      unlike += static_cast<int>(absl::StrContains(why, "possibilities were tried"));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(fits, 800);
  EXPECT_GT(proofs, 500);
  EXPECT_GT(unlike, 20) << "proofs by trying everything";
}

TEST(RandomGangs, EvictOnlyWhatTheyNeedAndNoHalfOfAGang) {
  int preempted = 0, whole_gangs = 0;
  for (int seed = 0; seed < 2500; ++seed) {
    Random random(seed);
    const GangCase made = MakeGangCase(random, /*with_running=*/true);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    auto simulation = Simulate(made);
    int bound = 0;
    for (const auto& [pod, node] : simulation->cluster().Bindings()) {
      bound += static_cast<int>(absl::StartsWith(pod, "default/g-"));
    }
    std::set<std::string> evicted;
    std::string text;
    for (const std::string& pod : simulation->cluster().Evictions()) {
      evicted.insert(pod.substr(pod.find('/') + 1));
      absl::StrAppend(&text, pod, " ");
    }
    SCOPED_TRACE(absl::StrCat("evicted: ", text, "; bound ", bound, "; ", WhyPending(*simulation)));
    EXPECT_TRUE(bound == 0 || bound >= made.min_member) << "in part";
    if (bound == 0) {
      EXPECT_TRUE(evicted.empty()) << "in vain";
    }
    for (const auto& [group, minimum] : made.min_of_group) {
      int members = 0, gone = 0;
      for (const Running& pod : made.running) {
        if (pod.group != group) continue;
        ++members;
        gone += static_cast<int>(evicted.contains(pod.name));
      }
      EXPECT_TRUE(gone == 0 || gone == members || members - gone >= minimum) << "half of " << group;
      whole_gangs += static_cast<int>(gone > 1 && gone == members);
    }
    // If a gang started with its minimum only: what is beyond it may preempt by itself.
    if (!evicted.empty() && static_cast<int>(made.members.size()) == made.min_member) {
      ++preempted;
      for (const std::string& name : evicted) {
        const auto victim =
            absl::c_find_if(made.running, [&](const Running& pod) { return pod.name == name; });
        ASSERT_TRUE(victim != made.running.end());
        EXPECT_LT(victim->priority, kHigh);
        std::set<std::string> without = evicted;
        int members = 0, gone = 0;
        for (const Running& pod : made.running) {
          if (pod.group.empty() || pod.group != victim->group) continue;
          ++members;
          gone += static_cast<int>(evicted.contains(pod.name));
        }
        const bool goes_whole =
            !victim->group.empty() && gone == members && made.min_of_group.at(victim->group) > 0;
        if (goes_whole) {
          for (const Running& pod : made.running) {
            if (pod.group == victim->group) without.erase(pod.name);
          }
        } else {
          without.erase(name);
        }
        EXPECT_FALSE(Fits(made, FreeWithout(made, without))) << name << " could have stayed";
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(preempted, 150);
  EXPECT_GT(whole_gangs, 20);
}

}  // namespace
}  // namespace berth
