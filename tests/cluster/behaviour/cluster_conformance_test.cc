// SPDX-License-Identifier: Apache-2.0
// The in-memory cluster keeps the promises of the port. tests/cluster/kit_test.py asks the API
// server's.
#include "berth/testing/cluster_conformance.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "berth/clock.h"
#include "berth/in_memory_cluster.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

class InMemory final : public testing::ClusterUnderTest {
 public:
  Cluster& cluster() override { return cluster_; }
  absl::StatusOr<Object> Create(const Object& object) override {
    cluster_.Set(object);
    return cluster_.List(object.kind()).back();
  }
  absl::Status Delete(const Object& object) override {
    return cluster_.Delete(object.kind(), object.key())
               ? absl::OkStatus()
               : absl::NotFoundError(absl::StrCat(object.ToString(), " is not there"));
  }

 private:
  RealClock clock_;
  InMemoryCluster cluster_{clock_};
};

class ClusterConformanceTest : public ::testing::TestWithParam<testing::ClusterCheck> {};

TEST_P(ClusterConformanceTest, InMemoryCluster) {
  InMemory in_memory;
  const absl::Status kept = GetParam().run(in_memory);
  EXPECT_TRUE(kept.ok()) << kept.message();
}

INSTANTIATE_TEST_SUITE_P(Checks, ClusterConformanceTest,
                         ::testing::ValuesIn(testing::ClusterChecks()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace berth
