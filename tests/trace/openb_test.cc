// The OpenB experiment: the published decisions, and the sequences that are drawn here.
#include "trace/openb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "berth/builtin_plugins.h"
#include "trace/openb_run.h"

namespace berth {
namespace {

constexpr char kData[] = "examples/openb/data";

TraceResult Run(const OpenbTrace& trace, const std::string& config, double until) {
  const Registry registry = BuiltinRegistry().value();
  LoadedConfiguration loaded = LoadConfigurationFile(config, registry);
  EXPECT_TRUE(loaded.problems.ok());
  absl::StatusOr<TraceResult> result = RunArrivals(
      trace,
      {.configuration = loaded.configuration, .registry = &registry, .until_percent = until});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : TraceResult();
}

// Every decision of the first arrivals of the published run: node and cards.
void ExpectGolden(const std::string& policy, const std::string& config) {
  const absl::StatusOr<OpenbTrace> trace = ReadOpenb(kData, "default", 42);
  ASSERT_TRUE(trace.ok()) << trace.status();
  const TraceResult result = Run(*trace, config, 3);
  std::ifstream file(absl::StrCat("tests/trace/golden/default_42_", policy, ".csv"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  ASSERT_GT(result.decisions.size(), 200u);
  for (size_t i = 0; i < result.decisions.size() && std::getline(file, line); ++i) {
    const TraceDecision& decision = result.decisions[i];
    ASSERT_EQ(absl::StrCat(i, ",", decision.pod, ",", decision.node, ",", decision.cards), line);
  }
}

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
