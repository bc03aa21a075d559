// SPDX-License-Identifier: Apache-2.0
// Random gangs with wishes on small clusters with racks in blocks, against all assignments: a gang
// that has a place by its wishes is placed by them, or the budget is named; a proof is never wrong.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

struct TestNode {
  int rack = 0, block = 0;  // -1: it has no such label
  int free = 0;             // GPUs
  bool large = false;       // has a label that some members select
};
struct TestMember {
  int gpus = 1;
  bool needs_large = false;
};
enum class Wish { kRequiredRack, kRequiredBlock, kPreferredRack, kPreferredInBlock, kSlices };

struct TopologyCase {
  std::vector<TestNode> nodes;
  std::vector<TestMember> members;
  int min_member = 1;
  Wish wish = Wish::kRequiredRack;
  int slice_size = 2;
  std::vector<int> low = {};  // by node: GPUs of pods that may be evicted, one each
  int late = -1;              // the node of a member that runs already, or -1
};

TopologyCase MakeTopologyCase(Random& random) {
  TopologyCase made;
  const int nodes = random.Between(1, 8);
  for (int n = 0; n < nodes; ++n) {
    TestNode node{.rack = random.Below(4), .free = random.Below(5), .large = random.Percent(70)};
    node.block = node.rack / 2;
    if (random.Percent(5)) node.rack = node.block = -1;
    made.nodes.push_back(node);
  }
  made.wish = static_cast<Wish>(random.Below(5));
  const bool alike = random.Percent(made.wish == Wish::kSlices ? 60 : 40);
  const int members = random.Between(2, 6);
  const TestMember first{random.Between(1, 4), random.Percent(20)};
  for (int m = 0; m < members; ++m) {
    made.members.push_back(alike ? first : TestMember{random.Between(1, 4), random.Percent(20)});
  }
  made.min_member =
      made.wish == Wish::kSlices || random.Percent(50) ? members : random.Between(2, members);
  made.slice_size = random.Between(2, 3);
  if (made.wish != Wish::kSlices && random.Percent(20)) made.late = random.Below(nodes);
  return made;
}

// The most members that find a node among those that `may` names.
int Most(const TopologyCase& made, const std::function<bool(const TestNode&)>& may) {
  std::vector<int> free;
  for (const TestNode& node : made.nodes) free.push_back(may(node) ? node.free : 0);
  int most = 0;
  const std::function<void(size_t, int)> extend = [&](size_t m, int placed) {
    most = std::max(most, placed);
    if (m == made.members.size()) return;
    for (size_t n = 0; n < free.size(); ++n) {
      if (free[n] < made.members[m].gpus) continue;
      if (made.members[m].needs_large && !made.nodes[n].large) continue;
      free[n] -= made.members[m].gpus;
      extend(m + 1, placed + 1);
      free[n] += made.members[m].gpus;
    }
    extend(m + 1, placed);
  };
  extend(0, 0);
  return most;
}

// Whether all slices have a rack.
bool SlicesFit(const TopologyCase& made) {
  std::vector<int> free;
  for (const TestNode& node : made.nodes) free.push_back(node.rack < 0 ? 0 : node.free);
  std::map<int, int> rack_of;  // by slice
  const std::function<bool(size_t)> extend = [&](size_t m) {
    if (m == made.members.size()) return true;
    const TestMember& member = made.members[m];
    const int slice = static_cast<int>(m) / made.slice_size;
    for (size_t n = 0; n < free.size(); ++n) {
      const TestNode& node = made.nodes[n];
      if (free[n] < member.gpus || (member.needs_large && !node.large)) continue;
      const bool is_first = !rack_of.contains(slice);
      if (!is_first && rack_of[slice] != node.rack) continue;
      rack_of[slice] = node.rack;
      free[n] -= member.gpus;
      const bool fits = extend(m + 1);
      free[n] += member.gpus;
      if (is_first) rack_of.erase(slice);
      if (fits) return true;
    }
    return false;
  };
  return extend(0);
}

struct Placed {
  std::map<int, int> node_of;  // by member
  std::vector<int> evicted;    // nodes of those that went
  std::string text;
};

Placed PlaceGang(const TopologyCase& made) {
  std::vector<Object> objects;
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    const TestNode& node = made.nodes[n];
    auto builder = testing::MakeNode()
                       .Name(absl::StrCat("n", n))
                       .Allocatable("cpu", "64")
                       .Allocatable("nvidia.com/gpu",
                                    absl::StrCat(node.free + (made.low.empty() ? 0 : made.low[n])));
    if (node.rack >= 0) {
      builder.Label("rack", absl::StrCat("r", node.rack));
      builder.Label("block", absl::StrCat("b", node.block));
    }
    if (node.large) builder.Label("size", "large");
    objects.push_back(builder.Object());
  }
  objects.push_back(MakeGroup("g", made.min_member + (made.late >= 0 ? 1 : 0)));
  const auto member = [&](const std::string& name) {
    auto pod = testing::MakePod().Name(name).Namespace("default");
    pod.Label("scheduling.x-k8s.io/pod-group", "g");
    auto& annotations = *pod.Message().mutable_metadata()->mutable_annotations();
    switch (made.wish) {
      case Wish::kRequiredRack:
        annotations["kueue.x-k8s.io/podset-required-topology"] = "rack";
        break;
      case Wish::kRequiredBlock:
        annotations["kueue.x-k8s.io/podset-required-topology"] = "block";
        break;
      case Wish::kPreferredInBlock:
        annotations["kai.scheduler/topology-required-placement"] = "block";
        annotations["kai.scheduler/topology-preferred-placement"] = "rack";
        break;
      case Wish::kPreferredRack:
        annotations["kueue.x-k8s.io/podset-preferred-topology"] = "rack";
        break;
      case Wish::kSlices:
        annotations["kueue.x-k8s.io/podset-slice-required-topology"] = "rack";
        annotations["kueue.x-k8s.io/podset-slice-size"] = absl::StrCat(made.slice_size);
        break;
    }
    return pod;
  };
  if (made.late >= 0) {
    objects.push_back(
        member("first").NodeName(absl::StrCat("n", made.late)).Phase("Running").Object());
  }
  for (size_t n = 0; n < made.low.size(); ++n) {
    for (int i = 0; i < made.low[n]; ++i) {
      objects.push_back(testing::MakePod()
                            .Name(absl::StrCat("low", n, "-", i))
                            .Namespace("default")
                            .Request("nvidia.com/gpu", "1")
                            .NodeName(absl::StrCat("n", n))
                            .Phase("Running")
                            .Object());
    }
  }
  for (size_t m = 0; m < made.members.size(); ++m) {
    auto pod = member(absl::StrCat("g-", m));
    if (!made.low.empty()) pod.Priority(100);
    pod.Request("nvidia.com/gpu", absl::StrCat(made.members[m].gpus));
    if (made.members[m].needs_large) pod.NodeSelector("size", "large");
    objects.push_back(pod.Object());
  }
  KubeSchedulerConfiguration configuration = GangConfiguration();
  auto simulation =
      Simulation::Create(
          {.configuration = configuration, .registry = &Builtins(), .objects = std::move(objects)})
          .value();
  if (made.low.empty()) {
    simulation->RunUntilIdle();
  } else {
    simulation->RunUntilQuiet();
  }
  Placed result;
  for (const std::string& pod : simulation->cluster().Evictions()) {
    const absl::string_view name = absl::string_view(pod).substr(sizeof("default/low") - 1);
    int n = 0;
    EXPECT_TRUE(absl::SimpleAtoi(name.substr(0, name.find('-')), &n)) << pod;
    result.evicted.push_back(n);
    absl::StrAppend(&result.text, pod, " evicted; ");
  }
  for (const auto& [pod, node] : simulation->cluster().Bindings()) {
    int m = 0, n = 0;
    EXPECT_TRUE(absl::SimpleAtoi(absl::string_view(pod).substr(pod.rfind('-') + 1), &m));
    EXPECT_TRUE(absl::SimpleAtoi(absl::string_view(node).substr(1), &n));
    result.node_of[m] = n;
    absl::StrAppend(&result.text, pod, " on ", node, "; ");
  }
  for (const UnboundPod& pod : simulation->scheduler().Unbound()) {
    absl::StrAppend(&result.text, pod.message, "; ");
  }
  return result;
}

std::string DescribeCase(const TopologyCase& made) {
  std::string text =
      absl::StrCat("wish ", static_cast<int>(made.wish), ", minMember ", made.min_member,
                   ", slices of ", made.slice_size, ", late ", made.late, "\n");
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    absl::StrAppend(&text, "n", n, " rack ", made.nodes[n].rack, " block ", made.nodes[n].block,
                    " free ", made.nodes[n].free, made.nodes[n].large ? " large\n" : "\n");
  }
  for (const TestMember& member : made.members) {
    absl::StrAppend(&text, member.gpus, member.needs_large ? " large, " : ", ");
  }
  return text;
}

TEST(RandomTopology, AGangIsWhereItsWishesLetItBe) {
  std::map<Wish, int> placed, refused;
  int whole_in_rack = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const TopologyCase made = MakeTopologyCase(random);
    const Placed result = PlaceGang(made);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", DescribeCase(made), "\n", result.text));
    const auto in_rack = [&](int rack) {
      return Most(made, [&](const TestNode& node) { return node.rack == rack; });
    };
    const auto in_block = [&](int block) {
      return Most(made, [&](const TestNode& node) { return node.block == block; });
    };
    const TestNode* const home = made.late < 0 ? nullptr : &made.nodes[made.late];
    int best_rack = 0, best_block = 0;
    for (int rack = 0; rack < 4; ++rack) {
      if (home == nullptr || home->rack < 0 || home->rack == rack) {
        best_rack = std::max(best_rack, in_rack(rack));
      }
    }
    for (int block = 0; block < 2; ++block) {
      if (home == nullptr || home->block < 0 || home->block == block) {
        best_block = std::max(best_block, in_block(block));
      }
    }
    const int anywhere = Most(made, [](const TestNode&) { return true; });
    const int members = static_cast<int>(made.members.size());
    int possible = 0;
    switch (made.wish) {
      case Wish::kRequiredRack:
        possible = best_rack;
        break;
      case Wish::kRequiredBlock:
      case Wish::kPreferredInBlock:
        possible = best_block;
        break;
      case Wish::kPreferredRack:
        possible = anywhere;
        break;
      case Wish::kSlices:
        possible = SlicesFit(made) ? members : 0;
        break;
    }
    const int found = static_cast<int>(result.node_of.size());
    if (possible < made.min_member) {
      EXPECT_EQ(found, 0);
      EXPECT_FALSE(absl::StrContains(result.text, "Undecided"));
      ++refused[made.wish];
    } else {
      EXPECT_GE(found, made.min_member);
      ++placed[made.wish];
    }
    // Where its members are.
    std::set<int> racks, blocks;
    for (const auto& [member, node] : result.node_of) {
      racks.insert(made.nodes[node].rack);
      blocks.insert(made.nodes[node].block);
    }
    if (found > 0 && made.wish == Wish::kRequiredRack) {
      EXPECT_EQ(racks.size(), 1);
    }
    if (found > 0 && (made.wish == Wish::kRequiredBlock || made.wish == Wish::kPreferredInBlock)) {
      EXPECT_EQ(blocks.size(), 1);
    }
    const bool prefers = made.wish == Wish::kPreferredRack || made.wish == Wish::kPreferredInBlock;
    if (prefers && home == nullptr && best_rack == members) {
      EXPECT_EQ(racks.size(), 1) << "a rack holds it whole";
      EXPECT_EQ(found, members);
      ++whole_in_rack;
    }
    if (found > 0 && made.wish == Wish::kSlices) {
      std::map<int, std::set<int>> racks_of_slice;
      for (const auto& [member, node] : result.node_of) {
        racks_of_slice[member / made.slice_size].insert(made.nodes[node].rack);
      }
      for (const auto& [slice, in] : racks_of_slice) {
        EXPECT_EQ(in.size(), 1) << slice;
        EXPECT_FALSE(in.contains(-1));
      }
    }
    if (absl::StrContains(result.text, "No place exists")) {
      EXPECT_LT(possible, made.min_member);
    }
    if (HasFailure()) return;
  }
  for (const Wish wish : {Wish::kRequiredRack, Wish::kRequiredBlock, Wish::kPreferredRack,
                          Wish::kPreferredInBlock, Wish::kSlices}) {
    EXPECT_GT(placed[wish], 30) << static_cast<int>(wish);
    EXPECT_GT(refused[wish], 30) << static_cast<int>(wish);
  }
  EXPECT_GT(whole_in_rack, 100);
}

// For a gang whose members are alike: the tightest rack that holds it.
TEST(RandomTopology, TheTightestRackIsTaken) {
  int checked = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(100000 + seed);
    TopologyCase made = MakeTopologyCase(random);
    made.wish = Wish::kRequiredRack;
    made.late = -1;
    for (TestMember& member : made.members) member = {made.members[0].gpus, false};
    made.min_member = static_cast<int>(made.members.size());
    const Placed result = PlaceGang(made);
    SCOPED_TRACE(absl::StrCat("seed ", 100000 + seed, "\n", DescribeCase(made), "\n", result.text));
    std::map<int, int> room;
    for (const TestNode& node : made.nodes) {
      if (node.rack >= 0) room[node.rack] += node.free / made.members[0].gpus;
    }
    int tightest = -1;
    for (const auto& [rack, places] : room) {
      if (places >= made.min_member && (tightest < 0 || places < tightest)) tightest = places;
    }
    ASSERT_EQ(result.node_of.empty(), tightest < 0);
    if (tightest < 0) continue;
    ++checked;
    ASSERT_EQ(room[made.nodes[result.node_of.begin()->second].rack], tightest);
  }
  EXPECT_GT(checked, 100);
}

// For unlike members: of the racks that hold all of them the one in which the gang has room the
// fewest times, by the members that have the least.
TEST(RandomTopology, TheTightestRackOfUnlikeMembersIsTaken) {
  int checked = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Random random(400000 + seed);
    TopologyCase made = MakeTopologyCase(random);
    made.wish = Wish::kRequiredRack;
    made.late = -1;
    made.members.resize(std::min<size_t>(made.members.size(), 4));
    std::map<int, int> count;  // by GPUs
    for (TestMember& member : made.members) {
      member = {random.Between(1, 3), false};
      ++count[member.gpus];
    }
    made.min_member = static_cast<int>(made.members.size());
    const Placed result = PlaceGang(made);
    SCOPED_TRACE(absl::StrCat("seed ", 400000 + seed, "\n", DescribeCase(made), "\n", result.text));
    std::map<int, double> times;  // of racks that hold it
    double tightest = -1;
    for (int rack = 0; rack < 4; ++rack) {
      const auto may = [&](const TestNode& node) { return node.rack == rack; };
      if (Most(made, may) < made.min_member) continue;
      double least = 1000;
      for (const auto& [gpus, members] : count) {
        int room = 0;
        for (const TestNode& node : made.nodes) room += may(node) ? node.free / gpus : 0;
        least = std::min(least, static_cast<double>(room) / members);
      }
      times[rack] = least;
      if (tightest < 0 || least < tightest) tightest = least;
    }
    ASSERT_EQ(result.node_of.empty(), times.empty());
    if (times.empty()) continue;
    checked += static_cast<int>(count.size() > 1 && times.size() > 1);
    ASSERT_EQ(times.at(made.nodes[result.node_of.begin()->second].rack), tightest);
  }
  EXPECT_GT(checked, 50);
}

// Evictions are in the domain where the gang starts, and only if it does and has to.
TEST(RandomTopology, EvictsInOneRackAndNotInVain) {
  int evicting = 0, in_vain = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Random random(200000 + seed);
    TopologyCase made = MakeTopologyCase(random);
    made.wish = Wish::kRequiredRack;
    made.late = -1;
    for (TestNode& node : made.nodes) {
      made.low.push_back(random.Below(node.free + 1));
      node.free -= made.low.back();
    }
    const Placed result = PlaceGang(made);
    SCOPED_TRACE(absl::StrCat("seed ", 200000 + seed, "\n", DescribeCase(made), "\n", result.text));
    TopologyCase empty = made;
    for (size_t n = 0; n < made.nodes.size(); ++n) empty.nodes[n].free += made.low[n];
    int now = 0, then = 0;
    for (int rack = 0; rack < 4; ++rack) {
      const auto may = [&](const TestNode& node) { return node.rack == rack; };
      now = std::max(now, Most(made, may));
      then = std::max(then, Most(empty, may));
    }
    const int found = static_cast<int>(result.node_of.size());
    if (now >= made.min_member || then < made.min_member) {
      ASSERT_TRUE(now >= made.min_member ? found >= made.min_member : found == 0);
      if (then < made.min_member) {
        ASSERT_TRUE(result.evicted.empty()) << "for nothing";
        ++in_vain;
      }
    }
    std::set<int> racks;
    for (const auto& [member, node] : result.node_of) racks.insert(made.nodes[node].rack);
    ASSERT_LE(racks.size(), 1);
    for (const int node : result.evicted) {
      ASSERT_EQ(racks.count(made.nodes[node].rack), 1) << "elsewhere";
    }
    if (!result.evicted.empty()) {
      ASSERT_GE(found, made.min_member);
      ++evicting;
    }
  }
  EXPECT_GT(evicting, 200);
  EXPECT_GT(in_vain, 200);
}

// Slices evict in the racks where they go, if that is what it takes, and nobody who could stay.
TEST(RandomTopology, EvictsForSlicesOnlyWhoIsInTheWay) {
  int evicting = 0, in_vain = 0, unlike = 0, given_up = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Random random(300000 + seed);
    TopologyCase made = MakeTopologyCase(random);
    made.wish = Wish::kSlices;
    made.late = -1;
    made.min_member = static_cast<int>(made.members.size());
    const bool alike = absl::c_all_of(made.members, [&](const TestMember& member) {
      return member.gpus == made.members[0].gpus &&
             member.needs_large == made.members[0].needs_large;
    });
    for (TestNode& node : made.nodes) {
      made.low.push_back(random.Below(node.free + 1));
      node.free -= made.low.back();
    }
    const Placed result = PlaceGang(made);
    SCOPED_TRACE(absl::StrCat("seed ", 300000 + seed, "\n", DescribeCase(made), "\n", result.text));
    TopologyCase empty = made;
    for (size_t n = 0; n < made.nodes.size(); ++n) empty.nodes[n].free += made.low[n];
    const bool now = SlicesFit(made), then = SlicesFit(empty);
    const bool started = !result.node_of.empty();
    ASSERT_TRUE(!started || result.node_of.size() == made.members.size()) << "in part";
    ASSERT_TRUE(started || !now);
    if (now || !started) {
      ASSERT_TRUE(result.evicted.empty()) << "for nothing";
    }
    if (!then) {
      ASSERT_FALSE(started);
      ++in_vain;
      continue;
    }
    // Whom to evict is found member by member: of unlike ones not always.
    ASSERT_TRUE(started || !alike);
    given_up += static_cast<int>(!started);
    if (result.evicted.empty()) continue;
    ++evicting;
    unlike += static_cast<int>(!alike);
    for (size_t spared = 0; spared < result.evicted.size(); ++spared) {
      TopologyCase less = made;
      for (size_t i = 0; i < result.evicted.size(); ++i) {
        if (i != spared) ++less.nodes[result.evicted[i]].free;
      }
      ASSERT_FALSE(SlicesFit(less)) << "one of n" << result.evicted[spared] << " could have stayed";
    }
  }
  EXPECT_GT(evicting, 200);
  EXPECT_GT(unlike, 50);
  EXPECT_GT(in_vain, 200);
  EXPECT_LT(given_up, 20);
}

}  // namespace
}  // namespace berth
