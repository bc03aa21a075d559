// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_users.h.
#include "plugins/volume_restrictions/claim_users.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/hash/hash.h"

namespace berth {

bool ClaimUsers::Has(absl::string_view claim, const NodeTable& nodes) {
  Sync(nodes);
  const auto users = users_.find(absl::HashOf(claim));
  if (users == users_.end()) return false;
  return std::any_of(users->second.begin(), users->second.end(), [&](Symbol name) {
    return nodes.node(nodes.FindRow(name)).claim_uses().contains(claim);
  });
}

void ClaimUsers::Sync(const NodeTable& nodes) {
  const bool same_table = table_ == nodes.id();
  if (same_table && table_version_ == nodes.version()) return;
  const auto changes = same_table ? nodes.ChangesSince(table_version_) : std::nullopt;
  if (changes.has_value()) {
    for (const RowChange& change : *changes) Read(nodes.node(change.row));
  } else {
    ReadAll(nodes);
  }
  table_ = nodes.id();
  table_version_ = nodes.version();
}

void ClaimUsers::ReadAll(const NodeTable& nodes) {
  for (auto& [name, node] : nodes_) node.seen = false;
  for (NodeRow row = 0; row < nodes.size(); ++row) Read(nodes.node(row));
  absl::erase_if(nodes_, [this](auto& entry) {
    if (!entry.second.seen) Replace(entry.first, entry.second, {});
    return !entry.second.seen;
  });
}

void ClaimUsers::Read(const NodeInfo& info) {
  Node& node = nodes_[info.name()];
  node.seen = true;
  if (std::exchange(node.generation, info.generation()) == info.generation()) return;
  std::vector<uint64_t> claims;
  claims.reserve(info.claim_uses().size());
  for (const auto& [claim, uses] : info.claim_uses()) {
    claims.push_back(absl::HashOf(absl::string_view(claim)));
  }
  std::sort(claims.begin(), claims.end());
  Replace(info.name(), node, std::move(claims));
}

void ClaimUsers::Replace(Symbol name, Node& node, std::vector<uint64_t> claims) {
  const std::vector<uint64_t> before = std::exchange(node.claims, std::move(claims));
  std::vector<uint64_t> changed;
  std::set_difference(before.begin(), before.end(), node.claims.begin(), node.claims.end(),
                      std::back_inserter(changed));
  for (const uint64_t gone : changed) {
    const auto users = users_.find(gone);
    *std::find(users->second.begin(), users->second.end(), name) = users->second.back();
    users->second.pop_back();
    if (users->second.empty()) users_.erase(users);
  }
  changed.clear();
  std::set_difference(node.claims.begin(), node.claims.end(), before.begin(), before.end(),
                      std::back_inserter(changed));
  for (const uint64_t came : changed) users_[came].push_back(name);
}

}  // namespace berth
