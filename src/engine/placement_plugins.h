// SPDX-License-Identifier: Apache-2.0
// The placement extension points of one profile.
#ifndef BERTH_SRC_ENGINE_PLACEMENT_PLUGINS_H_
#define BERTH_SRC_ENGINE_PLACEMENT_PLUGINS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/framework/placement.h"
#include "framework/framework.h"

namespace berth {

// What all PlacementGenerate plugins say together. A rejection or an Error has the plugin's name.
Status RunPlacementGenerate(const Framework& framework, const PlacementGroup& group,
                            const NodeTable& nodes, PlacementTiers& tiers);
// What is left of the tiers' placements on these nodes.
PlacementTiers Within(const NodePlacement& placement, const PlacementTiers& tiers);
// Makes sure that plugins named nodes that there are; remembers what it has seen.
class PlacementValidator {
 public:
  // Success, or an Error.
  Status Validate(const PlacementTiers& tiers, const NodeTable& nodes);

 private:
  int rows_ = -1;  // of the table that the tiers were checked against
  std::vector<std::shared_ptr<const PlacementTier>> valid_;
};
// Success, Wait, or the first rejection or Error.
Status RunPlacementFeasible(const Framework& framework, const PlacementGroup& group,
                            const NodePlacement& placement, const PlacementProgress& progress,
                            const NodeTable& nodes);
// The weighted total, or what the first plugin that fails says.
absl::StatusOr<int64_t> RunPlacementScore(const Framework& framework, const PlacementGroup& group,
                                          const NodePlacement& placement,
                                          const PlacementAssignments& assignments,
                                          const NodeTable& nodes);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_PLACEMENT_PLUGINS_H_
