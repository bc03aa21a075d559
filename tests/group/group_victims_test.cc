// SPDX-License-Identifier: Apache-2.0
// Which members of a group can go alone.
#include "group/group_victims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "group/group_index.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using PodPtr = std::shared_ptr<const PodInfo>;

// Groups by the label "gang"; each needs two members.
class GroupVictimsTest : public ::testing::Test {
 protected:
  PodPtr Run(absl::string_view name, absl::string_view gang = "") {
    PodBuilder pod = MakePod();
    pod.Name(name).NodeName("n");
    if (!gang.empty()) pod.Label("gang", gang);
    PodPtr made = pod.Obj();
    groups_.SetPod(made);
    return made;
  }
  static std::vector<std::string> Names(const std::vector<PodPtr>& pods) {
    std::vector<std::string> names;
    for (const PodPtr& pod : pods) names.emplace_back(pod->name());
    return names;
  }

  DisruptionMode mode_ = DisruptionMode::kSingle;
  GroupIndex groups_{[](const PodInfo& pod) -> std::optional<std::string> {
                       const Symbol* const gang = pod.labels().Find("gang");
                       if (gang == nullptr) return std::nullopt;
                       return absl::StrCat("default/", gang->view());
                     },
                     [this](const PodInfo&, absl::string_view) -> std::optional<GroupSpec> {
                       GroupSpec spec;
                       spec.min_member = 2;
                       spec.disruption_mode = mode_;
                       return spec;
                     },
                     [](const PodInfo&, std::string&) {}};
  GroupVictims victims_{groups_};
};

TEST_F(GroupVictimsTest, AGroupAtItsMinimumTakesOthersAlong) {
  const PodPtr a = Run("a", "g"), b = Run("b", "g");
  const PodPtr alone = Run("alone");
  EXPECT_TRUE(victims_.EvictionEndsGroup(*a));
  EXPECT_FALSE(victims_.EvictionEndsGroup(*alone));
  EXPECT_TRUE(victims_.EvictionsEndGroup({{b}}));
  std::vector<PodPtr> all = {a};
  victims_.AddWholeGroups(all);
  EXPECT_THAT(Names(all), ElementsAre("a", "b"));
}

TEST_F(GroupVictimsTest, MembersBeyondTheMinimumGoAlone) {
  const PodPtr a = Run("a", "g"), b = Run("b", "g"), c = Run("c", "g");
  EXPECT_FALSE(victims_.EvictionEndsGroup(*a));
  EXPECT_FALSE(victims_.EvictionsEndGroup({{a}}));
  EXPECT_TRUE(victims_.EvictionsEndGroup({{a, c}}));
  std::vector<PodPtr> all = {b};
  victims_.AddWholeGroups(all);
  EXPECT_THAT(Names(all), ElementsAre("b"));
}

TEST_F(GroupVictimsTest, AGroupThatGoesAsAWholeHasNoneToSpare) {
  mode_ = DisruptionMode::kAll;
  const PodPtr a = Run("a", "g"), b = Run("b", "g"), c = Run("c", "g");
  EXPECT_TRUE(victims_.EvictionsEndGroup({{a}}));
}

TEST_F(GroupVictimsTest, WithoutGroupsNobodyTakesOthers) {
  const PodPtr alone = Run("alone");
  EXPECT_FALSE(victims_.any_groups());
  EXPECT_FALSE(victims_.EvictionsEndGroup({{alone}}));
  std::vector<PodPtr> none;
  victims_.AddWholeGroups(none);
  EXPECT_THAT(none, IsEmpty());
}

}  // namespace
}  // namespace berth::testing
