// SPDX-License-Identifier: Apache-2.0
// Which departures of victims make room for a group, and which do so in vain.
#include "engine/awaited_victims.h"

#include <memory>
#include <string>

#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using testing::MakePod;

class AwaitedVictimsTest : public ::testing::Test {
 protected:
  static UidRef Uid(const std::shared_ptr<const PodInfo>& pod) { return *pod->identity(); }
  // "in vain for g", "makes room for g", or "".
  std::string Gone(const std::shared_ptr<const PodInfo>& victim) {
    const AwaitedVictims::Departure gone = awaited_.Gone(Uid(victim));
    EXPECT_TRUE(gone.in_vain_for.empty() || gone.makes_room_for.empty());
    if (!gone.in_vain_for.empty()) return "in vain for " + gone.in_vain_for;
    return gone.makes_room_for.empty() ? "" : "makes room for " + gone.makes_room_for;
  }

  const std::shared_ptr<const PodInfo> a_ = MakePod().Name("a").Obj();
  const std::shared_ptr<const PodInfo> b_ = MakePod().Name("b").Obj();
  const std::shared_ptr<const PodInfo> c_ = MakePod().Name("c").Obj();
  AwaitedVictims awaited_;
};

TEST_F(AwaitedVictimsTest, TheLastOfThePlanMakesRoom) {
  awaited_.Add("default/g", *a_);
  awaited_.Add("default/g", *b_);
  EXPECT_EQ(Gone(c_), "") << "it is nobody's victim";
  EXPECT_EQ(Gone(b_), "in vain for default/g");
  EXPECT_EQ(Gone(a_), "makes room for default/g");
  EXPECT_EQ(Gone(a_), "") << "that has been said";
}

TEST_F(AwaitedVictimsTest, AGroupThatWasTriedSinceWaitsForNobody) {
  awaited_.Add("default/g", *a_);
  awaited_.Add("default/g", *b_);
  awaited_.Tried("default/h");
  EXPECT_EQ(Gone(a_), "in vain for default/g");
  awaited_.Tried("default/g");
  EXPECT_EQ(Gone(b_), "");
}

TEST_F(AwaitedVictimsTest, AVictimThatStaysEndsThePlan) {
  awaited_.Add("default/g", *a_);
  awaited_.Add("default/g", *b_);
  EXPECT_EQ(awaited_.Stays(Uid(c_)), "");
  EXPECT_EQ(awaited_.Stays(Uid(a_)), "") << "nothing was kept from the group";
  EXPECT_EQ(Gone(b_), "");

  awaited_.Add("default/g", *a_);
  awaited_.Add("default/g", *b_);
  EXPECT_EQ(Gone(a_), "in vain for default/g");
  EXPECT_EQ(awaited_.Stays(Uid(b_)), "default/g");
}

TEST_F(AwaitedVictimsTest, AVictimOfTwoGroupsCountsForTheSecond) {
  awaited_.Add("default/g", *a_);
  awaited_.Add("default/g", *b_);
  awaited_.Add("default/h", *a_);
  EXPECT_EQ(Gone(b_), "makes room for default/g");
  EXPECT_EQ(Gone(a_), "makes room for default/h");
}

TEST_F(AwaitedVictimsTest, ALaterPlanIsNotMixedWithTheEarlierOne) {
  awaited_.Add("default/g", *a_);
  awaited_.Tried("default/g");
  awaited_.Add("default/g", *b_);
  EXPECT_EQ(Gone(a_), "") << "of the plan that fell";
  EXPECT_EQ(Gone(b_), "makes room for default/g");
}

}  // namespace
}  // namespace berth
