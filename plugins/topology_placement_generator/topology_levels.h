// SPDX-License-Identifier: Apache-2.0
// TopologyLevels: which label is above which, as the arguments and the cluster's objects say.
#ifndef BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_LEVELS_H_
#define BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_LEVELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"

namespace berth {

// A level with all that is above it: the keys of the labels whose values tell its domains apart,
// the widest first.
using LevelPath = std::vector<Symbol>;

// Scheduling thread.
class TopologyLevels {
 public:
  // `levels`: of the arguments. Watches the kinds of the objects.
  TopologyLevels(std::vector<std::string> levels, Handle& handle);

  static absl::Span<const Kind> Kinds();

  // The level of that label, or of that name in a ClusterNetworkTopology. A label of which no
  // hierarchy knows is a level by itself.
  LevelPath PathOf(absl::string_view level);

 private:
  struct Level {
    std::string name;  // "" if it has none but the label
    Symbol key;
  };
  using Hierarchy = std::vector<Level>;  // the widest first

  void Update();

  Handle& handle_;
  const Hierarchy of_arguments_;
  // The levels of the arguments, of Topology objects of Kueue and KAI, and of
  // ClusterNetworkTopology objects; by name. The first one that has a level counts.
  std::vector<Hierarchy> hierarchies_;
  std::vector<uint64_t> versions_;  // of the kinds
};

}  // namespace berth

#endif  // BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_LEVELS_H_
