// SPDX-License-Identifier: Apache-2.0
// What plugins keep of a cycle.
#include "berth/framework/cycle_state.h"

#include <memory>

#include "gtest/gtest.h"

namespace berth {
namespace {

struct Number final : StateData {
  explicit Number(int value) : value(value) {}
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<Number>(*this); }
  int value;
};
constexpr StateKey<Number> kNumber{"MyPlugin number"};

TEST(CycleState, ReadIsNeverNull) {
  CycleState state;
  EXPECT_EQ(state.Find(kNumber), nullptr);
  for (const absl::Status& missing :
       {state.Read(kNumber).status(), state.ReadMutable(kNumber).status()}) {
    EXPECT_EQ(missing.message(),
              "nothing is stored under the state key \"MyPlugin number\": is the extension point "
              "that writes it (PreFilter, PreScore) enabled too?");
  }
  state.Write(kNumber, std::make_unique<Number>(7));
  ASSERT_TRUE(state.Read(kNumber).ok());
  EXPECT_EQ((*state.Read(kNumber))->value, 7);
  (*state.ReadMutable(kNumber))->value = 8;
  EXPECT_EQ((*state.Read(kNumber))->value, 8);
  state.Delete(kNumber);
  EXPECT_FALSE(state.Read(kNumber).ok());
}

}  // namespace
}  // namespace berth
