// SPDX-License-Identifier: Apache-2.0
// Gangs that claim what their quota is guaranteed, on small clusters, against all sets of
// evictions: if any that the rules allow makes room, the gang runs; nobody is evicted in vain, no
// gang is left in part, and no victim could have stayed.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::Random;

constexpr char kGangLabel[] = "scheduling.x-k8s.io/pod-group";
constexpr int kTeams = 4;  // t0 is the one whose gang comes

// A pod that runs, or all of a gang that does.
struct Unit {
  std::string name;
  int team = 1;
  std::vector<std::pair<int, int>> pods;  // node, GPUs
  int min_member = 1;
  int priority = 0;
  int started = 0, saved = 0;  // hours ago
  bool is_gang() const { return pods.size() > 1; }
  int gpus() const {
    int sum = 0;
    for (const auto& [node, gpus] : pods) sum += gpus;
    return sum;
  }
};

// In a tree, or ElasticQuotas by themselves: then all together may use the sum of their mins.
enum class Form { kTree, kOneLevel };

struct QuotaCase {
  Form form = Form::kTree;
  std::vector<int> nodes;  // GPUs
  std::vector<int> min;    // by team
  std::vector<Unit> running;
  std::vector<int> members;  // GPUs of each; they are a gang, unless it is a single one
  int priority = 0;          // of the members
};

std::string Describe(const QuotaCase& made) {
  std::string text = "GPUs";
  for (const int gpus : made.nodes) absl::StrAppend(&text, " ", gpus);
  absl::StrAppend(&text, "; min");
  for (const int min : made.min) absl::StrAppend(&text, " ", min);
  for (const Unit& unit : made.running) {
    absl::StrAppend(&text, "; ", unit.name, " of t", unit.team);
    for (const auto& [node, gpus] : unit.pods) absl::StrAppend(&text, " ", gpus, " on n", node);
    if (unit.min_member > 1) absl::StrAppend(&text, " at least ", unit.min_member);
    if (unit.priority != 0) absl::StrAppend(&text, " priority ", unit.priority);
  }
  absl::StrAppend(&text, "; ", made.members.size() == 1 ? "the pod:" : "the gang:");
  for (const int gpus : made.members) absl::StrAppend(&text, " ", gpus);
  return text;
}

QuotaCase MakeQuotaCase(Random& random, Form form) {
  QuotaCase made;
  made.form = form;
  for (int n = random.Between(2, 4); n > 0; --n) made.nodes.push_back(random.Between(2, 6));
  int left = 0;
  for (const int gpus : made.nodes) left += gpus;
  made.min.resize(kTeams);
  for (int& min : made.min) {
    min = random.Below(left / 2 + 1);
    left -= min;
  }
  std::vector<int> free = made.nodes;
  const auto take = [&](int gpus) {
    std::vector<int> nodes;
    for (size_t n = 0; n < free.size(); ++n) {
      if (free[n] >= gpus) nodes.push_back(static_cast<int>(n));
    }
    if (nodes.empty()) return -1;
    const int node = random.OneOf(nodes);
    free[node] -= gpus;
    return node;
  };
  for (int i = 0; i < 9; ++i) {
    Unit unit{absl::StrCat("r", i), random.Percent(10) ? 0 : random.Between(1, kTeams - 1)};
    const int gpus = random.Between(1, 3);
    for (int p = random.Percent(40) ? random.Between(2, 4) : 1; p > 0; --p) {
      if (const int node = take(gpus); node >= 0) unit.pods.emplace_back(node, gpus);
    }
    unit.min_member = static_cast<int>(unit.pods.size());
    if (!unit.pods.empty()) made.running.push_back(unit);
  }
  const int kinds = random.Between(1, 2);
  const int first = random.Between(1, 3), second = random.Between(1, 3);
  for (int m = random.Between(2, 4); m > 0; --m) {
    made.members.push_back(kinds == 1 || random.Percent(50) ? first : second);
  }
  return made;
}

int SumOf(const std::vector<int>& amounts) {
  int sum = 0;
  for (const int amount : amounts) sum += amount;
  return sum;
}

// Whether all members have room at once without those that are gone, on the nodes and in quotas.
bool Fits(const QuotaCase& made, const std::vector<bool>& gone) {
  std::vector<int> free = made.nodes;
  int used = 0;
  for (size_t u = 0; u < made.running.size(); ++u) {
    if (gone[u]) continue;
    used += made.running[u].gpus();
    for (const auto& [node, gpus] : made.running[u].pods) free[node] -= gpus;
  }
  if (made.form == Form::kOneLevel && used + SumOf(made.members) > SumOf(made.min)) return false;
  std::vector<int> members = made.members;
  absl::c_sort(members, std::greater<>());
  const std::function<bool(size_t)> place = [&](size_t member) {
    if (member == members.size()) return true;
    for (int& of_node : free) {
      if (of_node < members[member]) continue;
      of_node -= members[member];
      const bool fits = place(member + 1);
      of_node += members[member];
      if (fits) return true;
    }
    return false;
  };
  return place(0);
}

int UsedBy(const QuotaCase& made, int team, const std::vector<bool>& gone) {
  int used = 0;
  for (size_t u = 0; u < made.running.size(); ++u) {
    if (made.running[u].team == team && !gone[u]) used += made.running[u].gpus();
  }
  return used;
}

// Whether some sequence of evictions, each of a quota that has more than its min at that moment,
// makes room for the gang within the min of its own.
bool MayRun(const QuotaCase& made) {
  const int claim = SumOf(made.members);
  std::vector<bool> gone(made.running.size(), false);
  if (Fits(made, gone)) return true;  // borrowing, if need be
  if (UsedBy(made, 0, gone) + claim > made.min[0]) return false;
  std::set<std::vector<bool>> seen;
  const std::function<bool()> search = [&] {
    if (!seen.insert(gone).second) return false;
    if (Fits(made, gone)) return true;
    for (size_t u = 0; u < made.running.size(); ++u) {
      const int team = made.running[u].team;
      if (gone[u] || team == 0 || UsedBy(made, team, gone) <= made.min[team]) continue;
      gone[u] = true;
      const bool found = search();
      gone[u] = false;
      if (found) return true;
    }
    return false;
  };
  return search();
}

Object MakeGroupIn(const std::string& name, const std::string& namespace_name, int min_member) {
  auto group = std::make_shared<api::PodGroup>();
  group->mutable_metadata()->set_name(name);
  group->mutable_metadata()->set_namespace_(namespace_name);
  group->mutable_spec()->set_min_member(min_member);
  return Object::Of(std::move(group));
}

enum class Evaluation { kIncremental, kFull };

std::unique_ptr<Simulation> Simulate(const QuotaCase& made,
                                     Evaluation evaluation = Evaluation::kIncremental) {
  std::vector<Object> objects;
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    objects.push_back(MakeGpuNode(absl::StrCat("n", n), made.nodes[n]));
  }
  for (int team = 0; team < kTeams; ++team) {
    const std::string yaml =
        made.form == Form::kTree
            ? absl::StrCat("apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\n",
                           "metadata: {name: t", team, "}\nspec: {namespaces: [t", team,
                           "], min: {nvidia.com/gpu: ", made.min[team], "}}\n")
            : absl::StrCat("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n",
                           "metadata: {name: q, namespace: t", team,
                           "}\nspec: {min: {nvidia.com/gpu: ", made.min[team], "}}\n");
    for (Object& object : testing::ObjectsFromYaml(yaml)) objects.push_back(std::move(object));
  }
  for (const Unit& unit : made.running) {
    const std::string team = absl::StrCat("t", unit.team);
    if (unit.is_gang()) objects.push_back(MakeGroupIn(unit.name, team, unit.min_member));
    for (size_t p = 0; p < unit.pods.size(); ++p) {
      const auto& [node, gpus] = unit.pods[p];
      auto builder = testing::MakePod()
                         .Name(absl::StrCat(unit.name, "-", p))
                         .Namespace(team)
                         .Request("nvidia.com/gpu", absl::StrCat(gpus))
                         .NodeName(absl::StrCat("n", node))
                         .Priority(unit.priority)
                         .Phase("Running");
      if (unit.started > 0) {
        builder.Started(absl::UnixEpoch() - absl::Hours(unit.started));
        builder.Annotation("scheduling.berth.dev/checkpoint-time",
                           absl::FormatTime(absl::UnixEpoch() - absl::Hours(unit.saved)));
      }
      if (unit.is_gang()) builder.Label(kGangLabel, unit.name);
      objects.push_back(builder.Object());
    }
  }
  const bool is_gang = made.members.size() > 1;
  if (is_gang) objects.push_back(MakeGroupIn("g", "t0", static_cast<int>(made.members.size())));
  for (size_t m = 0; m < made.members.size(); ++m) {
    auto builder = testing::MakePod()
                       .Name(absl::StrCat("g-", m))
                       .Namespace("t0")
                       .Priority(made.priority)
                       .Request("nvidia.com/gpu", absl::StrCat(made.members[m]));
    if (is_gang) builder.Label(kGangLabel, "g");
    objects.push_back(builder.Object());
  }
  auto simulation = Simulation::Create({.configuration = GangAndQuotaConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = std::move(objects),
                                        .incremental = evaluation == Evaluation::kIncremental})
                        .value();
  simulation->RunUntilQuiet();
  return simulation;
}

class RandomQuotas : public ::testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(Forms, RandomQuotas, ::testing::Values(Form::kTree, Form::kOneLevel));

TEST_P(RandomQuotas, AGangTakesBackWhatItsQuotaIsGuaranteed) {
  int reclaims = 0, gangs = 0, missed = 0;
  for (const int seed : testing::Seeds(1500)) {
    Random random(seed);
    const QuotaCase made = MakeQuotaCase(random, GetParam());
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    auto simulation = Simulate(made);
    int bound = 0;
    for (const auto& [pod, node] : simulation->cluster().Bindings()) {
      bound += static_cast<int>(absl::StartsWith(pod, "t0/g-"));
    }
    const std::vector<std::string> evictions = simulation->cluster().Evictions();
    std::vector<bool> gone(made.running.size(), false);
    std::string text;
    for (size_t u = 0; u < made.running.size(); ++u) {
      const Unit& unit = made.running[u];
      const auto of_unit = absl::c_count_if(evictions, [&](const std::string& pod) {
        return absl::StartsWith(pod, absl::StrCat("t", unit.team, "/", unit.name, "-"));
      });
      EXPECT_TRUE(of_unit == 0 || of_unit == static_cast<int>(unit.pods.size())) << "half of it";
      gone[u] = of_unit > 0;
      if (gone[u]) absl::StrAppend(&text, unit.name, " ");
      gangs += static_cast<int>(gone[u] && unit.is_gang());
    }
    SCOPED_TRACE(absl::StrCat("evicted: ", text, "; bound ", bound));
    EXPECT_TRUE(bound == 0 || bound == static_cast<int>(made.members.size())) << "in part";
    const bool may = MayRun(made);
    EXPECT_TRUE(may || bound == 0) << "beyond the rules";
    if (bound == 0) {
      EXPECT_TRUE(text.empty()) << "in vain";
      missed += static_cast<int>(may);
      if (may) {
        fprintf(stderr, "missed seed %d: %s\n", seed, Describe(made).c_str());
      }
    } else if (!text.empty()) {
      ++reclaims;
      for (size_t u = 0; u < made.running.size(); ++u) {
        if (!gone[u]) continue;
        gone[u] = false;
        EXPECT_FALSE(Fits(made, gone)) << made.running[u].name << " could have stayed";
        gone[u] = true;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(missed, 0);
  EXPECT_GT(reclaims, 100);
  EXPECT_GT(gangs, 50);
}

// A plan that finds victims in the order that the books keep, and one that lists and weighs all.
TEST_P(RandomQuotas, BothFormsEvictTheSame) {
  int evictions = 0;
  for (const int seed : testing::Seeds(400)) {
    Random random(seed);
    QuotaCase made = MakeQuotaCase(random, GetParam());
    for (Unit& unit : made.running) {
      unit.min_member = random.Between(1, static_cast<int>(unit.pods.size()));
      unit.priority = random.Percent(30) ? random.Between(1, 3) : 0;
      if (random.Percent(50)) unit.started = random.Between(1, 9);
      unit.saved = random.Between(1, 12);
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    const auto incremental = Simulate(made), full = Simulate(made, Evaluation::kFull);
    EXPECT_EQ(incremental->cluster().Evictions(), full->cluster().Evictions());
    EXPECT_EQ(incremental->cluster().Bindings(), full->cluster().Bindings());
    evictions += static_cast<int>(full->cluster().Evictions().size());
    if (HasFailure()) return;
  }
  EXPECT_GT(evictions, 100);
}

// --- Gangs that may lose a part ---

// Who of each unit is gone, by pod.
using Gone = std::vector<std::vector<bool>>;

int StayingOf(const Gone& gone, size_t unit) {
  return static_cast<int>(absl::c_count(gone[unit], false));
}

// Whether every gang that ran has its minimum or nobody.
bool LeavesGangsWhole(const QuotaCase& made, const Gone& gone) {
  for (size_t u = 0; u < made.running.size(); ++u) {
    const int staying = StayingOf(gone, u);
    if (staying > 0 && staying < made.running[u].min_member) return false;
  }
  return true;
}

// Each pod of a unit by itself, so that Fits() and UsedBy() are asked of parts of gangs.
QuotaCase InPods(const QuotaCase& made, const Gone& gone, std::vector<bool>& gone_pods) {
  QuotaCase in_pods = made;
  in_pods.running.clear();
  for (size_t u = 0; u < made.running.size(); ++u) {
    for (size_t p = 0; p < made.running[u].pods.size(); ++p) {
      Unit pod = made.running[u];
      pod.pods = {made.running[u].pods[p]};
      in_pods.running.push_back(pod);
      gone_pods.push_back(gone[u][p]);
    }
  }
  return in_pods;
}

bool FitsWithout(const QuotaCase& made, const Gone& gone) {
  std::vector<bool> gone_pods;
  const QuotaCase in_pods = InPods(made, gone, gone_pods);
  return Fits(in_pods, gone_pods);
}

int UsedBy(const QuotaCase& made, int team, const Gone& gone) {
  std::vector<bool> gone_pods;
  const QuotaCase in_pods = InPods(made, gone, gone_pods);
  return UsedBy(in_pods, team, gone_pods);
}

Gone NobodyOf(const QuotaCase& made) {
  Gone gone;
  for (const Unit& unit : made.running) gone.emplace_back(unit.pods.size(), false);
  return gone;
}

// Whether the members are within their quota's guarantee, and so others have to make room.
bool TakesBack(const QuotaCase& made) {
  return UsedBy(made, 0, NobodyOf(made)) + SumOf(made.members) <= made.min[0];
}

// Whether the rules allow evictions, one pod or one gang's rest after the other, by which all
// members have room and every gang is whole.
bool MayRunWithGangsWhole(const QuotaCase& made) {
  Gone gone = NobodyOf(made);
  if (FitsWithout(made, gone)) return true;
  const bool takes_back = TakesBack(made);
  const auto may_go = [&](const Unit& unit) {
    if (!takes_back) return unit.team == 0 && unit.priority < made.priority;
    return unit.team != 0 && UsedBy(made, unit.team, gone) > made.min[unit.team];
  };
  std::set<Gone> seen;
  const std::function<bool()> search = [&] {
    if (!seen.insert(gone).second) return false;
    if (FitsWithout(made, gone)) return true;
    for (size_t u = 0; u < made.running.size(); ++u) {
      const Unit& unit = made.running[u];
      const int staying = StayingOf(gone, u);
      if (staying == 0 || !may_go(unit)) continue;
      const std::vector<bool> before = gone[u];
      if (staying > unit.min_member || !unit.is_gang()) {
        for (size_t p = 0; p < unit.pods.size(); ++p) {
          if (before[p]) continue;
          gone[u][p] = true;
          if (search()) return true;
          gone[u] = before;
        }
      } else {
        gone[u].assign(unit.pods.size(), true);
        if (search()) return true;
        gone[u] = before;
      }
    }
    return false;
  };
  return search();
}

TEST_P(RandomQuotas, NoGangIsLeftBelowItsMinimum) {
  int evicting = 0, in_part = 0, whole = 0, missed = 0;
  for (const int seed : testing::Seeds(1500)) {
    Random random(seed);
    QuotaCase made = MakeQuotaCase(random, GetParam());
    if (random.Percent(60)) made.members.resize(1);
    made.priority = random.Below(2) * 10;
    const bool own = random.Percent(50);
    for (Unit& unit : made.running) {
      if (own && random.Percent(50)) unit.team = 0;
      unit.min_member = random.Between(1, static_cast<int>(unit.pods.size()));
      unit.priority = random.Below(3) * 5;
    }
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made), " priority ", made.priority));
    const auto simulation = Simulate(made);
    const std::vector<std::string> evictions = simulation->cluster().Evictions();
    int bound = 0;
    for (const auto& [pod, node] : simulation->cluster().Bindings()) {
      bound += static_cast<int>(absl::StartsWith(pod, "t0/g-"));
    }
    Gone gone;
    for (const Unit& unit : made.running) {
      std::vector<bool>& of_unit = gone.emplace_back();
      for (size_t p = 0; p < unit.pods.size(); ++p) {
        of_unit.push_back(
            absl::c_linear_search(evictions, absl::StrCat("t", unit.team, "/", unit.name, "-", p)));
      }
      const int left = static_cast<int>(absl::c_count(of_unit, false));
      in_part += static_cast<int>(left > 0 && left < static_cast<int>(unit.pods.size()));
      whole += static_cast<int>(left == 0 && unit.is_gang());
    }
    SCOPED_TRACE(absl::StrCat("evicted: ", absl::StrJoin(evictions, " ")));
    EXPECT_TRUE(LeavesGangsWhole(made, gone)) << "a gang runs below its minimum";
    EXPECT_TRUE(evictions.empty() || bound == static_cast<int>(made.members.size())) << "in vain";
    evicting += static_cast<int>(!evictions.empty());
    // By ElasticQuotas alone pods of the own quota go on one node only, as upstream.
    const bool may_be_missed = GetParam() == Form::kOneLevel && !TakesBack(made);
    missed += static_cast<int>(bound == 0 && !may_be_missed && MayRunWithGangsWhole(made));
    if (HasFailure()) return;
  }
  EXPECT_LE(missed, 2);  // gangs of unlike members that preempt in their own quota
  EXPECT_GT(evicting, 100);
  EXPECT_GT(in_part, 50);
  EXPECT_GT(whole, 50);
}

}  // namespace
}  // namespace berth
