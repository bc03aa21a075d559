// A simulation of an empty cluster, for tests that compare runs with memory and without.
#ifndef BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_
#define BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "tests/engine/gang_cluster.h"

namespace berth {

// `remember`, `rows_at_once` and `steps_at_once` as SimulationOptions has them; none may change a
// decision.
inline std::unique_ptr<Simulation> EmptySimulation(
    LoadedConfiguration loaded, uint64_t seed, bool remember, int rows_at_once = 0,
    int64_t steps_at_once = SchedulerOptions().steps_at_once) {
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  auto created = Simulation::Create({.configuration = std::move(loaded.configuration),
                                     .registry = &Builtins(),
                                     .objects = {},
                                     .seed = seed,
                                     .remember_verdicts = remember,
                                     .rows_at_once = rows_at_once,
                                     .steps_at_once = steps_at_once});
  EXPECT_TRUE(created.ok()) << created.status();
  return *std::move(created);
}

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_EMPTY_SIMULATION_H_
