// SPDX-License-Identifier: Apache-2.0
// Random trees of three levels, of which the middle one wants to be in one block, against all
// assignments: a tree that has a place starts, parts and halves are whole and where they have to
// be, nobody is evicted in vain, and no victim could have stayed.
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/tree_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

struct DeepNode {
  int rack = 0;  // two racks a block
  int free = 0;  // GPUs
  int low = 0;   // pods of one GPU that may be evicted
};
struct DeepPart {
  int half = 0;
  int members = 1;
  int gpus = 1;  // each
  bool one_rack = false;
};
struct DeepHalf {
  int min_groups = 1;
  bool one_block = true;
};
struct DeepCase {
  std::vector<DeepNode> nodes;
  std::vector<DeepHalf> halves;
  std::vector<DeepPart> parts;
  int min_groups = 1;
};

DeepCase MakeDeepCase(Random& random, bool with_low) {
  DeepCase made;
  for (int n = random.Between(2, 6); n > 0; --n) {
    DeepNode node{.rack = random.Below(4), .free = random.Below(5)};
    if (with_low) {
      node.low = random.Below(node.free + 1);
      node.free -= node.low;
    }
    made.nodes.push_back(node);
  }
  for (int h = 0; h < 2; ++h) {
    const int parts = random.Between(1, 2);
    made.halves.push_back({.min_groups = random.Percent(60) ? parts : random.Between(1, parts),
                           .one_block = random.Percent(85)});
    for (int p = 0; p < parts; ++p) {
      made.parts.push_back({.half = h,
                            .members = random.Between(1, 2),
                            .gpus = random.Between(1, 3),
                            .one_rack = random.Percent(50)});
    }
  }
  made.min_groups = random.Between(1, 2);
  return made;
}

// Whether enough has a place with so much free.
bool DeepFits(const DeepCase& made, std::vector<int> free) {
  std::vector<int> started(made.halves.size(), 0), blocks(made.halves.size(), -1);
  const std::function<bool(size_t)> parts_from = [&](size_t p) {
    if (p == made.parts.size()) {
      int halves = 0;
      for (size_t h = 0; h < made.halves.size(); ++h) {
        if (started[h] > 0 && started[h] < made.halves[h].min_groups) return false;
        halves += static_cast<int>(started[h] > 0);
      }
      return halves >= made.min_groups;
    }
    const DeepPart& part = made.parts[p];
    const int block_before = blocks[part.half];
    const std::function<bool(int, int)> members_from = [&](int m, int rack) {
      if (m == part.members) {
        ++started[part.half];
        const bool fits = parts_from(p + 1);
        --started[part.half];
        return fits;
      }
      for (size_t n = 0; n < free.size(); ++n) {
        const int on = made.nodes[n].rack;
        const int block = blocks[part.half];
        if (free[n] < part.gpus) continue;
        if (part.one_rack && rack >= 0 && rack != on) continue;
        if (made.halves[part.half].one_block && block >= 0 && block != on / 2) continue;
        free[n] -= part.gpus;
        blocks[part.half] = on / 2;
        const bool fits = members_from(m + 1, on);
        blocks[part.half] = block;
        free[n] += part.gpus;
        if (fits) return true;
      }
      return false;
    };
    if (members_from(0, -1)) return true;
    blocks[part.half] = block_before;
    return parts_from(p + 1);
  };
  return parts_from(0);
}

std::string DescribeDeep(const DeepCase& made) {
  std::string text = absl::StrCat("minGroupCount ", made.min_groups);
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    const DeepNode& node = made.nodes[n];
    absl::StrAppend(&text, "\nn", n, " block ", node.rack / 2, " rack ", node.rack, " free ",
                    node.free, " low ", node.low);
  }
  for (const DeepHalf& half : made.halves) {
    absl::StrAppend(&text, "\nhalf needs ", half.min_groups, half.one_block ? " in one block" : "");
  }
  for (const DeepPart& part : made.parts) {
    absl::StrAppend(&text, "\npart of half ", part.half, ": ", part.members, " with ", part.gpus,
                    part.one_rack ? " in one rack" : "");
  }
  return text;
}

struct DeepResult {
  std::map<int, std::vector<int>> nodes_of;  // by part
  std::vector<int> evicted;                  // nodes of those that went
  std::string text;
};

DeepResult PlaceDeep(const DeepCase& made) {
  std::vector<Object> objects;
  const auto composite = [&](const std::string& name, const std::string& parent, int groups,
                             bool one_block) {
    AddYaml(
        absl::StrCat(
            "apiVersion: scheduling.k8s.io/v1alpha3\nkind: CompositePodGroup\nmetadata: {name: ",
            name, ", namespace: default}\nspec: {",
            parent.empty() ? "" : "parentCompositePodGroupName: " + parent + ", ",
            "schedulingPolicy: {gang: {minGroupCount: ", groups, "}}",
            one_block ? ", schedulingConstraints: {topology: [{key: block}]}" : "", "}\n"),
        objects);
  };
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    AddTreeNode(n, made.nodes[n].rack, made.nodes[n].free, made.nodes[n].low, objects);
  }
  composite("all", "", made.min_groups, false);
  for (size_t h = 0; h < made.halves.size(); ++h) {
    composite(absl::StrCat("h", h), "all", made.halves[h].min_groups, made.halves[h].one_block);
  }
  for (size_t p = 0; p < made.parts.size(); ++p) {
    const DeepPart& part = made.parts[p];
    AddTreePart(p, absl::StrCat("h", part.half), part.members, part.one_rack,
                std::vector<int>(part.members, part.gpus), objects);
  }
  TreeAtRest at_rest = RunTree(std::move(objects));
  DeepResult result;
  for (const TreeAtRest::Member& member : at_rest.placed) {
    result.nodes_of[member.part].push_back(member.node);
  }
  result.evicted = std::move(at_rest.evicted);
  result.text = std::move(at_rest.text);
  return result;
}

// What holds of every tree at rest.
void ExpectWhole(const DeepCase& made, const DeepResult& result) {
  std::vector<int> started(made.halves.size(), 0);
  std::vector<std::set<int>> blocks(made.halves.size());
  for (const auto& [p, nodes] : result.nodes_of) {
    const DeepPart& part = made.parts[p];
    EXPECT_EQ(static_cast<int>(nodes.size()), part.members) << "part " << p;
    std::set<int> racks;
    for (const int node : nodes) {
      racks.insert(made.nodes[node].rack);
      blocks[part.half].insert(made.nodes[node].rack / 2);
    }
    if (part.one_rack) {
      EXPECT_EQ(racks.size(), 1) << "part " << p;
    }
    ++started[part.half];
  }
  int halves = 0;
  for (size_t h = 0; h < made.halves.size(); ++h) {
    halves += static_cast<int>(started[h] > 0);
    EXPECT_TRUE(started[h] == 0 || started[h] >= made.halves[h].min_groups) << "half " << h;
    if (made.halves[h].one_block) {
      EXPECT_LE(blocks[h].size(), 1) << "half " << h;
    }
  }
  EXPECT_TRUE(halves == 0 || halves >= made.min_groups) << "in part";
}

std::vector<int> DeepFree(const DeepCase& made, const std::vector<int>& gone) {
  std::vector<int> free;
  for (const DeepNode& node : made.nodes) free.push_back(node.free);
  for (const int node : gone) ++free[node];
  return free;
}

TEST(RandomDeepTrees, StartIfAnyAssignmentPlacesThem) {
  int fits = 0, proofs = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const DeepCase made = MakeDeepCase(random, /*with_low=*/false);
    const DeepResult result = PlaceDeep(made);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", DescribeDeep(made), "\n", result.text));
    ExpectWhole(made, result);
    const bool possible = DeepFits(made, DeepFree(made, {}));
    EXPECT_EQ(!result.nodes_of.empty(), possible);
    fits += static_cast<int>(possible);
    proofs += static_cast<int>(!possible && absl::StrContains(result.text, "No place exists"));
    if (HasFailure()) return;
  }
  std::printf("%d fit, proven of %d others\n", fits, proofs);
  EXPECT_GT(fits, 500);
  EXPECT_GT(proofs, 200);
}

TEST(RandomDeepTrees, EvictOnlyWhoIsInTheWay) {
  int evicting = 0, in_vain = 0, checked = 0, given_up = 0;
  for (int seed = 100000; seed < 102000; ++seed) {
    Random random(seed);
    const DeepCase made = MakeDeepCase(random, /*with_low=*/true);
    const DeepResult result = PlaceDeep(made);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", DescribeDeep(made), "\n", result.text));
    ExpectWhole(made, result);
    std::vector<int> all;
    for (size_t n = 0; n < made.nodes.size(); ++n) {
      all.insert(all.end(), made.nodes[n].low, static_cast<int>(n));
    }
    const bool now = DeepFits(made, DeepFree(made, {}));
    const bool then = DeepFits(made, DeepFree(made, all));
    const bool started = !result.nodes_of.empty();
    EXPECT_TRUE(started || !now);
    EXPECT_TRUE(then || !started);
    if (!started) {
      EXPECT_TRUE(result.evicted.empty()) << "in vain";
    }
    in_vain += static_cast<int>(!then);
    given_up += static_cast<int>(then && !started);
    evicting += static_cast<int>(!result.evicted.empty());
    bool needs_all = made.min_groups == 2;
    for (size_t h = 0; h < made.halves.size(); ++h) {
      needs_all &=
          made.halves[h].min_groups == absl::c_count_if(made.parts, [&](const DeepPart& part) {
            return part.half == static_cast<int>(h);
          });
    }
    for (size_t spared = 0; needs_all && spared < result.evicted.size(); ++spared) {
      std::vector<int> gone = result.evicted;
      gone.erase(gone.begin() + static_cast<std::ptrdiff_t>(spared));
      EXPECT_FALSE(DeepFits(made, DeepFree(made, gone)))
          << "one of n" << result.evicted[spared] << " could have stayed";
      ++checked;
    }
    if (HasFailure()) return;
  }
  std::printf("%d evict, %d in vain, %d victims checked, %d given up\n", evicting, in_vain, checked,
              given_up);
  EXPECT_GT(evicting, 200);
  EXPECT_GT(in_vain, 200);
  EXPECT_GT(checked, 200);
  EXPECT_LT(given_up, 20);
}

}  // namespace
}  // namespace berth
