// SPDX-License-Identifier: Apache-2.0
// Implementation of topology_placement_generator.h.
#include "plugins/topology_placement_generator/topology_placement_generator.h"

#include <algorithm>
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

// The placements of the tier with any of these rows.
std::vector<NodePlacementPtr> WithAnyOf(const PlacementTier& tier, absl::Span<const NodeRow> rows) {
  std::vector<NodePlacementPtr> some;
  absl::c_copy_if(tier.placements, std::back_inserter(some),
                  [&](const NodePlacementPtr& one) { return HasAnyOf(*one, rows); });
  return some;
}

// What of the tier is within `pinned`, unless that is null, and of this the domains with members
// that are placed, if there are any: these say where the others have to be, or would rather be.
std::shared_ptr<const PlacementTier> Narrowed(std::shared_ptr<const PlacementTier> tier,
                                              const NodePlacement* pinned,
                                              absl::Span<const NodeRow> assigned) {
  if (pinned != nullptr) {
    std::vector<NodePlacementPtr> some;
    absl::c_copy_if(tier->placements, std::back_inserter(some), [&](const auto& one) {
      return absl::c_binary_search(pinned->rows, one->rows.front());
    });
    tier = Only(*tier, some);
  }
  if (!assigned.empty()) {
    const std::vector<NodePlacementPtr> homes = WithAnyOf(*tier, assigned);
    if (!homes.empty() && homes.size() < tier->placements.size()) tier = Only(*tier, homes);
  }
  return tier;
}

struct Constraints {
  LevelPath required;                // all members in one domain of it
  std::vector<LevelPath> preferred;  // the narrowest last
  LevelPath parts_of_slices;
  int slice_size = 0;  // 0: no slices
};

Constraints ReadConstraints(const PlacementGroup& group, TopologyLevels& levels) {
  Constraints result;
  for (const TopologyConstraint& constraint : group.topology()) {
    if (constraint.slice_size > 0) {
      result.parts_of_slices = levels.PathOf(constraint.key);
      result.slice_size = constraint.slice_size;
    } else if (constraint.required) {
      result.required = Joined(result.required, levels.PathOf(constraint.key));
    } else {
      result.preferred.push_back(levels.PathOf(constraint.key));
    }
  }
  absl::c_stable_sort(result.preferred,
                      [](const LevelPath& a, const LevelPath& b) { return a.size() < b.size(); });
  return result;
}

// The rows of the members that are placed.
std::vector<NodeRow> RowsOf(const PlacementGroup& group, const NodeTable& nodes) {
  std::vector<NodeRow> rows;
  for (const Symbol node : group.assigned_nodes) {
    const NodeRow row = nodes.FindRow(node);
    if (row >= 0) rows.push_back(row);
  }
  return rows;
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
  const Constraints constraints = ReadConstraints(group, levels_);
  const LevelPath& required = constraints.required;
  const std::vector<NodeRow> assigned = RowsOf(group, nodes);
  const NodePlacement* pinned = nullptr;
  if (!required.empty() && !assigned.empty()) {
    const std::vector<NodePlacementPtr> homes =
        WithAnyOf(*domains_.Tier({.path = required, .parts = {}}, nodes), assigned);
    if (homes.size() > 1) {
      return Status::UnschedulableAndUnresolvable(absl::StrCat(
          "more than 1 domain found for pod group: ", homes[0]->name, ", ", homes[1]->name));
    }
    if (!homes.empty()) pinned = homes.front().get();
  }

  // From the narrowest level upwards.
  std::set<LevelPath> seen;
  const auto add = [&](const LevelPath& path, const LevelPath& parts) {
    LevelPath all = Joined(required, path);
    if (!seen.insert(all).second) return;
    LevelPath parts_of_all = all == parts ? LevelPath() : parts;
    if (constraints.slice_size > 0) parts_of_all = constraints.parts_of_slices;
    tiers.push_back(Narrowed(domains_.Tier({all, parts_of_all, constraints.slice_size}, nodes),
                             pinned, assigned));
  };
  const std::vector<LevelPath>& preferred = constraints.preferred;
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
