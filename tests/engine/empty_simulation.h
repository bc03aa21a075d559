// SPDX-License-Identifier: Apache-2.0
// A simulation of an empty cluster, for tests that compare runs with memory and without.
#ifndef BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_
#define BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"
#include "tests/random_seeds.h"

namespace berth {

// `incremental`, `filter_block_size` and `work_budget_steps` as SimulationOptions has them; none
// may change a decision.
inline std::unique_ptr<Simulation> EmptySimulation(
    LoadedConfiguration loaded, uint64_t seed, bool incremental, int filter_block_size = 0,
    int64_t work_budget_steps = SchedulerOptions().work_budget_steps) {
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  auto created = Simulation::Create({.configuration = std::move(loaded.configuration),
                                     .registry = &Builtins(),
                                     .objects = {},
                                     .seed = seed,
                                     .incremental = incremental,
                                     .turns_for_room = false,
                                     .filter_block_size = filter_block_size,
                                     .work_budget_steps = work_budget_steps});
  EXPECT_TRUE(created.ok()) << created.status();
  return *std::move(created);
}

// With that configuration, and all else as by default.
inline std::unique_ptr<Simulation> EmptySimulationOf(const std::string& file, uint64_t seed,
                                                     bool incremental) {
  LoadedConfiguration loaded = LoadConfigurationFile(file, Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  auto created = Simulation::Create({.configuration = std::move(loaded.configuration),
                                     .registry = &Builtins(),
                                     .objects = {},
                                     .seed = seed,
                                     .incremental = incremental});
  EXPECT_TRUE(created.ok()) << created.status();
  return *std::move(created);
}

// Runs a Cluster(seed, incremental) for so many steps, for each seed; for every fifth one also
// without memory, which has to bind the same. `count` sees each. False if the counts say nothing,
// since something failed or BERTH_SEED names the only seed.
template <class Cluster, class Count>
bool RunWithAndWithoutMemory(int seeds, int steps, Count count) {
  for (const int seed : testing::Seeds(seeds)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": BERTH_SEED=", seed));
    Cluster cluster(seed, /*incremental=*/true);
    cluster.Run(steps);
    if (::testing::Test::HasFailure()) return false;
    count(cluster);
    if (seed % 5 != 0) continue;
    Cluster plain(seed, /*incremental=*/false);
    plain.Run(steps);
    EXPECT_EQ(cluster.bindings(), plain.bindings());
    if (::testing::Test::HasFailure()) return false;
  }
  return !testing::IsOneSeed();
}

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_
