// SPDX-License-Identifier: Apache-2.0
// Random trees of PodGroups below a CompositePodGroup on small clusters with racks, against all
// assignments: a tree that has a place starts, parts are whole, nobody is evicted in vain, and no
// victim could have stayed.
#include <algorithm>
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
#include "berth/api/core_v1.pb.h"
#include "tests/engine/tree_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

struct TreeNode {
  int rack = 0;
  int free = 0;  // GPUs
  int low = 0;   // pods of one GPU that may be evicted
};
struct TreePart {
  std::vector<int> gpus;  // by member
  int min_count = 1;
  bool one_rack = false;
};
struct TreeCase {
  std::vector<TreeNode> nodes;
  std::vector<TreePart> parts;
  int min_groups = 1;
};

TreeCase MakeTreeCase(Random& random, bool with_low) {
  TreeCase made;
  for (int n = random.Between(1, 6); n > 0; --n) {
    TreeNode node{.rack = random.Below(3), .free = random.Below(5)};
    if (with_low) {
      node.low = random.Below(node.free + 1);
      node.free -= node.low;
    }
    made.nodes.push_back(node);
  }
  const bool wishes = random.Percent(70);
  for (int p = random.Between(2, 3); p > 0; --p) {
    TreePart part{.one_rack = wishes && random.Percent(70)};
    const int gpus = random.Between(1, 3);
    for (int m = random.Between(1, 3); m > 0; --m) {
      part.gpus.push_back(random.Percent(70) ? gpus : random.Between(1, 4));
    }
    const int members = static_cast<int>(part.gpus.size());
    part.min_count = random.Percent(70) ? members : random.Between(1, members);
    made.parts.push_back(part);
  }
  const int parts = static_cast<int>(made.parts.size());
  made.min_groups = random.Percent(60) ? parts : random.Between(1, parts);
  return made;
}

// Whether enough parts have a place with so much free.
bool TreeFits(const TreeCase& made, std::vector<int> free) {
  const std::function<bool(size_t, int)> parts_from = [&](size_t p, int started) {
    if (started >= made.min_groups) return true;
    if (p == made.parts.size()) return false;
    const TreePart& part = made.parts[p];
    const std::function<bool(size_t, int, int)> members_from = [&](size_t m, int placed, int rack) {
      if (placed >= part.min_count) return parts_from(p + 1, started + 1);
      if (m == part.gpus.size()) return false;
      for (size_t n = 0; n < free.size(); ++n) {
        if (free[n] < part.gpus[m]) continue;
        if (part.one_rack && rack >= 0 && rack != made.nodes[n].rack) continue;
        free[n] -= part.gpus[m];
        const bool fits = members_from(m + 1, placed + 1, made.nodes[n].rack);
        free[n] += part.gpus[m];
        if (fits) return true;
      }
      return members_from(m + 1, placed, rack);
    };
    return members_from(0, 0, -1) || parts_from(p + 1, started);
  };
  return parts_from(0, 0);
}

struct TreeResult {
  std::map<int, std::vector<int>> nodes_of;  // by part
  std::vector<int> evicted;                  // nodes of those that went
  std::map<int, int> used;                   // GPUs of members, by node
  std::string text;
};

TreeResult PlaceTree(const TreeCase& made) {
  std::vector<Object> objects;
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    AddTreeNode(n, made.nodes[n].rack, made.nodes[n].free, made.nodes[n].low, objects);
  }
  AddYaml(absl::StrCat("apiVersion: scheduling.k8s.io/v1alpha3\nkind: CompositePodGroup\n"
                       "metadata: {name: all, namespace: default}\n"
                       "spec: {schedulingPolicy: {gang: {minGroupCount: ",
                       made.min_groups, "}}}\n"),
          objects);
  for (size_t p = 0; p < made.parts.size(); ++p) {
    const TreePart& part = made.parts[p];
    AddTreePart(p, "all", part.min_count, part.one_rack, part.gpus, objects);
  }
  TreeAtRest at_rest = RunTree(std::move(objects));
  TreeResult result;
  for (const TreeAtRest::Member& member : at_rest.placed) {
    result.nodes_of[member.part].push_back(member.node);
    result.used[member.node] += made.parts[member.part].gpus[member.number];
  }
  result.evicted = std::move(at_rest.evicted);
  result.text = std::move(at_rest.text);
  return result;
}

std::string DescribeTree(const TreeCase& made) {
  std::string text = absl::StrCat("minGroupCount ", made.min_groups, "\n");
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    absl::StrAppend(&text, "n", n, " rack ", made.nodes[n].rack, " free ", made.nodes[n].free,
                    " low ", made.nodes[n].low, "\n");
  }
  for (const TreePart& part : made.parts) {
    absl::StrAppend(&text, "minCount ", part.min_count, part.one_rack ? " in one rack:" : ":");
    for (const int gpus : part.gpus) absl::StrAppend(&text, " ", gpus);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::vector<int> FreeOf(const TreeCase& made, const std::vector<int>& gone) {
  std::vector<int> free;
  for (const TreeNode& node : made.nodes) free.push_back(node.free);
  for (const int node : gone) ++free[node];
  return free;
}

// What holds of every tree at rest.
void ExpectWholeParts(const TreeCase& made, const TreeResult& result) {
  int started = 0;
  for (const auto& [p, nodes] : result.nodes_of) {
    const TreePart& part = made.parts[p];
    EXPECT_GE(static_cast<int>(nodes.size()), part.min_count) << "part " << p;
    ++started;
    std::set<int> racks;
    for (const int node : nodes) racks.insert(made.nodes[node].rack);
    if (part.one_rack) {
      EXPECT_EQ(racks.size(), 1) << "part " << p;
    }
  }
  EXPECT_TRUE(started == 0 || started >= made.min_groups) << "in part";
}

TEST(RandomTrees, StartIfAnyAssignmentPlacesThem) {
  int fits = 0, proofs = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const TreeCase made = MakeTreeCase(random, /*with_low=*/false);
    const TreeResult result = PlaceTree(made);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", DescribeTree(made), "\n", result.text));
    ExpectWholeParts(made, result);
    const bool possible = TreeFits(made, FreeOf(made, {}));
    EXPECT_EQ(!result.nodes_of.empty(), possible);
    fits += static_cast<int>(possible);
    if (absl::StrContains(result.text, "No place exists")) {
      EXPECT_FALSE(possible && result.nodes_of.empty());
      ++proofs;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(fits, 300);
  EXPECT_GT(proofs, 300);
}

// Whether the part would start if all pods that may be evicted were gone, beside what runs.
bool WouldStart(const TreeCase& made, const TreeResult& result, int part) {
  std::vector<int> all;
  for (size_t n = 0; n < made.nodes.size(); ++n) {
    all.insert(all.end(), made.nodes[n].low, static_cast<int>(n));
  }
  std::vector<int> free = FreeOf(made, all);
  for (const auto& [node, gpus] : result.used) free[node] -= gpus;
  TreeCase alone = made;
  alone.parts = {made.parts[part]};
  alone.min_groups = 1;
  return TreeFits(alone, free);
}

TEST(RandomTrees, EvictOnlyWhoIsInTheWay) {
  int evicting = 0, in_vain = 0, checked = 0, given_up = 0;
  int more_parts = 0, no_more_parts = 0, parts_given_up = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Random random(100000 + seed);
    const TreeCase made = MakeTreeCase(random, /*with_low=*/true);
    const TreeResult result = PlaceTree(made);
    SCOPED_TRACE(absl::StrCat("seed ", 100000 + seed, "\n", DescribeTree(made), "\n", result.text));
    ExpectWholeParts(made, result);
    std::vector<int> all;
    for (size_t n = 0; n < made.nodes.size(); ++n) {
      all.insert(all.end(), made.nodes[n].low, static_cast<int>(n));
    }
    const bool now = TreeFits(made, FreeOf(made, {}));
    const bool then = TreeFits(made, FreeOf(made, all));
    const bool started = !result.nodes_of.empty();
    EXPECT_TRUE(started || !now);
    EXPECT_TRUE(then || !started);
    if (!started) {
      EXPECT_TRUE(result.evicted.empty()) << "in vain";
    }
    in_vain += static_cast<int>(!then);
    given_up += static_cast<int>(then && !started);
    // For trees that need all their pods: others may preempt by themselves once it runs.
    const bool needs_all = made.min_groups == static_cast<int>(made.parts.size()) &&
                           absl::c_all_of(made.parts, [](const TreePart& part) {
                             return part.min_count == static_cast<int>(part.gpus.size());
                           });
    if (now && needs_all) {
      EXPECT_TRUE(result.evicted.empty()) << "for nothing";
    }
    evicting += static_cast<int>(!result.evicted.empty());
    more_parts += static_cast<int>(static_cast<int>(result.nodes_of.size()) > made.min_groups &&
                                   !result.evicted.empty());
    for (int part = 0; started && part < static_cast<int>(made.parts.size()); ++part) {
      if (result.nodes_of.contains(part)) continue;
      const std::vector<int>& gpus = made.parts[part].gpus;
      const bool alike = std::set<int>(gpus.begin(), gpus.end()).size() == 1;
      const bool would_start = WouldStart(made, result, part);
      EXPECT_FALSE(would_start && alike) << "part " << part << " waits";
      parts_given_up += static_cast<int>(would_start);
      no_more_parts += static_cast<int>(!would_start);
    }
    for (size_t spared = 0; needs_all && spared < result.evicted.size(); ++spared) {
      std::vector<int> gone = result.evicted;
      gone.erase(gone.begin() + static_cast<std::ptrdiff_t>(spared));
      EXPECT_FALSE(TreeFits(made, FreeOf(made, gone)))
          << "one of n" << result.evicted[spared] << " could have stayed";
      ++checked;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(evicting, 200);
  EXPECT_GT(in_vain, 200);
  EXPECT_GT(checked, 200);
  EXPECT_GT(more_parts, 50);
  EXPECT_GT(no_more_parts, 50);
  EXPECT_LT(parts_given_up, 20);
  EXPECT_LT(given_up, 20) << "found member by member, of unlike ones not always";
}

}  // namespace
}  // namespace berth
