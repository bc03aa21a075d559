// SPDX-License-Identifier: Apache-2.0
// Nodes by zone, and their round robin order.
#include "cache/node_tree.h"

#include <algorithm>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "berth/check.h"

namespace berth {
namespace {

Symbol FirstLabel(const LabelSet& labels, Symbol key, Symbol other_key) {
  const Symbol* value = labels.Find(key);
  if (value == nullptr) value = labels.Find(other_key);
  return value == nullptr ? Symbol() : *value;
}

}  // namespace

ZoneKey ZoneOf(const NodeSpec& node) {
  static const Symbol kOldZone = Symbol::Intern("failure-domain.beta.kubernetes.io/zone");
  static const Symbol kZone = Symbol::Intern("topology.kubernetes.io/zone");
  static const Symbol kOldRegion = Symbol::Intern("failure-domain.beta.kubernetes.io/region");
  static const Symbol kRegion = Symbol::Intern("topology.kubernetes.io/region");
  return {FirstLabel(node.labels, kOldRegion, kRegion), FirstLabel(node.labels, kOldZone, kZone)};
}

bool NodeTree::Set(const NodeInfo& node, std::vector<OrderChange>* changes) {
  const ZoneKey key = ZoneOf(node.spec());
  if (const Member* const known = member_of_.Find(node.name()); known != nullptr) {
    if (known->zone->key == key) return false;
    Remove(node.name(), changes);
  }
  Zone*& zone = zone_of_key_[key];
  if (zone == nullptr) {
    zones_.push_back(std::make_unique<Zone>());
    zone = zones_.back().get();
    zone->key = key;
  }
  Add(node, *zone);
  if (changes != nullptr) changes->push_back({node.name(), RowsOf(*zone, zone->size - 1), true});
  return true;
}

void NodeTree::Add(const NodeInfo& node, Zone& zone) {
  member_of_[node.name()] = {&zone, next_number_};
  zone.nodes.push_back(&node);
  zone.numbers.push_back(next_number_++);
  ++zone.size;
}

bool NodeTree::Remove(Symbol name, std::vector<OrderChange>* changes) {
  const Member* const known = member_of_.Find(name);
  if (known == nullptr) return false;
  const Member member = *known;
  Zone& zone = *member.zone;
  member_of_.Erase(name);
  const size_t place = PlaceOf(member);
  if (changes != nullptr) changes->push_back({name, RowsOf(zone, TurnOf(zone, place)), false});
  zone.nodes[place] = nullptr;
  --zone.size;
  while (!zone.nodes.empty() && zone.nodes.back() == nullptr) {
    zone.nodes.pop_back();
    zone.numbers.pop_back();
  }
  // Before others it is passed over, as long as not too many are.
  if (2 * static_cast<size_t>(zone.size) < zone.nodes.size()) DropGone(zone);
  if (zone.size > 0) return true;
  zone_of_key_.erase(zone.key);
  zones_.erase(absl::c_find_if(zones_, [&](const auto& other) { return other.get() == &zone; }));
  return true;
}

size_t NodeTree::PlaceOf(const Member& member) {
  const std::vector<uint64_t>& numbers = member.zone->numbers;
  return static_cast<size_t>(absl::c_lower_bound(numbers, member.number) - numbers.begin());
}

size_t NodeTree::TurnOf(const Zone& zone, size_t place) {
  const size_t gone = zone.nodes.size() - static_cast<size_t>(zone.size);
  if (gone == 0) return place;
  const auto begin = zone.nodes.begin(), end = zone.nodes.end();
  const auto at = begin + static_cast<std::ptrdiff_t>(place);
  const auto count_gone = [](auto from, auto to) {
    return static_cast<size_t>(std::count(from, to, nullptr));
  };
  const bool is_near_begin = place < zone.nodes.size() / 2;
  return place - (is_near_begin ? count_gone(begin, at) : gone - count_gone(at, end));
}

void NodeTree::DropGone(Zone& zone) {
  size_t kept = 0;
  for (size_t i = 0; i < zone.nodes.size(); ++i) {
    if (zone.nodes[i] == nullptr) continue;
    zone.nodes[kept] = zone.nodes[i];
    zone.numbers[kept++] = zone.numbers[i];
  }
  zone.nodes.resize(kept);
  zone.numbers.resize(kept);
}

std::vector<NodeRow> NodeTree::RowsOf(const Zone& zone, size_t from) const {
  // The sizes of the zones before and behind this one, as long as they have nodes in the turn.
  std::vector<size_t> before, behind;
  size_t row = 0;
  bool is_behind = false;
  for (const std::unique_ptr<Zone>& other : zones_) {
    const size_t size = static_cast<size_t>(other->size);
    row += std::min(size, from);
    if (other.get() == &zone) {
      is_behind = true;
    } else if (size > from) {
      (is_behind ? behind : before).push_back(size);
    }
  }
  row += before.size();
  std::vector<NodeRow> rows;
  for (size_t turn = from;; ++turn) {
    rows.push_back(static_cast<NodeRow>(row));
    if (turn + 1 == static_cast<size_t>(zone.size)) return rows;
    // From here on it has all turns, and each node is behind the one before it.
    if (before.empty() && behind.empty()) return rows;
    // To the next turn pass the zones behind, and in it those before.
    row += 1 + behind.size();
    const auto has_none = [turn](size_t size) { return size <= turn + 1; };
    std::erase_if(before, has_none);
    std::erase_if(behind, has_none);
    row += before.size();
  }
}

std::vector<const NodeInfo*> NodeTree::List() const {
  struct Turn {
    const NodeInfo* const* next;
    const NodeInfo* const* end;
  };
  std::vector<Turn> turns;
  for (const std::unique_ptr<Zone>& zone : zones_) {
    const NodeInfo* const* const first = zone->nodes.data();
    turns.push_back({first, first + zone->nodes.size()});
  }
  std::vector<const NodeInfo*> nodes(member_of_.size());
  const NodeInfo** listed = nodes.data();
  while (turns.size() > 1) {
    size_t kept = 0;  // of the zones, those that may have more
    for (Turn turn : turns) {
      while (turn.next != turn.end && *turn.next == nullptr) ++turn.next;
      if (turn.next == turn.end) continue;
      *listed++ = *turn.next++;
      turns[kept++] = turn;
    }
    turns.resize(kept);
  }
  for (const Turn& last : turns) {
    listed = std::copy_if(last.next, last.end, listed,
                          [](const NodeInfo* node) { return node != nullptr; });
  }
  BERTH_CHECK(listed == nodes.data() + nodes.size());
  return nodes;
}

}  // namespace berth
