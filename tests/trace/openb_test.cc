// SPDX-License-Identifier: Apache-2.0
// The OpenB experiment: the published decisions, and the sequences that are drawn here.
#include "trace/openb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/builtin_plugins.h"
#include "trace/openb_run.h"

namespace berth {
namespace {

constexpr char kData[] = "examples/openb/data";

TraceResult RunTrace(const OpenbTrace& trace, const std::string& config, double until) {
  const Registry registry = BuiltinRegistry().value();
  LoadedConfiguration loaded = LoadConfigurationFile(config, registry);
  EXPECT_TRUE(loaded.problems.ok());
  absl::StatusOr<TraceResult> result = RunArrivals(
      trace,
      {.configuration = loaded.configuration, .registry = &registry, .until_percent = until});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : TraceResult();
}

// Where a run costs a second, it goes to the end; elsewhere only a few percent of the GPUs arrive.
#ifdef NDEBUG
constexpr double kUntil = 1000;
constexpr char kGolden[] = "bench/gpu/published";
#else
constexpr double kUntil = 4;
constexpr char kGolden[] = "tests/trace/golden";
#endif

// Every decision of the published run: node and cards.
void ExpectGolden(const std::string& policy, const std::string& config) {
  const absl::StatusOr<OpenbTrace> trace = ReadOpenb(kData, "default", 42);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const TraceResult result = RunTrace(*trace, config, kUntil);
  std::ifstream file(absl::StrCat(kGolden, "/default_42_", policy, ".csv"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  ASSERT_GT(result.decisions.size(), 200u);
  for (size_t i = 0; i < result.decisions.size() && std::getline(file, line); ++i) {
    const TraceDecision& decision = result.decisions[i];
    ASSERT_EQ(absl::StrCat(i, ",", decision.pod, ",", decision.node, ",", decision.cards), line);
  }
}

// The row of a published table, by column; columns that are not published are left out.
std::map<int, double> PublishedRow(const std::string& table, const std::string& list,
                                   const std::string& policy, int seed) {
  std::ifstream file(absl::StrCat("bench/gpu/published/", table, ".csv"));
  std::map<int, double> row;
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = absl::StrSplit(line, ',');
  const std::string start = absl::StrCat(list, ",", policy, ",", seed, ",");
  while (std::getline(file, line)) {
    if (!absl::StartsWith(line, start)) continue;
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    for (size_t i = 3; i < fields.size() && i < header.size(); ++i) {
      int column;
      double value;
      if (absl::SimpleAtoi(header[i], &column) && absl::SimpleAtod(fields[i], &value)) {
        row[column] = value;
      }
    }
  }
  return row;
}

struct PublishedCase {
  const char *name, *policy, *config, *list;
  int seed;
};

class OpenbPublishedTest : public ::testing::TestWithParam<PublishedCase> {};

TEST_P(OpenbPublishedTest, EveryColumnAgrees) {
  const PublishedCase& test = GetParam();
  const absl::StatusOr<OpenbTrace> trace = ReadOpenb(kData, test.list, test.seed);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const TraceResult result = RunTrace(*trace, absl::StrCat("config/", test.config), kUntil);
  const auto row = [&](const char* table) {
    return PublishedRow(table, test.list, test.policy, test.seed);
  };
  std::map<int, double> allocation = row("allocation"), fragmentation = row("fragmentation"),
                        of_idle = row("fragmentation_of_idle");
  ASSERT_GT(allocation.size(), 100u);
  int compared = 0;
  for (const TraceColumn& column : result.columns) {
    if (column.arrived + 1 > kUntil || allocation.count(column.arrived) == 0) continue;
    EXPECT_EQ(column.allocation, allocation[column.arrived]) << "at " << column.arrived;
    EXPECT_EQ(column.fragmentation, fragmentation[column.arrived]) << "at " << column.arrived;
    EXPECT_EQ(column.fragmentation_of_idle, of_idle[column.arrived]) << "at " << column.arrived;
    ++compared;
  }
  EXPECT_GE(compared, kUntil > 130 ? 130 : 3);
}

INSTANTIATE_TEST_SUITE_P(
    Policies, OpenbPublishedTest,
    ::testing::Values(
        PublishedCase{"Fgd", "FGD", "gpu-fgd.yaml", "multigpu30", 42},
        PublishedCase{"BestFit", "BestFit", "gpu-best-fit.yaml", "gpushare40", 49},
        PublishedCase{"GpuPacking", "GpuPacking", "gpu-packing.yaml", "gpushare40", 47},
        PublishedCase{"GpuClustering", "GpuClustering", "gpu-clustering.yaml", "default", 48},
        PublishedCase{"DotProduct", "DotProd", "gpu-dot-product.yaml", "multigpu30", 44}),
    [](const auto& info) { return info.param.name; });

// Profiles that know no cards get whole ones for shares, and the books follow.
TEST(OpenbTest, AProfileWithoutCards) {
  const absl::StatusOr<OpenbTrace> trace = ReadOpenb(kData, "default", 42);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const TraceResult result = RunTrace(*trace, "config/default.yaml", 2);
  ASSERT_GT(result.decisions.size(), 100u);
  EXPECT_EQ(result.unscheduled, 0);
  EXPECT_GT(result.columns.back().allocation, 1);
}

#ifdef NDEBUG
// The bar for Berth's own policy, on one seed of each list.
TEST(OpenbTest, ExpectedWasteIsAboveFgd) {
  for (const char* const list : {"default", "gpushare40", "multigpu30"}) {
    const absl::StatusOr<OpenbTrace> trace = ReadOpenb(kData, list, 45);
    ASSERT_TRUE(trace.ok()) << trace.status();
    const TraceResult result = RunTrace(*trace, "config/gpu.yaml", kUntil);
    std::map<int, double> fgd = PublishedRow("allocation", list, "FGD", 45);
    std::map<int, double> ours;
    for (const TraceColumn& column : result.columns) ours[column.arrived] = column.allocation;
    EXPECT_GT(ours[100], fgd[100] + 0.3) << list;
    EXPECT_GT(ours[130], fgd[130]) << list;
    EXPECT_EQ(result.cpu_pods_unscheduled, 0) << list;
  }
}
#endif

TEST(OpenbTest, GoldenDecisionsOfFgd) { ExpectGolden("FGD", "config/gpu-fgd.yaml"); }
TEST(OpenbTest, GoldenDecisionsOfBestFit) { ExpectGolden("BestFit", "config/gpu-best-fit.yaml"); }
TEST(OpenbTest, GoldenDecisionsOfGpuPacking) {
  ExpectGolden("GpuPacking", "config/gpu-packing.yaml");
}

// Lengths of drawn sequences, as other implementations of the protocol have them.
TEST(OpenbTest, DrawnSequences) {
  const auto pods = [](const std::string& list, uint64_t seed) {
    const absl::StatusOr<OpenbTrace> trace = ReadOpenb(kData, list, seed);
    return trace.ok() ? trace->arrivals.size() : 0;
  };
  EXPECT_EQ(pods("default", 1), 10840u);
  EXPECT_EQ(pods("default", 2), 10870u);
  EXPECT_EQ(pods("default", 3), 10843u);
  EXPECT_EQ(pods("gpushare40", 1), 11678u);
  EXPECT_EQ(pods("multigpu30", 1), 8500u);
}

TEST(OpenbTest, NamesWhatIsMissing) {
  EXPECT_THAT(ReadOpenb(kData, "nowhere", 1).status().message(),
              ::testing::HasSubstr("openb_pod_list_nowhere.csv: cannot be read"));
}

// On two small nodes, at the pods' own times: what waits runs when there is room.
TEST(OpenbTest, TimesOfTheTrace) {
  OpenbTrace trace;
  trace.nodes = {{.name = "n", .model = "T4", .milli_cpu = 8000, .memory_mib = 8192, .gpus = 1}};
  trace.node_ranks = {0};
  const auto pod = [](const char* name, int64_t milli, int64_t created, int64_t deleted) {
    return OpenbPod{.name = name,
                    .milli_cpu = 1000,
                    .memory_mib = 64,
                    .gpus = 1,
                    .milli_gpu = milli,
                    .models = "",
                    .created = created,
                    .deleted = deleted,
                    .scheduled = created};
  };
  trace.pods = {pod("a", 600, 0, 100), pod("b", 400, 0, 50), pod("c", 1000, 10, 30)};
  const Registry registry = BuiltinRegistry().value();
  LoadedConfiguration loaded = LoadConfigurationFile("config/gpu.yaml", registry);
  const absl::StatusOr<TraceResult> result =
      RunTimes(trace, {.configuration = loaded.configuration, .registry = &registry}, 20);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->unscheduled, 0);
  // c waits for a, which ends at 100, and its backoff may take a few seconds more.
  EXPECT_GE(result->delays.max, 90);
  EXPECT_LE(result->delays.max, 101);
  EXPECT_EQ(result->delays.p50, 0);
  EXPECT_GT(result->mean_allocation, 50);
}

}  // namespace
}  // namespace berth
