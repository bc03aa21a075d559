// SPDX-License-Identifier: Apache-2.0
// A Lease as JSON: what is read of it, and what stays when it is written.
#include "process/lease_lock.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// As kube-scheduler v1.35 leaves it.
constexpr char kLease[] =
    R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"kube-scheduler",)"
    R"("namespace":"kube-system","uid":"u","resourceVersion":"17","labels":{"team":"a"}},"spec":{)"
    R"("holderIdentity":"host_1","leaseDurationSeconds":15,)"
    R"("acquireTime":"2026-11-24T03:37:34.000001Z","renewTime":"2026-11-24T03:38:00.123456Z",)"
    R"("leaseTransitions":2,"strategy":"x"}})";

TEST(LeaseLockTest, ReadsALease) {
  const absl::StatusOr<LeaseRecord> record = ParseLease(kLease);
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->holder, "host_1");
  EXPECT_EQ(record->duration_seconds, 15);
  EXPECT_EQ(record->renewed - record->acquired, absl::Microseconds(26'123'455));
  EXPECT_EQ(record->transitions, 2);
}

TEST(LeaseLockTest, WritesWhatItReadsAndLeavesTheRest) {
  LeaseRecord record = *ParseLease(kLease);
  record.holder = "host_2 \"b\"";
  record.renewed += absl::Microseconds(1);
  const std::string written = LeaseWith(kLease, "", "", record);
  EXPECT_THAT(written, AllOf(HasSubstr(R"("resourceVersion":"17","labels":{"team":"a"})"),
                             HasSubstr(R"("renewTime":"2026-11-24T03:38:00.123457Z")")));
  EXPECT_EQ(*ParseLease(written), record);
}

TEST(LeaseLockTest, MakesANewOne) {
  LeaseRecord record;
  record.holder = "a";
  record.duration_seconds = 15;
  const std::string made = LeaseWith("", "kube-system", "berth", record);
  EXPECT_THAT(made, HasSubstr(R"("metadata":{"name":"berth","namespace":"kube-system"})"));
  EXPECT_EQ(*ParseLease(made), record);
}

TEST(LeaseLockTest, NonsenseIsAnError) {
  const std::string deep = absl::StrCat(R"({"kind":"Lease","a":)", std::string(100'000, '['),
                                        std::string(100'000, ']'), "}");
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), std::string("{\"kind\":\"Lease\""),
        std::string("<html>"), deep}) {
    EXPECT_FALSE(ParseLease(text).ok()) << text.substr(0, 50);
  }
  const absl::StatusOr<LeaseRecord> odd = ParseLease(
      R"({"kind":"Lease","spec":{"holderIdentity":5,"leaseDurationSeconds":"x","renewTime":{}}})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->holder, "");
}

}  // namespace
}  // namespace berth
