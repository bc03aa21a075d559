// SPDX-License-Identifier: Apache-2.0
// Dividing an amount fairly.
#include <algorithm>
#include <map>
#include <numeric>

#include "absl/algorithm/container.h"
#include "berth/quota/quota_tree.h"

namespace berth {
namespace {

// Products of two amounts stay within 126 bits.
constexpr __int128 kMostShared = __int128{1} << 62;

struct Part {
  size_t claim = 0;
  __int128 weight = 0;
  __int128 remaining = 0;  // that it may still get
};

// Gives `rest` to the parts by weight, to none more than remains for it: those whose share is more
// than that are served first, in rounds, and whole units go to the largest remainder. Returns what
// is left over.
__int128 Fill(__int128 rest, std::vector<Part> parts, std::vector<__int128>& shares) {
  absl::c_for_each(parts,
                   [](Part& part) { part.remaining = std::min(part.remaining, kMostShared); });
  std::erase_if(parts, [](const Part& part) { return part.remaining <= 0 || part.weight <= 0; });
  while (rest > 0 && !parts.empty()) {
    __int128 weights = 0;
    for (const Part& part : parts) weights += part.weight;
    if (weights > kMostShared) {
      for (Part& part : parts) part.weight = std::max<__int128>(1, part.weight / 2);
      continue;
    }
    const __int128 whole = std::min(rest, kMostShared);
    const auto is_served = [&](const Part& part) {
      return whole * part.weight >= part.remaining * weights;
    };
    if (absl::c_any_of(parts, is_served)) {
      std::erase_if(parts, [&](const Part& part) {
        if (!is_served(part)) return false;
        shares[part.claim] += part.remaining;
        rest -= part.remaining;
        return true;
      });
      continue;
    }
    __int128 left = whole;
    for (const Part& part : parts) {
      const __int128 share = whole * part.weight / weights;
      shares[part.claim] += share;
      left -= share;
    }
    absl::c_stable_sort(parts, [&](const Part& a, const Part& b) {
      return whole * a.weight % weights > whole * b.weight % weights;
    });
    for (const Part& part : parts) {
      if (left == 0) break;
      ++shares[part.claim];
      --left;
    }
    return 0;
  }
  return rest;
}

}  // namespace

std::vector<__int128> DivideFairly(__int128 total, absl::Span<const ShareClaim> claims) {
  std::vector<__int128> shares(claims.size(), 0);
  std::vector<Part> guaranteed;
  __int128 promised = 0;
  for (size_t i = 0; i < claims.size(); ++i) {
    const __int128 first = std::max<__int128>(0, std::min(claims[i].guarantee, claims[i].wanted));
    guaranteed.push_back({i, std::min(first, kMostShared), first});
    promised += first;
  }
  if (promised >= total) {
    Fill(std::max<__int128>(0, total), std::move(guaranteed), shares);
    return shares;
  }
  for (const Part& part : guaranteed) shares[part.claim] = part.remaining;
  __int128 rest = total - promised;

  std::map<int32_t, std::vector<size_t>, std::greater<>> classes;
  for (size_t i = 0; i < claims.size(); ++i) classes[claims[i].priority].push_back(i);
  for (const auto& of_priority : classes) {
    const std::vector<size_t>& members = of_priority.second;
    // By weight with what was used lately; then by weight alone; then those without a weight,
    // alike.
    const auto parts_by = [&](auto weight_of) {
      std::vector<Part> parts;
      for (const size_t i : members) {
        parts.push_back({i, weight_of(claims[i]), claims[i].wanted - shares[i]});
      }
      return parts;
    };
    if (claims[members.front()].weight_lately.has_value()) {
      const auto lately = [](const ShareClaim& claim) { return __int128{*claim.weight_lately}; };
      rest = Fill(rest, parts_by(lately), shares);
    }
    rest = Fill(rest, parts_by([](const ShareClaim& claim) { return __int128{claim.weight}; }),
                shares);
    rest = Fill(rest, parts_by([](const ShareClaim&) { return __int128{1}; }), shares);
  }
  return shares;
}

}  // namespace berth
