// SPDX-License-Identifier: Apache-2.0
// A simulation of an empty cluster, for tests that compare runs with memory and without.
#ifndef BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_
#define BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "tests/engine/gang_cluster.h"

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

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_
