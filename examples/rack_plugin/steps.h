// SPDX-License-Identifier: Apache-2.0
// The steps of this example, each a plugin of its own.
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_STEPS_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_STEPS_H_

#include <memory>
#include <vector>

#include "berth/framework/handle.h"
#include "berth/framework/registry.h"
#include "generation.h"
#include "rules.h"

template <class Step>
berth::PluginRegistration WithRack(absl::string_view name) {
  const auto create = [](const berth::PluginArgs& args,
                         berth::Handle&) -> absl::StatusOr<std::unique_ptr<berth::Plugin>> {
    return std::make_unique<Step>(args.As<RackArgs>());
  };
  return berth::WithPlugin(name, create, RackArgs::Fields());
}

template <class Step>
berth::PluginRegistration WithGeneration(absl::string_view name) {
  const auto create = [](const berth::PluginArgs&,
                         berth::Handle&) -> absl::StatusOr<std::unique_ptr<berth::Plugin>> {
    return std::make_unique<Step>();
  };
  return berth::WithPlugin(name, create);
}

inline std::vector<berth::PluginRegistration> Steps() {
  return {WithRack<RackPerNode>("RackPerNode"),
          WithRack<RackColumns>("RackColumns"),
          WithRack<RackRules>("RackRules"),
          WithRack<RackDomainScorer>("RackDomainScorer"),
          WithGeneration<RackGeneration>("RackGeneration"),
          WithGeneration<RackGenerationSigned>("RackGenerationSigned")};
}

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_STEPS_H_
