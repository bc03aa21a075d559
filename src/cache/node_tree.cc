// Nodes by zone, and their round robin order.
#include "cache/node_tree.h"

#include <algorithm>

#include "absl/algorithm/container.h"

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
  if (const int* const known = member_of_.Find(node.name()); known != nullptr) {
    if (members_[*known].zone->key == key) return false;
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
  if (free_members_.empty()) {
    free_members_.push_back(static_cast<int>(members_.size()));
    members_.emplace_back();
  }
  const int member = free_members_.back();
  free_members_.pop_back();
  members_[member] = {&node, &zone};
  member_of_[node.name()] = member;
  zone.members.push_back(member);
  ++zone.size;
}

bool NodeTree::Remove(Symbol name, std::vector<OrderChange>* changes) {
  const int* const known = member_of_.Find(name);
  if (known == nullptr) return false;
  const int member = *known;
  Zone& zone = *members_[member].zone;
  member_of_.Erase(name);
  members_[member].zone = nullptr;
  if (changes != nullptr) {
    DropGone(zone, member);
    const auto at = absl::c_find(zone.members, member);
    changes->push_back({name, RowsOf(zone, at - zone.members.begin()), false});
    zone.members.erase(at);
    free_members_.push_back(member);
  }
  // If positions are not asked for, it is passed over, as long as not too many are.
  if (2 * static_cast<size_t>(--zone.size) < zone.members.size()) DropGone(zone);
  if (zone.size > 0) return true;
  zone_of_key_.erase(zone.key);
  zones_.erase(absl::c_find_if(zones_, [&](const auto& other) { return other.get() == &zone; }));
  return true;
}

void NodeTree::DropGone(Zone& zone, int but) {
  if (static_cast<size_t>(zone.size) == zone.members.size()) return;
  std::erase_if(zone.members, [&](int member) {
    if (members_[member].zone != nullptr || member == but) return false;
    free_members_.push_back(member);
    return true;
  });
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
    const int* next;
    const int* end;
  };
  std::vector<Turn> turns;
  for (const std::unique_ptr<Zone>& zone : zones_) {
    const int* const first = zone->members.data();
    turns.push_back({first, first + zone->members.size()});
  }
  std::vector<const NodeInfo*> nodes;
  nodes.reserve(member_of_.size());
  while (turns.size() > 1) {
    size_t kept = 0;  // of the zones, those that may have more
    for (Turn turn : turns) {
      while (turn.next != turn.end && members_[*turn.next].zone == nullptr) ++turn.next;
      if (turn.next == turn.end) continue;
      nodes.push_back(members_[*turn.next++].node);
      turns[kept++] = turn;
    }
    turns.resize(kept);
  }
  for (const Turn& last : turns) {
    for (const int* next = last.next; next != last.end; ++next) {
      if (members_[*next].zone != nullptr) nodes.push_back(members_[*next].node);
    }
  }
  return nodes;
}

}  // namespace berth
