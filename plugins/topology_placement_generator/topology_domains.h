// SPDX-License-Identifier: Apache-2.0
// TopologyDomains: the nodes of each domain of a level, remembered while no label changes.
#ifndef BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_DOMAINS_H_
#define BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_DOMAINS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/framework/placement.h"
#include "plugins/topology_placement_generator/topology_levels.h"

namespace berth {

// "rack" of the label "cloud.provider.com/topology-rack".
std::string LevelWord(absl::string_view key);

// Scheduling thread.
class TopologyDomains {
 public:
  // What the placements of a tier are. An empty path is all nodes together.
  struct Wanted {
    LevelPath path;   // they are domains of this level
    LevelPath parts;  // with the domains of this one in them as parts; empty: without
    int slice_size = 0;
    friend bool operator<(const Wanted& a, const Wanted& b) {
      return std::tie(a.path, a.parts, a.slice_size) < std::tie(b.path, b.parts, b.slice_size);
    }
  };
  // A node that lacks one of the labels is in no domain.
  std::shared_ptr<const PlacementTier> Tier(const Wanted& wanted, const NodeTable& nodes);

 private:
  struct Kept {
    std::vector<uint64_t> versions;  // of what it was made from
    std::shared_ptr<const PlacementTier> tier;
  };
  // As they were used last; more than a few are only there if labels of constraints keep changing.
  static constexpr size_t kMostKept = 256;
  std::map<Wanted, Kept> kept_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_DOMAINS_H_
