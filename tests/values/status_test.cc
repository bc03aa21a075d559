// SPDX-License-Identifier: Apache-2.0
// Statuses and their words.
#include "berth/framework/status.h"

#include <utility>

#include "gmock/gmock.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Status, SaysWhoAndWhy) {
  EXPECT_TRUE(Status::Success().ok());
  EXPECT_EQ(Status::Success().ToString(), "Success");
  Status status = Status::Unschedulable("Insufficient cpu").WithPlugin(Symbol::Intern("Fit"));
  status.AddReason("Too many pods");
  EXPECT_EQ(status.ToString(), "Unschedulable by Fit: Insufficient cpu, Too many pods");
  EXPECT_EQ(status.message(), "Insufficient cpu, Too many pods");
  EXPECT_THAT(status.reasons(), ElementsAre("Insufficient cpu", "Too many pods"));
  EXPECT_EQ(Status::Error(absl::InternalError("x")).ToString(), "Error: x");
}

TEST(Status, ACopyIsItsOwn) {
  Status status = Status::Unschedulable("Insufficient cpu").WithPlugin(Symbol::Intern("Fit"));
  Status copy = status;
  EXPECT_EQ(copy, status);
  copy.AddReason("Too many pods");
  EXPECT_EQ(status.message(), "Insufficient cpu");
  copy = status;
  EXPECT_EQ(copy, status);
  copy = *&copy;
  EXPECT_EQ(copy, status);
  status = Status::Success();
  EXPECT_THAT(status.reasons(), IsEmpty());
  EXPECT_EQ(copy.message(), "Insufficient cpu");
}

TEST(Status, MovedFromKeepsCodeAndPlugin) {
  Status status = Status::Error("broken").WithPlugin(Symbol::Intern("Fit"));
  const Status moved = std::move(status);
  EXPECT_EQ(moved.ToString(), "Error by Fit: broken");
  EXPECT_EQ(status.ToString(), "Error by Fit");  // NOLINT(bugprone-use-after-move)
  status.AddReason("again");
  EXPECT_EQ(status.message(), "again");
}

TEST(Status, WithoutReasonsAreEqual) {
  EXPECT_EQ(Status::Make(Code::kSkip, {}), Status::Skip());
  EXPECT_NE(Status::Skip(), Status::Success());
  EXPECT_NE(Status::Make(Code::kError, {}), Status::Error("x"));
}

TEST(Status, Rejections) {
  for (const Code code :
       {Code::kUnschedulable, Code::kUnschedulableAndUnresolvable, Code::kPending}) {
    EXPECT_TRUE(Status::Make(code, {}).IsRejected()) << CodeName(code);
  }
  for (const Code code : {Code::kSuccess, Code::kError, Code::kWait, Code::kSkip}) {
    EXPECT_FALSE(Status::Make(code, {}).IsRejected()) << CodeName(code);
  }
  EXPECT_TRUE(Status::Skip().IsSkip());
  EXPECT_TRUE(Status::Wait().IsWait());
  EXPECT_TRUE(Status::Pending("x").IsRejected());
  EXPECT_EQ(CodeName(Code::kUnschedulableAndUnresolvable), "UnschedulableAndUnresolvable");
  EXPECT_EQ(CodeName(static_cast<Code>(99)), "unknown code");
}

}  // namespace
}  // namespace berth
