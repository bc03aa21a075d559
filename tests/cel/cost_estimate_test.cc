// SPDX-License-Identifier: Apache-2.0
// What expressions may cost at most, as k8s.io/dynamic-resource-allocation v0.35.4 estimates it:
// recorded/expressions.json with the others' results, recorded/estimates.json for the functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>

#include "cel/device_selector.h"

namespace berth::cel {
namespace {

int CompareWith(const std::string& file) {
  int compared = 0;
  for (const YAML::Node& entry : YAML::LoadFile("tests/cel/recorded/" + file)) {
    const std::string expression = entry["expression"].Scalar();
    if (!entry["estimatedCost"] || entry["estimatedCost"].IsNull()) continue;
    const absl::StatusOr<uint64_t> estimate = EstimateSelectorCost(expression);
    if (!estimate.ok()) {
      ADD_FAILURE() << expression << ": " << estimate.status();
      continue;
    }
    EXPECT_EQ(*estimate, entry["estimatedCost"].as<uint64_t>()) << expression;
    ++compared;
  }
  return compared;
}

TEST(CostEstimateTest, IsTheOneOfAnApiServer) {
  EXPECT_GT(CompareWith("expressions.json"), 300);
  EXPECT_GT(CompareWith("estimates.json"), 60);
}

// With the estimate an API server's refusals are known, all of them.
TEST(CostEstimateTest, SaysWhatAnApiServerRefuses) {
  int refused = 0, by_estimate = 0;
  for (const YAML::Node& entry : YAML::LoadFile("tests/cel/recorded/expressions.json")) {
    const std::string expression = entry["expression"].Scalar();
    const absl::StatusOr<uint64_t> estimate = EstimateSelectorCost(expression);
    const bool costs = estimate.ok() && *estimate > kSelectorCostLimit;
    const bool valid = ValidateSelector(expression).ok() && !costs;
    EXPECT_EQ(!valid, entry["refused"].IsDefined() && !entry["refused"].IsNull()) << expression;
    refused += !valid;
    by_estimate += costs;
  }
  EXPECT_GT(refused, by_estimate);
  EXPECT_GE(by_estimate, 6);
}

TEST(CostEstimateTest, NeedsAnExpressionThatCompiles) {
  EXPECT_FALSE(EstimateSelectorCost("device.nosuch").ok());
  EXPECT_EQ(*EstimateSelectorCost("true"), 0u);
}

}  // namespace
}  // namespace berth::cel
