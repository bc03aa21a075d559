// SPDX-License-Identifier: Apache-2.0
// TopologyPlacementGenerator: where the members of a group may be together, by labels of nodes.
#ifndef BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_PLACEMENT_GENERATOR_H_
#define BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_PLACEMENT_GENERATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/placement.h"
#include "berth/framework/plugin.h"
#include "plugins/topology_placement_generator/topology_domains.h"
#include "plugins/topology_placement_generator/topology_levels.h"

namespace berth {

struct TopologyPlacementGeneratorArgs {
  // Label keys, the widest level first. They come before the Topology objects.
  std::vector<std::string> levels;
  static const FieldTable& Fields();
};

// As kube-scheduler v1.36 topologyplacement: a placement is the nodes of one value of a label, and
// members that are placed pin it. Beyond that: constraints that are only preferred, which fall back
// level by level; slices; and levels in an order that a Topology object or the arguments say.
class TopologyPlacementGenerator final : public Plugin,
                                         public PlacementGeneratePlugin,
                                         public EnqueueExtensions,
                                         public ExplainsWaitingAs<WaitingReason::kTopology> {
 public:
  static constexpr absl::string_view kName = "TopologyPlacementGenerator";

  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  Status GeneratePlacements(const PlacementGroup& group, const NodeTable& nodes,
                            PlacementTiers& tiers) override;
  std::vector<ClusterEventWithHint> EventsToRegister() const override;
  bool HintsReadSpecOnly() const override { return true; }

 private:
  TopologyPlacementGenerator(const TopologyPlacementGeneratorArgs& args, Handle& handle);

  TopologyLevels levels_;
  TopologyDomains domains_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_TOPOLOGY_PLACEMENT_GENERATOR_TOPOLOGY_PLACEMENT_GENERATOR_H_
