// SPDX-License-Identifier: Apache-2.0
// Implementation of placement_plugins.h.
#include "engine/placement_plugins.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr PluginPoint kGenerate{"PlacementGenerate", kRejections,
                                "running PlacementGenerate plugin \"$0\": $1"};
constexpr PluginPoint kFeasible{"PlacementFeasible", kRejections | Codes(Code::kWait),
                                "running PlacementFeasible plugin \"$0\": $1"};
constexpr PluginPoint kPlacementScore{"PlacementScore", Codes(),
                                      "running PlacementScore plugin \"$0\": $1"};

// What is in both; null if that is nothing.
NodePlacementPtr Intersected(const NodePlacement& a, const NodePlacement& b) {
  auto both = std::make_shared<NodePlacement>();
  std::set_intersection(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                        std::back_inserter(both->rows));
  if (both->rows.empty()) return nullptr;
  both->name = absl::StrCat(a.name, ", ", b.name);
  for (const auto& [with_parts, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    for (const NodePlacementPtr& part : with_parts->parts) {
      auto rest = std::make_shared<NodePlacement>();
      std::set_intersection(part->rows.begin(), part->rows.end(), other->rows.begin(),
                            other->rows.end(), std::back_inserter(rest->rows));
      rest->name = part->name;
      if (!rest->rows.empty()) both->parts.push_back(std::move(rest));
    }
    if (!both->parts.empty()) break;
  }
  return both;
}

// Each tier of one with each of the other; together as far as both have come.
PlacementTiers Intersected(const PlacementTiers& a, const PlacementTiers& b) {
  PlacementTiers both;
  for (size_t sum = 0; sum < a.size() + b.size() - 1; ++sum) {
    for (size_t i = 0; i < a.size() && i <= sum; ++i) {
      if (sum - i >= b.size()) continue;
      const PlacementTier& one = *a[i];
      const PlacementTier& other = *b[sum - i];
      auto tier = std::make_shared<PlacementTier>();
      tier->name = absl::StrCat(one.name, " and ", other.name);
      const PlacementTier& sliced = one.slice_size > 0 ? one : other;
      tier->slice_size = sliced.slice_size;
      tier->part_name = sliced.part_name;
      for (const NodePlacementPtr& x : one.placements) {
        for (const NodePlacementPtr& y : other.placements) {
          if (NodePlacementPtr z = Intersected(*x, *y)) tier->placements.push_back(std::move(z));
        }
      }
      both.push_back(std::move(tier));
    }
  }
  return both;
}

bool IsValid(const NodePlacement& placement, int rows) {
  const std::vector<NodeRow>& of = placement.rows;
  return !of.empty() && of.front() >= 0 && of.back() < rows &&
         std::adjacent_find(of.begin(), of.end(), std::greater_equal<>()) == of.end() &&
         std::all_of(placement.parts.begin(), placement.parts.end(), [&](const auto& part) {
           return part != nullptr && part->parts.empty() && IsValid(*part, rows);
         });
}

}  // namespace

PlacementTiers Within(const NodePlacement& placement, const PlacementTiers& tiers) {
  PlacementTiers within;
  for (const auto& whole : tiers) {
    auto tier = std::make_shared<PlacementTier>(*whole);
    tier->placements.clear();
    for (const NodePlacementPtr& of : whole->placements) {
      const NodePlacementPtr both = Intersected(*of, placement);
      if (both == nullptr) continue;
      auto named = std::make_shared<NodePlacement>(*both);
      named->name = of->name;
      tier->placements.push_back(std::move(named));
    }
    within.push_back(std::move(tier));
  }
  return within;
}

Status PlacementValidator::Validate(const PlacementTiers& tiers, const NodeTable& nodes) {
  constexpr size_t kMostRemembered = 32;
  if (rows_ != nodes.size() || valid_.size() > kMostRemembered) valid_.clear();
  rows_ = nodes.size();
  for (const auto& tier : tiers) {
    if (std::find(valid_.begin(), valid_.end(), tier) != valid_.end()) continue;
    const bool is_valid =
        tier != nullptr &&
        std::all_of(tier->placements.begin(), tier->placements.end(),
                    [&](const auto& one) { return one != nullptr && IsValid(*one, rows_); });
    if (!is_valid) {
      return Status::Error(
          "a PlacementGenerate plugin named a placement without nodes, with nodes that do not "
          "exist, or not in the order of the table");
    }
    valid_.push_back(tier);
  }
  return Status::Success();
}

Status RunPlacementGenerate(const Framework& framework, const PlacementGroup& group,
                            const NodeTable& nodes, PlacementTiers& tiers) {
  const ProfilePlugins& plugins = framework.plugins();
  for (const Hook<PlacementGeneratePlugin>& hook : plugins.placement_generate) {
    PlacementTiers more;
    Status status = plugins.calls.Guarded(
        kGenerate, hook.name, [&] { return hook.plugin->GeneratePlacements(group, nodes, more); });
    if (!status.ok()) return status;
    if (more.empty()) continue;
    tiers = tiers.empty() ? std::move(more) : Intersected(tiers, more);
  }
  return Status::Success();
}

Status RunPlacementFeasible(const Framework& framework, const PlacementGroup& group,
                            const NodePlacement& placement, const PlacementProgress& progress,
                            const NodeTable& nodes) {
  const ProfilePlugins& plugins = framework.plugins();
  Status all = Status::Success();
  for (const Hook<PlacementFeasiblePlugin>& hook : plugins.placement_feasible) {
    Status status = plugins.calls.Guarded(kFeasible, hook.name, [&] {
      return hook.plugin->PlacementFeasible(group, placement, progress, nodes);
    });
    if (!status.ok() && !status.IsWait()) return status;
    if (status.IsWait()) all = std::move(status);
  }
  return all;
}

absl::StatusOr<int64_t> RunPlacementScore(const Framework& framework, const PlacementGroup& group,
                                          const NodePlacement& placement,
                                          const PlacementAssignments& assignments,
                                          const NodeTable& nodes) {
  const ProfilePlugins& plugins = framework.plugins();
  int64_t total = 0;
  for (const Hook<PlacementScorePlugin>& hook : plugins.placement_score) {
    int64_t score = 0;
    const Status status = plugins.calls.Guarded(kPlacementScore, hook.name, [&] {
      const absl::StatusOr<int64_t> said =
          hook.plugin->ScorePlacement(group, placement, assignments, nodes);
      if (!said.ok()) return Status::Error(said.status());
      if (*said < 0 || *said > 100) {
        return Status::Error(absl::InternalError(
            absl::StrCat("the score of ", placement.name, " is ", *said, ", not in 0..100")));
      }
      score = *said;
      return Status::Success();
    });
    if (!status.ok()) return absl::InternalError(status.message());
    total += score * hook.weight;
  }
  return total;
}

}  // namespace berth
