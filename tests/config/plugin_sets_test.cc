// SPDX-License-Identifier: Apache-2.0
// The merge of plugin lists, after kube-scheduler v1.35's cases for mergePluginSet.
#include "config/plugin_sets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/config/fake_registry.h"

namespace berth {
namespace {

// "A:2 B | C": enabled A with weight 2 and B, disabled C.
std::vector<PluginEntry> Entries(absl::string_view text) {
  std::vector<PluginEntry> entries;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
    const std::vector<std::string> parts = absl::StrSplit(word, ':');
    entries.push_back({.name = parts[0], .weight = parts.size() > 1 ? std::stoi(parts[1]) : 0});
  }
  return entries;
}

PluginSet Set(absl::string_view text) {
  const std::vector<absl::string_view> halves = absl::StrSplit(text, '|');
  return {.enabled = Entries(halves[0]),
          .disabled = halves.size() > 1 ? Entries(halves[1]) : std::vector<PluginEntry>()};
}

std::string Text(const PluginSet& set) {
  const auto append = [](std::string* out, const PluginEntry& entry) {
    absl::StrAppend(out, entry.name, entry.weight == 0 ? "" : absl::StrCat(":", entry.weight));
  };
  const std::string enabled = absl::StrJoin(set.enabled, " ", append);
  if (set.disabled.empty()) return enabled;
  return absl::StrCat(enabled, " | ", absl::StrJoin(set.disabled, " ", append));
}

TEST(PluginSets, Merge) {
  struct Case {
    absl::string_view name, defaults, custom, want;
  };
  const Case cases[] = {
      {"nothing to add", "A B", "", "A B"},
      {"nothing to start from", "", "C", "C"},
      {"added at the end, in order", "A B", "D C", "A B D C"},
      {"one default off", "A B C", "|B", "A C | B"},
      {"all defaults off", "A B", "|*", " | *"},
      {"all defaults off, some back on, in the new order", "A B C", "C A|*", "C A | *"},
      {"all off and one named besides", "A B", "|* A", " | * A"},
      {"off and on: to the end", "A B C", "A|A", "B C A | A"},
      {"off and on in another order", "A B C", "C B|B C", "A C B | B C"},
      {"on again: keeps its place", "A B C", "B", "A B C"},
      {"on again with a weight: keeps its place", "A:1 B:2 C", "B:5", "A:1 B:5 C"},
      {"on again without a weight: loses the default weight", "A:1 B:2", "B", "A:1 B"},
      {"one kept in place, one new", "A B", "D B:4", "A B:4 D"},
      {"off what is not a default", "A", "|X", "A | X"},
      {"off what is not a default, and on", "A", "X|X", "A X | X"},
      {"the defaults' own disabled", "A B|B", "C", "A C | B"},
      {"the defaults' own disabled, and on", "A B|B", "B", "A B | B"},
      {"the defaults' own *", "A B|*", "B", "B | *"},
      {"twice: the last replaces, the first is appended", "A:1", "A:2 A:3", "A:3 A:2"},
      {"new one twice", "A", "B:1 B:2", "A B:1 B:2"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Text(MergePluginSet(Set(c.defaults), Set(c.custom))), c.want) << c.name;
  }
}

TEST(PluginSets, DefaultsAreThoseOfTheRegistryInOrder) {
  EXPECT_EQ(Text(DefaultMultiPoint(FakeRegistry())),
            "SchedulingGates PrioritySort NodeUnschedulable NodeName TaintToleration:3 "
            "NodeAffinity:2 NodePorts NodeResourcesFit:1 VolumeRestrictions NodeVolumeLimits "
            "VolumeBinding VolumeZone PodTopologySpread:2 InterPodAffinity:2 DynamicResources:2 "
            "DefaultPreemption NodeResourcesBalancedAllocation:1 ImageLocality:1 DefaultBinder");

  Registry::Builder builder;
  builder.Add("ImageLocality", nullptr).Add("NodeName", nullptr).Add("Other", nullptr);
  EXPECT_EQ(Text(DefaultMultiPoint(std::move(builder).Build().value())),
            "NodeName ImageLocality:1");
}

}  // namespace
}  // namespace berth
