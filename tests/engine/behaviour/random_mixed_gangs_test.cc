// SPDX-License-Identifier: Apache-2.0
// Random gangs whose members may not share a node (anti-affinity, host ports), one or two at once,
// in racks or not, beside running groups with a disruption mode, against all assignments: a gang
// that fits is placed or the budget is named, a proof is never wrong, of evictions too, nobody is
// evicted in vain or half, and no victim could have stayed. BERTH_SEED=N repeats one.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

constexpr int kPreemptor = 100;  // the priority of pending gangs
constexpr char kHostname[] = "kubernetes.io/hostname";

// What a pod asks for.
struct MixedPod {
  std::string name;
  int gpus = 1;
  int port = 0;       // of the host; 0: none
  std::string role;   // a label; or empty
  std::string apart;  // the role that may not be on its node; or empty
};
struct MixedRunning {
  MixedPod pod;
  int node = 0;
  int priority = 0;
  int group = -1;
};
struct MixedVictims {
  bool all = false;  // disruptionMode
  int min = 1;
};
struct MixedGang {
  std::vector<MixedPod> members;  // all of them have to start
  bool one_rack = false;
};
struct MixedCase {
  std::vector<int> gpus;  // by node; two nodes a rack
  std::vector<MixedRunning> running;
  std::vector<MixedVictims> groups;
  std::vector<MixedGang> gangs;
};

void Dress(Random& random, MixedPod& pod) {
  if (random.Percent(25)) pod.port = random.Percent(70) ? 80 : 81;
  if (random.Percent(60)) pod.role = random.OneOf<std::string>({"a", "b"});
  if (random.Percent(30)) pod.apart = random.OneOf<std::string>({"a", "b"});
}

// What is on one node.
struct MixedNode {
  int free = 0;
  std::vector<const MixedPod*> pods;

  bool Takes(const MixedPod& pod) const {
    return pod.gpus <= free && absl::c_none_of(pods, [&](const MixedPod* other) {
             return (pod.port != 0 && other->port == pod.port) ||
                    (!pod.apart.empty() && other->role == pod.apart) ||
                    (!other->apart.empty() && other->apart == pod.role);
           });
  }
  void Add(const MixedPod& pod) {
    free -= pod.gpus;
    pods.push_back(&pod);
  }
  void Remove() {
    free += pods.back()->gpus;
    pods.pop_back();
  }
};

std::vector<MixedNode> NodesWith(const MixedCase& made, const std::set<std::string>& gone) {
  std::vector<MixedNode> nodes;
  for (const int gpus : made.gpus) nodes.push_back({.free = gpus});
  for (const MixedRunning& running : made.running) {
    if (!gone.contains(running.pod.name)) nodes[running.node].Add(running.pod);
  }
  return nodes;
}

bool FitsMixed(const MixedGang& gang, std::vector<MixedNode> nodes) {
  const std::function<bool(size_t, int)> extend = [&](size_t m, int rack) {
    if (m == gang.members.size()) return true;
    for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
      if (gang.one_rack && rack >= 0 && n / 2 != rack) continue;
      if (!nodes[n].Takes(gang.members[m])) continue;
      nodes[n].Add(gang.members[m]);
      if (extend(m + 1, n / 2)) return true;
      nodes[n].Remove();
    }
    return false;
  };
  return extend(0, -1);
}

MixedCase MakeMixedCase(Random& random, int gangs, bool with_running) {
  MixedCase made;
  for (int n = random.Between(2, 6); n > 0; --n) made.gpus.push_back(random.Between(1, 8));
  if (with_running) {
    for (int g = 0; g < 2; ++g) made.groups.push_back({random.Percent(60), random.Between(1, 2)});
    std::vector<MixedNode> nodes = NodesWith(made, {});
    made.running.reserve(10);
    for (int i = 0; i < 10; ++i) {
      MixedRunning running{.pod = {.name = absl::StrCat("r", i)}};
      running.node = random.Below(static_cast<int>(made.gpus.size()));
      running.pod.gpus = random.Between(1, 3);
      Dress(random, running.pod);
      running.priority = random.OneOf<int>({0, 0, 10, kPreemptor});
      if (random.Percent(40)) {
        running.group = random.Below(2);
        running.priority = 10 * running.group;
      }
      if (!nodes[running.node].Takes(running.pod)) continue;
      made.running.push_back(running);
      nodes[running.node].Add(made.running.back().pod);
    }
    for (size_t g = 0; g < made.groups.size(); ++g) {
      const int members = static_cast<int>(absl::c_count_if(
          made.running, [&](const auto& pod) { return pod.group == static_cast<int>(g); }));
      made.groups[g].min = std::clamp(made.groups[g].min, 1, std::max(1, members));
    }
  }
  for (int g = 0; g < gangs; ++g) {
    MixedGang& gang = made.gangs.emplace_back();
    gang.one_rack = random.Percent(30);
    std::vector<MixedPod> kinds(random.Between(1, 3));
    for (MixedPod& kind : kinds) {
      kind.gpus = random.Between(1, 4);
      Dress(random, kind);
    }
    const int members = random.Between(2, 4);
    for (int m = 0; m < members; ++m) {
      gang.members.push_back(random.OneOf(kinds));
      gang.members.back().name = absl::StrCat("g", g, "-", m);
    }
  }
  return made;
}

std::string DescribePod(const MixedPod& pod) {
  return absl::StrCat(pod.name, " ", pod.gpus, pod.role.empty() ? "" : " is " + pod.role,
                      pod.apart.empty() ? "" : " not with " + pod.apart,
                      pod.port == 0 ? "" : absl::StrCat(" port ", pod.port));
}

std::string DescribeMixed(const MixedCase& made) {
  std::string text = "GPUs";
  for (const int gpus : made.gpus) absl::StrAppend(&text, " ", gpus);
  for (const MixedRunning& running : made.running) {
    absl::StrAppend(&text, "\n", DescribePod(running.pod), " on n", running.node, " priority ",
                    running.priority, " group ", running.group);
  }
  for (const MixedVictims& group : made.groups) {
    absl::StrAppend(&text, "\ngroup needs ", group.min, group.all ? ", all or none" : "");
  }
  for (const MixedGang& gang : made.gangs) {
    absl::StrAppend(&text, "\ngang", gang.one_rack ? " in one rack" : "");
    for (const MixedPod& pod : gang.members) absl::StrAppend(&text, "; ", DescribePod(pod));
  }
  return text;
}

std::shared_ptr<api::Pod> BuildPod(const MixedPod& of, int priority) {
  auto builder = testing::MakePod().Name(of.name).Namespace("default").Priority(priority).Request(
      "nvidia.com/gpu", absl::StrCat(of.gpus));
  if (!of.role.empty()) builder.Label("role", of.role);
  if (of.port != 0) builder.HostPort(of.port);
  if (!of.apart.empty()) builder.PodAntiAffinity(kHostname, LabelSet{{"role", of.apart}});
  return std::make_shared<api::Pod>(builder.Object().As<api::Pod>());
}

std::vector<Object> ObjectsOf(const MixedCase& made) {
  std::vector<Object> objects;
  const auto add_group = [&](const std::string& name, int min, bool all, bool one_rack) {
    objects.push_back(
        testing::ObjectsFromYaml(
            absl::StrCat(
                "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: ", name,
                ", namespace: default}\nspec: {schedulingPolicy: {gang: {minCount: ", min,
                "}}, disruptionMode: {", all ? "all" : "single", ": {}}",
                one_rack ? ", schedulingConstraints: {topology: [{key: rack}]}" : "", "}\n"))
            .front());
  };
  const auto add_pod = [&](std::shared_ptr<api::Pod> pod, const std::string& group) {
    if (!group.empty()) {
      pod->mutable_spec()->mutable_scheduling_group()->set_pod_group_name(group);
    }
    objects.push_back(Object::Of(std::move(pod)));
  };
  for (size_t n = 0; n < made.gpus.size(); ++n) {
    objects.push_back(testing::MakeNode()
                          .Name(absl::StrCat("n", n))
                          .Label(kHostname, absl::StrCat("n", n))
                          .Label("rack", absl::StrCat("r", n / 2))
                          .Allocatable("cpu", "64")
                          .Allocatable("nvidia.com/gpu", absl::StrCat(made.gpus[n]))
                          .Object());
  }
  for (size_t g = 0; g < made.groups.size(); ++g) {
    add_group(absl::StrCat("v", g), made.groups[g].min, made.groups[g].all, false);
  }
  for (const MixedRunning& running : made.running) {
    auto pod = BuildPod(running.pod, running.priority);
    pod->mutable_spec()->set_node_name(absl::StrCat("n", running.node));
    pod->mutable_status()->set_phase("Running");
    add_pod(std::move(pod), running.group < 0 ? "" : absl::StrCat("v", running.group));
  }
  for (size_t g = 0; g < made.gangs.size(); ++g) {
    const MixedGang& gang = made.gangs[g];
    add_group(absl::StrCat("g", g), static_cast<int>(gang.members.size()), false, gang.one_rack);
    for (const MixedPod& pod : gang.members) {
      add_pod(BuildPod(pod, kPreemptor), absl::StrCat("g", g));
    }
  }
  return objects;
}

struct MixedResult {
  std::map<std::string, int> node_of;  // of gangs
  std::set<std::string> evicted;
  std::map<std::string, std::string> why;  // by gang

  bool Starts(const MixedGang& gang) const { return node_of.contains(gang.members.front().name); }
};

MixedResult RunMixed(const MixedCase& made) {
  auto simulation = Simulation::Create({.configuration = GangConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = ObjectsOf(made)})
                        .value();
  simulation->RunUntilQuiet();
  MixedResult result;
  const auto name_of = [](absl::string_view key) {
    return std::string(key.substr(sizeof("default/") - 1));
  };
  for (const auto& [pod, node] : simulation->cluster().Bindings()) {
    int number = 0;
    EXPECT_TRUE(absl::SimpleAtoi(absl::string_view(node).substr(1), &number));
    result.node_of[name_of(pod)] = number;
  }
  for (const std::string& pod : simulation->cluster().Evictions()) {
    result.evicted.insert(name_of(pod));
  }
  for (const UnboundPod& pod : simulation->scheduler().Unbound()) {
    result.why[name_of(pod.pod).substr(0, 2)] = pod.message;
  }
  return result;
}

// The nodes at rest, and that everything on them may be there.
std::vector<MixedNode> NodesAtRest(const MixedCase& made, const MixedResult& result) {
  std::vector<MixedNode> nodes = NodesWith(made, result.evicted);
  for (const MixedGang& gang : made.gangs) {
    std::set<int> racks;
    size_t placed = 0;
    for (const MixedPod& pod : gang.members) {
      const auto node = result.node_of.find(pod.name);
      if (node == result.node_of.end()) continue;
      EXPECT_TRUE(nodes[node->second].Takes(pod)) << pod.name << " may not be there";
      nodes[node->second].Add(pod);
      racks.insert(node->second / 2);
      ++placed;
    }
    EXPECT_TRUE(placed == 0 || placed == gang.members.size()) << "in part";
    if (gang.one_rack) {
      EXPECT_LE(racks.size(), 1);
    }
  }
  return nodes;
}

// Calls `check(seed)` for each seed, or the one of BERTH_SEED. Returns whether it was all.
bool ForEachSeed(int seeds, const std::function<void(int)>& check) {
  if (const char* const one = std::getenv("BERTH_SEED")) {
    int seed = 0;
    EXPECT_TRUE(absl::SimpleAtoi(one, &seed));
    check(seed);
    return false;
  }
  for (int seed = 0; seed < seeds; ++seed) {
    check(seed);
    if (::testing::Test::HasFailure()) return false;
  }
  return true;
}

TEST(RandomMixedGangs, ArePlacedIfAnyAssignmentPlacesThem) {
  int starts = 0, waits = 0, proofs = 0, undecided = 0, both = 0;
  const bool all = ForEachSeed(2500, [&](int seed) {
    Random random(seed);
    const MixedCase made = MakeMixedCase(random, random.Between(1, 2), /*with_running=*/false);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", DescribeMixed(made)));
    const MixedResult result = RunMixed(made);
    const std::vector<MixedNode> nodes = NodesAtRest(made, result);
    both += static_cast<int>(result.node_of.size() > 4);
    for (size_t g = 0; g < made.gangs.size(); ++g) {
      const MixedGang& gang = made.gangs[g];
      if (result.Starts(gang)) {
        ++starts;
        continue;
      }
      ++waits;
      const auto said = result.why.find(absl::StrCat("g", g));
      const std::string why = said == result.why.end() ? "" : said->second;
      SCOPED_TRACE(why);
      const bool fits = FitsMixed(gang, nodes);
      if (absl::StrContains(why, "No place exists")) {
        EXPECT_FALSE(fits) << "a wrong proof";
        ++proofs;
      }
      if (fits) {
        EXPECT_TRUE(absl::StrContains(why, "Undecided"));
        ++undecided;
      }
    }
  });
  std::printf("%d start, %d wait, of %d of these it is proven, of %d undecided; both %d\n", starts,
              waits, proofs, undecided, both);
  if (!all) return;
  EXPECT_GT(starts, 1000);
  EXPECT_GT(proofs, 500);
  EXPECT_GT(both, 200);
}

TEST(RandomMixedGangs, EvictWholeUnitsAndNoneThatCouldStay) {
  int plans = 0, whole = 0, in_vain = 0, proofs = 0, given_up = 0;
  const bool all = ForEachSeed(2500, [&](int seed) {
    Random random(10000 + seed);
    const MixedCase made = MakeMixedCase(random, 1, /*with_running=*/true);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", DescribeMixed(made)));
    const MixedResult result = RunMixed(made);
    std::string evicted;
    for (const std::string& pod : result.evicted) absl::StrAppend(&evicted, " ", pod);
    SCOPED_TRACE(absl::StrCat("evicted:", evicted));
    NodesAtRest(made, result);
    const MixedGang& gang = made.gangs.front();
    const bool starts = result.Starts(gang);
    if (!starts) {
      EXPECT_TRUE(result.evicted.empty()) << "in vain";
    }
    if (FitsMixed(gang, NodesWith(made, {}))) {
      EXPECT_TRUE(result.evicted.empty()) << "for nothing";
      const auto said = result.why.find("g0");
      EXPECT_TRUE(starts || absl::StrContains(said->second, "Undecided"));
    }
    std::set<std::string> lower;  // who may go at all
    for (const MixedRunning& running : made.running) {
      if (running.priority < kPreemptor) lower.insert(running.pod.name);
    }
    const bool possible = FitsMixed(gang, NodesWith(made, lower));
    EXPECT_TRUE(possible || !starts);
    const auto told = result.why.find("g0");
    if (told != result.why.end() && absl::StrContains(told->second, "Evictions do not help")) {
      EXPECT_FALSE(possible) << "a wrong proof: " << told->second;
      ++proofs;
    }
    in_vain += static_cast<int>(!possible);
    given_up += static_cast<int>(possible && !starts);
    plans += static_cast<int>(!result.evicted.empty());
    for (const MixedRunning& running : made.running) {
      if (!result.evicted.contains(running.pod.name)) continue;
      EXPECT_LT(running.priority, kPreemptor);
      std::set<std::string> without = result.evicted;
      without.erase(running.pod.name);
      if (running.group >= 0) {
        int members = 0, gone = 0;
        for (const MixedRunning& other : made.running) {
          if (other.group != running.group) continue;
          ++members;
          gone += static_cast<int>(result.evicted.contains(other.pod.name));
        }
        const MixedVictims& group = made.groups[running.group];
        EXPECT_TRUE(gone == members || (!group.all && members - gone >= group.min)) << "half";
        if (gone == members) {
          whole += static_cast<int>(gone > 1);
          for (const MixedRunning& other : made.running) {
            if (other.group == running.group) without.erase(other.pod.name);
          }
        }
      }
      EXPECT_FALSE(FitsMixed(gang, NodesWith(made, without)))
          << running.pod.name << " could have stayed";
    }
  });
  std::printf("%d plans, %d of whole groups; %d in vain, %d proven; %d given up\n", plans, whole,
              in_vain, proofs, given_up);
  if (!all) return;
  EXPECT_GT(plans, 300);
  EXPECT_GT(whole, 50);
  EXPECT_GT(in_vain, 200);
  EXPECT_EQ(given_up, 0);
  EXPECT_GT(proofs, 50);
}

}  // namespace
}  // namespace berth
