// SPDX-License-Identifier: Apache-2.0
// A simulation of given objects, for tests with plugins of their own.
#ifndef BERTH_TESTS_ENGINE_SIMULATE_H_
#define BERTH_TESTS_ENGINE_SIMULATE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/configuration.h"
#include "berth/simulation.h"
#include "gtest/gtest.h"

namespace berth {

// `config` is the text of a KubeSchedulerConfiguration. `registry` has to outlive the simulation.
inline std::unique_ptr<Simulation> Simulate(const Registry& registry, absl::string_view config,
                                            std::vector<Object> objects) {
  LoadedConfiguration loaded = ParseConfiguration(config, "config", registry);
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return Simulation::Create({.configuration = std::move(loaded.configuration),
                             .registry = &registry,
                             .objects = std::move(objects)})
      .value();
}

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_SIMULATE_H_
