// SPDX-License-Identifier: Apache-2.0
// What the steps of this example have in common: the arguments, and the labels that they read.
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_RACK_ARGS_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_RACK_ARGS_H_

#include <cstdint>

#include "berth/api/symbol.h"
#include "berth/framework/args.h"

struct RackArgs {
  int64_t max_pods = 20;

  static const berth::FieldTable& Fields() {
    static const berth::FieldTable& table = *new berth::FieldTable(
        berth::DescribeFields<RackArgs>("RackArgs", "Arguments of steps 1 to 4.")
            .Field("maxPods", &RackArgs::max_pods, "Pods of an app that a rack takes.",
                   berth::AtLeast(1)));
    return table;
  }
};

inline berth::Symbol RackLabel() {
  static const berth::Symbol label = berth::Symbol::Intern("example.com/rack");
  return label;
}
inline berth::Symbol AppLabel() {
  static const berth::Symbol label = berth::Symbol::Intern("app");
  return label;
}

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_RACK_ARGS_H_
