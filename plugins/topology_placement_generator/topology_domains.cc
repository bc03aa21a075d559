// SPDX-License-Identifier: Apache-2.0
// Implementation of topology_domains.h.
#include "plugins/topology_placement_generator/topology_domains.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace berth {
namespace {

using Placements = std::vector<std::shared_ptr<NodePlacement>>;

// The domains of the level among `rows`, in the order of their first rows.
Placements Divide(const LevelPath& path, const NodeTable& nodes, absl::Span<const NodeRow> rows) {
  std::vector<const LabelColumn*> columns;
  for (const Symbol key : path) columns.push_back(&nodes.label_column(key));
  Placements domains;
  absl::flat_hash_map<std::vector<uint32_t>, size_t> domain_of;  // by the indexes of its values
  absl::flat_hash_map<Symbol, int> domains_called;               // by the value of the level itself
  std::vector<uint32_t> values(path.size());
  for (const NodeRow row : rows) {
    bool complete = true;
    for (size_t i = 0; i < columns.size(); ++i) {
      values[i] = columns[i]->index(row);
      complete = complete && columns[i]->values()[values[i]].present;
    }
    if (!complete) continue;
    const auto [found, is_new] = domain_of.try_emplace(values, domains.size());
    if (is_new) {
      domains.push_back(std::make_shared<NodePlacement>());
      ++domains_called[columns.back()->values()[values.back()].value];
    }
    domains[found->second]->rows.push_back(row);
  }
  // The value alone says which one it is, or else those above it do as well.
  const std::string word = LevelWord(path.back().view());
  for (const auto& domain : domains) {
    const NodeRow row = domain->rows.front();
    const auto value_at = [&](size_t i) {
      return columns[i]->values()[columns[i]->index(row)].value.view();
    };
    domain->name = absl::StrCat(word, " ");
    const bool is_only_one =
        domains_called[columns.back()->values()[columns.back()->index(row)].value] == 1;
    for (size_t i = is_only_one ? path.size() - 1 : 0; i < path.size(); ++i) {
      absl::StrAppend(&domain->name, value_at(i), i + 1 < path.size() ? "/" : "");
    }
  }
  return domains;
}

}  // namespace

std::string LevelWord(absl::string_view key) {
  absl::string_view word =
      key.substr(key.rfind('/') == absl::string_view::npos ? 0 : key.rfind('/') + 1);
  for (const absl::string_view prefix : {"topology-", "topology."}) {
    if (word.size() > prefix.size() && absl::StartsWith(word, prefix)) {
      word.remove_prefix(prefix.size());
    }
  }
  return std::string(word.empty() ? key : word);
}

std::shared_ptr<const PlacementTier> TopologyDomains::Tier(const Wanted& wanted,
                                                           const NodeTable& nodes) {
  std::vector<uint64_t> versions = {nodes.id(), nodes.order_version(),
                                    static_cast<uint64_t>(nodes.size())};
  for (const LevelPath* const path : {&wanted.path, &wanted.parts}) {
    for (const Symbol key : *path) versions.push_back(nodes.label_column(key).version());
  }
  if (kept_.size() > kMostKept) kept_.clear();
  Kept& kept = kept_[wanted];
  if (kept.tier != nullptr && kept.versions == versions) return kept.tier;
  kept.versions = std::move(versions);

  std::vector<NodeRow> rows(nodes.size());
  absl::c_iota(rows, 0);
  auto tier = std::make_shared<PlacementTier>();
  Placements placements;
  if (wanted.path.empty()) {
    tier->name = "cluster";
    placements.push_back(std::make_shared<NodePlacement>());
    placements.back()->name = "the cluster";
    placements.back()->rows = std::move(rows);
  } else {
    tier->name = LevelWord(wanted.path.back().view());
    placements = Divide(wanted.path, nodes, rows);
    if (placements.empty()) {  // a key may be misspelt
      const auto append_key = [](std::string* out, Symbol key) {
        absl::StrAppend(out, key.view());
      };
      absl::StrAppend(&tier->name, " (nodes with the label ",
                      absl::StrJoin(wanted.path, " and ", append_key), ")");
    }
  }
  tier->slice_size = wanted.slice_size;
  if (!wanted.parts.empty()) tier->part_name = LevelWord(wanted.parts.back().view());
  for (const auto& placement : placements) {
    if (!wanted.parts.empty()) {
      for (auto& part : Divide(wanted.parts, nodes, placement->rows)) {
        placement->parts.push_back(std::move(part));
      }
    }
    tier->placements.push_back(placement);
  }
  kept.tier = std::move(tier);
  return kept.tier;
}

}  // namespace berth
