// SPDX-License-Identifier: Apache-2.0
// ElasticQuotas by themselves, and gangs of unlike members: who goes from a node may take members
// elsewhere along, whom the rules protect. Held against all sequences of evictions that the rules
// allow, on small clusters.
#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::Random;

constexpr int kTeams = 3;  // t0 is the one whose pod comes
constexpr std::array<const char*, 2> kResources = {"nvidia.com/gpu", "example.com/fpga"};
using Amounts = std::array<int, 2>;  // by resource

struct RunningPod {
  int team = 0, node = 0, priority = 0;
  Amounts amounts = {};
  int gang = -1;  // a position in Case::min_members
  std::string name;
};

struct Case {
  std::vector<Amounts> nodes;
  std::vector<Amounts> min;  // by team
  std::vector<RunningPod> running;
  std::vector<int> min_members;  // by gang
  Amounts asked = {};
  int priority = 0;  // of the pod that comes
};

using Gone = std::vector<bool>;  // by running pod

std::string Describe(const Case& made) {
  const auto text_of = [](const Amounts& amounts) {
    return absl::StrCat(amounts[0], "+", amounts[1]);
  };
  std::string text = "nodes";
  for (const Amounts& node : made.nodes) absl::StrAppend(&text, " ", text_of(node));
  absl::StrAppend(&text, "; min");
  for (const Amounts& min : made.min) absl::StrAppend(&text, " ", text_of(min));
  for (const RunningPod& pod : made.running) {
    absl::StrAppend(&text, "; ", pod.name, " ", text_of(pod.amounts), " on n", pod.node);
    if (pod.gang >= 0) absl::StrAppend(&text, " at least ", made.min_members[pod.gang]);
    if (pod.priority != 0) absl::StrAppend(&text, " priority ", pod.priority);
  }
  return absl::StrCat(text, "; the pod: ", text_of(made.asked), " priority ", made.priority);
}

Case MakeCase(Random& random) {
  Case made;
  std::vector<Amounts> free;
  Amounts left = {};
  for (int n = random.Between(2, 3); n > 0; --n) {
    free.push_back({random.Between(1, 4), random.Below(3)});
    left[0] += free.back()[0];
    left[1] += free.back()[1];
  }
  made.nodes = free;
  for (int team = 0; team < kTeams; ++team) {
    Amounts& min = made.min.emplace_back();
    for (int r = 0; r < 2; ++r) {
      min[r] = team == 0 ? random.Between((left[r] + 1) / 2, left[r]) : random.Below(left[r] + 1);
      left[r] -= min[r];
    }
  }
  const auto run = [&](int team, int gang, const std::string& name) {
    RunningPod pod{.team = team, .gang = gang, .name = name};
    pod.amounts = random.Percent(70) ? Amounts{1, 0} : Amounts{random.Below(3), 1};
    pod.priority = random.Percent(60) ? 0 : 10;
    std::vector<int> nodes;
    for (size_t n = 0; n < free.size(); ++n) {
      if (free[n][0] >= pod.amounts[0] && free[n][1] >= pod.amounts[1]) {
        nodes.push_back(static_cast<int>(n));
      }
    }
    if (nodes.empty()) return false;
    pod.node = random.OneOf(nodes);
    for (int r = 0; r < 2; ++r) free[pod.node][r] -= pod.amounts[r];
    made.running.push_back(pod);
    return true;
  };
  for (int unit = 0; unit < 5 && made.running.size() < 9; ++unit) {
    const int team = random.Percent(25) ? 0 : random.Between(1, kTeams - 1);
    if (random.Percent(35)) {
      run(team, -1, absl::StrCat("s", unit));
      continue;
    }
    const int gang = static_cast<int>(made.min_members.size());
    int members = 0;
    for (int m = random.Between(2, 4); m > 0; --m) {
      members += static_cast<int>(run(team, gang, absl::StrCat("g", gang, "-", members)));
    }
    if (members > 0) made.min_members.push_back(random.Between(1, members));
  }
  made.asked = {random.Between(1, 2), random.Percent(20) ? 1 : 0};
  made.priority = random.Percent(50) ? 10 : 5;
  return made;
}

Amounts UsedBy(const Case& made, int team, const Gone& gone) {
  Amounts used = {};
  for (size_t p = 0; p < made.running.size(); ++p) {
    if (gone[p] || (team >= 0 && made.running[p].team != team)) continue;
    for (int r = 0; r < 2; ++r) used[r] += made.running[p].amounts[r];
  }
  return used;
}

bool Fits(const Case& made, const Gone& gone) {
  const Amounts used = UsedBy(made, -1, gone);
  for (int r = 0; r < 2; ++r) {
    int all = 0;
    for (const Amounts& min : made.min) all += min[r];
    if (made.asked[r] > 0 && used[r] + made.asked[r] > all) return false;
  }
  std::vector<Amounts> free = made.nodes;
  for (size_t p = 0; p < made.running.size(); ++p) {
    if (gone[p]) continue;
    for (int r = 0; r < 2; ++r) free[made.running[p].node][r] -= made.running[p].amounts[r];
  }
  return absl::c_any_of(free, [&](const Amounts& node) {
    return node[0] >= made.asked[0] && node[1] >= made.asked[1];
  });
}

bool TakesBack(const Case& made) {
  const Amounts used = UsedBy(made, 0, Gone(made.running.size()));
  return absl::c_all_of(std::array{0, 1}, [&](int r) {
    return made.asked[r] == 0 || used[r] + made.asked[r] <= made.min[0][r];
  });
}

// Whether these pods may go at once: as one that holds what all of them do.
bool MayGo(const Case& made, bool takes_back, const std::vector<size_t>& pods, const Gone& gone) {
  const int team = made.running[pods.front()].team;
  if (!takes_back) {
    return team == 0 &&
           absl::c_all_of(pods, [&](size_t p) { return made.running[p].priority < made.priority; });
  }
  if (team == 0) return false;
  const Amounts used = UsedBy(made, team, gone);
  bool gives = false;
  for (int r = 0; r < 2; ++r) {
    const bool holds =
        absl::c_any_of(pods, [&](size_t p) { return made.running[p].amounts[r] > 0; });
    if (!holds) continue;
    if (used[r] <= made.min[team][r]) return false;
    gives |= made.asked[r] > 0;
  }
  return gives;
}

// Visits what can be gone after evictions that the rules allow, one pod or one gang's rest after
// the other, until `found` says yes.
bool AnyAllowed(const Case& made, const std::function<bool(const Gone&)>& found) {
  const bool takes_back = TakesBack(made);
  Gone gone(made.running.size());
  std::set<Gone> seen;
  const std::function<bool()> search = [&] {
    if (!seen.insert(gone).second) return false;
    if (found(gone)) return true;
    for (size_t p = 0; p < made.running.size(); ++p) {
      if (gone[p]) continue;
      const int gang = made.running[p].gang;
      std::vector<size_t> staying;
      for (size_t of = 0; of < made.running.size(); ++of) {
        const bool is_with = gang < 0 ? of == p : made.running[of].gang == gang;
        if (is_with && !gone[of]) staying.push_back(of);
      }
      const bool has_spare = gang >= 0 && static_cast<int>(staying.size()) > made.min_members[gang];
      const Gone before = gone;
      for (const auto& unit : {std::vector<size_t>{p}, staying}) {
        if (unit.size() == 1 && staying.size() > 1 && !has_spare) continue;
        if (!MayGo(made, takes_back, unit, gone)) continue;
        for (const size_t of : unit) gone[of] = true;
        if (search()) return true;
        gone = before;
      }
    }
    return false;
  };
  return search();
}

std::unique_ptr<Simulation> Simulate(const Case& made, bool incremental) {
  std::vector<Object> objects;
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    auto node = testing::MakeNode().Name(absl::StrCat("n", n));
    node.Allocatable("cpu", "64").Allocatable("memory", "64Gi");
    for (int r = 0; r < 2; ++r) node.Allocatable(kResources[r], absl::StrCat(made.nodes[n][r]));
    objects.push_back(node.Object());
  }
  for (int team = 0; team < kTeams; ++team) {
    for (Object& object : testing::ObjectsFromYaml(absl::StrCat(
             "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: q, ",
             "namespace: t", team, "}\nspec: {min: {", kResources[0], ": ", made.min[team][0], ", ",
             kResources[1], ": ", made.min[team][1], "}}\n"))) {
      objects.push_back(std::move(object));
    }
  }
  std::set<int> gangs;
  for (const RunningPod& pod : made.running) {
    auto builder = testing::MakePod().Name(pod.name).Namespace(absl::StrCat("t", pod.team));
    builder.NodeName(absl::StrCat("n", pod.node)).Priority(pod.priority).Phase("Running");
    for (int r = 0; r < 2; ++r) {
      if (pod.amounts[r] > 0) builder.Request(kResources[r], absl::StrCat(pod.amounts[r]));
    }
    if (pod.gang >= 0) {
      builder.Label("scheduling.x-k8s.io/pod-group", absl::StrCat("g", pod.gang));
      if (gangs.insert(pod.gang).second) {
        auto group = std::make_shared<api::PodGroup>();
        group->mutable_metadata()->set_name(absl::StrCat("g", pod.gang));
        group->mutable_metadata()->set_namespace_(absl::StrCat("t", pod.team));
        group->mutable_spec()->set_min_member(made.min_members[pod.gang]);
        objects.push_back(Object::Of(std::move(group)));
      }
    }
    objects.push_back(builder.Object());
  }
  auto builder = testing::MakePod().Name("pod").Namespace("t0").Priority(made.priority);
  for (int r = 0; r < 2; ++r) {
    if (made.asked[r] > 0) builder.Request(kResources[r], absl::StrCat(made.asked[r]));
  }
  objects.push_back(builder.Object());
  auto simulation = Simulation::Create({.configuration = GangAndQuotaConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = std::move(objects),
                                        .incremental = incremental})
                        .value();
  simulation->RunUntilQuiet();
  return simulation;
}

TEST(WholeGroupVictims, NobodyGoesWhomTheRulesProtect) {
  int evicting = 0, whole = 0, missed = 0;
  for (const int seed : testing::Seeds(3000)) {
    Random random(seed);
    const Case made = MakeCase(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    const auto simulation = Simulate(made, /*incremental=*/true);
    const std::vector<std::string> evictions = simulation->cluster().Evictions();
    SCOPED_TRACE(absl::StrCat("evicted: ", absl::StrJoin(evictions, " ")));
    const bool bound = absl::c_any_of(simulation->cluster().Bindings(),
                                      [](const auto& of) { return of.first == "t0/pod"; });
    Gone gone;
    std::set<int> hit, spared;
    for (const RunningPod& pod : made.running) {
      gone.push_back(absl::c_linear_search(evictions, absl::StrCat("t", pod.team, "/", pod.name)));
      if (pod.gang >= 0) (gone.back() ? hit : spared).insert(pod.gang);
    }
    whole +=
        static_cast<int>(absl::c_any_of(hit, [&](int gang) { return !spared.contains(gang); }));
    EXPECT_TRUE(evictions.empty() || bound) << "in vain";
    EXPECT_TRUE(AnyAllowed(made, [&](const Gone& of) { return of == gone; })) << "beyond the rules";
    evicting += static_cast<int>(!evictions.empty());
    const auto full = Simulate(made, /*incremental=*/false);
    EXPECT_EQ(full->cluster().Evictions(), evictions);
    // Pods of the own quota go on one node only.
    const bool may =
        TakesBack(made) && AnyAllowed(made, [&](const Gone& of) { return Fits(made, of); });
    if (may && !bound) {
      ++missed;
      printf("missed: seed %d: %s\n", seed, Describe(made).c_str());
    }
    if (HasFailure()) return;
  }
  printf("evicting %d, whole gangs %d, missed %d\n", evicting, whole, missed);
  EXPECT_LE(missed, 3);
  EXPECT_GT(evicting, 300);
  EXPECT_GT(whole, 50);
}

}  // namespace
}  // namespace berth
