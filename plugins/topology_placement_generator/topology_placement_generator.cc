// SPDX-License-Identifier: Apache-2.0
// Implementation of topology_placement_generator.h.
#include "plugins/topology_placement_generator/topology_placement_generator.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using Wanted = TopologyDomains::Wanted;

// Those of `more` that are not in it come first.
LevelPath Joined(const LevelPath& more, const LevelPath& path) {
  LevelPath joined;
  absl::c_copy_if(more, std::back_inserter(joined),
                  [&](Symbol key) { return !absl::c_linear_search(path, key); });
  joined.insert(joined.end(), path.begin(), path.end());
  return joined;
}

bool HasAnyOf(const NodePlacement& placement, absl::Span<const NodeRow> rows) {
  return absl::c_any_of(rows,
                        [&](NodeRow row) { return absl::c_binary_search(placement.rows, row); });
}

std::shared_ptr<const PlacementTier> Only(const PlacementTier& tier,
                                          const std::vector<NodePlacementPtr>& placements) {
  auto some = std::make_shared<PlacementTier>();
  some->name = tier.name;
  some->slice_size = tier.slice_size;
  some->part_name = tier.part_name;
  some->placements = placements;
  return some;
}

}  // namespace

const FieldTable& TopologyPlacementGeneratorArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<TopologyPlacementGeneratorArgs>("TopologyPlacementGeneratorArgs",
                                                     "Arguments of TopologyPlacementGenerator.")
          .Field("levels", &TopologyPlacementGeneratorArgs::levels,
                 "Keys of node labels, the widest level first: what a preferred level falls back "
                 "to. Topology objects of Kueue, KAI and Koordinator say so, too."));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> TopologyPlacementGenerator::Create(const PluginArgs& args,
                                                                           Handle& handle) {
  return std::unique_ptr<Plugin>(
      new TopologyPlacementGenerator(args.As<TopologyPlacementGeneratorArgs>(), handle));
}

TopologyPlacementGenerator::TopologyPlacementGenerator(const TopologyPlacementGeneratorArgs& args,
                                                       Handle& handle)
    : levels_(args.levels, handle) {}

Status TopologyPlacementGenerator::GeneratePlacements(const PlacementGroup& group,
                                                      const NodeTable& nodes,
                                                      PlacementTiers& tiers) {
  if (group.topology().empty()) return Status::Success();
  LevelPath required;  // all members in one domain of it
  std::vector<LevelPath> preferred;
  std::optional<TopologyConstraint> slices;
  for (const TopologyConstraint& constraint : group.topology()) {
    if (constraint.slice_size > 0) {
      slices = constraint;
    } else if (constraint.required) {
      required = Joined(required, levels_.PathOf(constraint.key));
    } else {
      preferred.push_back(levels_.PathOf(constraint.key));
    }
  }
  // The narrowest last.
  absl::c_stable_sort(preferred,
                      [](const LevelPath& a, const LevelPath& b) { return a.size() < b.size(); });
  // Members that are placed say where the others have to be, or would rather be.
  std::vector<NodeRow> assigned;
  for (const Symbol node : group.assigned_nodes) {
    const NodeRow row = nodes.FindRow(node);
    if (row >= 0) assigned.push_back(row);
  }
  const auto inhabited = [&](const PlacementTier& tier) {
    std::vector<NodePlacementPtr> some;
    absl::c_copy_if(tier.placements, std::back_inserter(some),
                    [&](const NodePlacementPtr& one) { return HasAnyOf(*one, assigned); });
    return some;
  };
  const NodePlacement* pinned = nullptr;
  if (!required.empty() && !assigned.empty()) {
    const std::vector<NodePlacementPtr> homes =
        inhabited(*domains_.Tier({.path = required, .parts = {}}, nodes));
    if (homes.size() > 1) {
      return Status::UnschedulableAndUnresolvable(absl::StrCat(
          "more than 1 domain found for pod group: ", homes[0]->name, ", ", homes[1]->name));
    }
    if (!homes.empty()) pinned = homes.front().get();
  }

  // From the narrowest level upwards.
  const LevelPath parts_of_slices = slices.has_value() ? levels_.PathOf(slices->key) : LevelPath();
  const int slice_size = slices.has_value() ? slices->slice_size : 0;
  std::set<LevelPath> seen;
  const auto add = [&](const LevelPath& path, const LevelPath& parts) {
    LevelPath all = Joined(required, path);
    if (!seen.insert(all).second) return;
    std::shared_ptr<const PlacementTier> tier = domains_.Tier({all,
                                                               slice_size > 0 ? parts_of_slices
                                                               : all == parts ? LevelPath()
                                                                              : parts,
                                                               slice_size},
                                                              nodes);
    if (pinned != nullptr) {
      std::vector<NodePlacementPtr> some;
      absl::c_copy_if(tier->placements, std::back_inserter(some), [&](const auto& one) {
        return absl::c_binary_search(pinned->rows, one->rows.front());
      });
      tier = Only(*tier, some);
    }
    if (!assigned.empty()) {
      const std::vector<NodePlacementPtr> homes = inhabited(*tier);
      if (!homes.empty() && homes.size() < tier->placements.size()) tier = Only(*tier, homes);
    }
    tiers.push_back(std::move(tier));
  };
  for (auto one = preferred.rbegin(); one != preferred.rend(); ++one) {
    const LevelPath parts = Joined(required, *one);
    for (LevelPath path = *one; !path.empty(); path.pop_back()) add(path, parts);
  }
  add({}, preferred.empty() ? LevelPath() : Joined(required, preferred.back()));
  return Status::Success();
}

// Taints, pods that leave and all else that makes room are events of the plugins that reject for
// want of it.
std::vector<ClusterEventWithHint> TopologyPlacementGenerator::EventsToRegister() const {
  std::vector<ClusterEventWithHint> events = {
      {{EventResource::Of(Kind::kNode), action::kAdd | action::kUpdateNodeLabel, ""}, nullptr}};
  for (const Kind kind : TopologyLevels::Kinds()) {
    events.push_back(
        {{EventResource::Of(kind), action::kAdd | action::kUpdate | action::kDelete, ""}, nullptr});
  }
  return events;
}

}  // namespace berth
