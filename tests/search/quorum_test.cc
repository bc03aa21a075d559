// SPDX-License-Identifier: Apache-2.0
// When a group with parts starts.
#include "search/quorum.h"

#include "gtest/gtest.h"

namespace berth {
namespace {

// Two roles: of the first at least two of six, of the second two of two, five in all.
GroupSpec TwoRoles() {
  GroupSpec spec;
  spec.min_member = 5;
  spec.subgroups = {{.name = "t1", .min_member = 2}, {.name = "t2", .min_member = 2}};
  return spec;
}

TEST(Quorum, WithoutPartsOnlyTheMinimumCounts) {
  const Quorum quorum(GroupSpec{.min_member = 3}, {1});
  EXPECT_EQ(quorum.missing(), 2);
  EXPECT_FALSE(quorum.has_parts());
  EXPECT_FALSE(quorum.IsReachedBy({1}));
  EXPECT_TRUE(quorum.IsReachedBy({2}));
}

TEST(Quorum, EveryPartNeedsItsOwnMinimum) {
  const Quorum quorum(TwoRoles(), {0, 0, 0});
  EXPECT_EQ(quorum.missing(), 5);
  EXPECT_FALSE(quorum.IsReachedBy({0, 5, 0}));
  EXPECT_FALSE(quorum.IsReachedBy({0, 4, 1}));
  EXPECT_TRUE(quorum.IsReachedBy({0, 3, 2}));
  EXPECT_FALSE(quorum.IsReachedBy({0, 2, 2})) << "four of five";
}

TEST(Quorum, ThoseThatRunCount) {
  const Quorum quorum(TwoRoles(), {0, 1, 2});
  EXPECT_EQ(quorum.missing(), 2);
  EXPECT_EQ(quorum.MissingIn(1), 1);
  EXPECT_EQ(quorum.MissingIn(2), 0);
  EXPECT_TRUE(quorum.IsReachedBy({0, 2, 0}));
}

TEST(Quorum, SomePartsMayBeEnough) {
  GroupSpec spec = TwoRoles();
  spec.min_member = 2;
  spec.min_subgroups = 1;
  const Quorum quorum(spec, {0, 0, 0});
  EXPECT_TRUE(quorum.IsReachedBy({0, 0, 2}));
  EXPECT_FALSE(quorum.IsReachedBy({0, 1, 1})) << "two members, but of no part that starts";
  EXPECT_EQ(quorum.PartsThatStart({0, 1, 2}), std::vector<bool>({true, false, true}));
}

TEST(Quorum, APartNeedsItsSubgroupsAndTheyNeedIt) {
  GroupSpec spec;
  spec.min_member = 2;
  spec.subgroups = {{.name = "job", .min_subgroups = 2},
                    {.name = "a", .parent = 0, .min_member = 1},
                    {.name = "b", .parent = 0, .min_member = 1}};
  const Quorum quorum(spec, {0, 0, 0, 0});
  EXPECT_TRUE(quorum.IsReachedBy({0, 0, 1, 1}));
  EXPECT_FALSE(quorum.IsReachedBy({0, 0, 2, 0}));
  EXPECT_EQ(quorum.PartsThatStart({0, 0, 2, 0}), std::vector<bool>({true, false, false, false}));
}

TEST(Quorum, APartIsAGroupOfItsOwn) {
  GroupSpec spec;
  spec.min_member = 1;
  spec.min_subgroups = 1;
  spec.subgroups = {{.name = "runs", .min_member = 1},
                    {.name = "job", .min_subgroups = 2},
                    {.name = "a", .parent = 1, .min_member = 1},
                    {.name = "b", .parent = 1, .min_member = 2}};
  const Quorum quorum(spec, {0, 1, 0, 0, 1});
  EXPECT_TRUE(quorum.IsReachedBy({0, 0, 0, 0, 0})) << "one part runs";
  EXPECT_EQ(quorum.ParentOf(4), 2);
  EXPECT_TRUE(quorum.IsWithin(4, 2));
  EXPECT_FALSE(quorum.IsWithin(1, 2));
  const Quorum job = quorum.OfPart(2);
  EXPECT_FALSE(job.IsReachedBy({0, 0, 0, 0, 0}));
  EXPECT_FALSE(job.IsReachedBy({0, 0, 0, 1, 0}));
  EXPECT_TRUE(job.IsReachedBy({0, 0, 0, 1, 1})) << "of b one runs";
  const Quorum b = quorum.OfPart(4);
  EXPECT_EQ(b.missing(), 1);
  EXPECT_FALSE(b.IsReachedBy({0, 5, 0, 5, 0}));
  EXPECT_TRUE(b.IsReachedBy({0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace berth
