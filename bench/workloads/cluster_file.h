// SPDX-License-Identifier: Apache-2.0
// A simulation of a configuration and a cluster in files, as `berth simulate` makes it.
#ifndef BERTH_BENCH_WORKLOADS_CLUSTER_FILE_H_
#define BERTH_BENCH_WORKLOADS_CLUSTER_FILE_H_

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "berth/api/manifest.h"
#include "berth/builtin_plugins.h"
#include "berth/simulation.h"

namespace berth {

// Says what is wrong and ends the program if that is not possible.
inline std::unique_ptr<Simulation> SimulationOf(const std::string& configuration,
                                                const std::string& cluster) {
  static const absl::StatusOr<Registry> registry = BuiltinRegistry();
  if (!registry.ok()) std::abort();
  LoadedConfiguration loaded = LoadConfigurationFile(configuration, *registry);
  Manifests manifests = ReadManifests({cluster});
  for (const Problems* problems : {&loaded.problems, &manifests.problems}) {
    for (const Problem& problem : *problems) absl::FPrintF(stderr, "%s\n", problem.ToString());
    if (!problems->ok()) std::exit(1);
  }
  absl::StatusOr<std::unique_ptr<Simulation>> simulation =
      Simulation::Create({.configuration = std::move(loaded.configuration),
                          .registry = &*registry,
                          .objects = std::move(manifests.objects)});
  if (!simulation.ok()) {
    absl::FPrintF(stderr, "%s\n", simulation.status().message());
    std::exit(1);
  }
  return *std::move(simulation);
}

}  // namespace berth

#endif  // BERTH_BENCH_WORKLOADS_CLUSTER_FILE_H_
