// SPDX-License-Identifier: Apache-2.0
// What a PreBind plugin need not say.
#include "berth/framework/bind.h"

#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakePod;

class NothingSpecial final : public PreBindPlugin {
 public:
  Status PreBind(CycleState&, const PodInfo&, absl::string_view) override {
    return Status::Success();
  }
};

TEST(PreBindPlugin, RunsUnlessItSaysOtherwise) {
  CycleState state;
  EXPECT_TRUE(NothingSpecial().PreBindPreFlight(state, *MakePod().Obj(), "n").ok());
}

}  // namespace
}  // namespace berth
