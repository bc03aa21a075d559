// Nodes by zone, and their round robin order.
#include "cache/node_tree.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

absl::string_view FirstLabel(const LabelSet& labels, Symbol key, Symbol other_key) {
  const Symbol* value = labels.Find(key);
  if (value == nullptr) value = labels.Find(other_key);
  return value == nullptr ? absl::string_view() : value->view();
}

}  // namespace

std::string ZoneKey(const NodeSpec& node) {
  static const Symbol kOldZone = Symbol::Intern("failure-domain.beta.kubernetes.io/zone");
  static const Symbol kZone = Symbol::Intern("topology.kubernetes.io/zone");
  static const Symbol kOldRegion = Symbol::Intern("failure-domain.beta.kubernetes.io/region");
  static const Symbol kRegion = Symbol::Intern("topology.kubernetes.io/region");
  const absl::string_view zone = FirstLabel(node.labels, kOldZone, kZone);
  const absl::string_view region = FirstLabel(node.labels, kOldRegion, kRegion);
  if (zone.empty() && region.empty()) return "";
  return absl::StrCat(region, absl::string_view(":\0:", 3), zone);
}

void NodeTree::Set(const NodeSpec& node, std::vector<OrderChange>* changes) {
  std::string key = ZoneKey(node);
  const auto known = zone_of_.find(node.name);
  if (known != zone_of_.end()) {
    if (known->second == key) return;
    Remove(node.name, changes);
  }
  auto zone =
      std::find_if(zones_.begin(), zones_.end(), [&](const Zone& z) { return z.key == key; });
  if (zone == zones_.end()) zone = zones_.insert(zones_.end(), Zone{key, {}});
  zone->nodes.push_back(node.name);
  zone_of_[node.name] = std::move(key);
  if (changes == nullptr) return;
  changes->push_back({node.name, RowsOf(zone - zones_.begin(), zone->nodes.size() - 1), true});
}

bool NodeTree::Remove(Symbol name, std::vector<OrderChange>* changes) {
  const auto known = zone_of_.find(name);
  if (known == zone_of_.end()) return false;
  const auto zone = std::find_if(zones_.begin(), zones_.end(),
                                 [&](const Zone& z) { return z.key == known->second; });
  const auto at = std::find(zone->nodes.begin(), zone->nodes.end(), name);
  if (changes != nullptr) {
    changes->push_back({name, RowsOf(zone - zones_.begin(), at - zone->nodes.begin()), false});
  }
  zone->nodes.erase(at);
  if (zone->nodes.empty()) zones_.erase(zone);
  zone_of_.erase(known);
  return true;
}

std::vector<NodeRow> NodeTree::RowsOf(size_t index, size_t from) const {
  // The sizes of the zones before and behind this one, as long as they have nodes in the turn.
  std::vector<size_t> before, behind;
  size_t row = 0;
  for (size_t i = 0; i < zones_.size(); ++i) {
    const size_t size = zones_[i].nodes.size();
    row += std::min(size, from);
    if (i != index && size > from) (i < index ? before : behind).push_back(size);
  }
  row += before.size();
  std::vector<NodeRow> rows;
  for (size_t turn = from;; ++turn) {
    rows.push_back(static_cast<NodeRow>(row));
    if (turn + 1 == zones_[index].nodes.size()) return rows;
    // To the next turn pass the zones behind, and in it those before.
    row += 1 + behind.size();
    const auto has_none = [turn](size_t size) { return size <= turn + 1; };
    std::erase_if(before, has_none);
    std::erase_if(behind, has_none);
    row += before.size();
  }
}

std::vector<Symbol> NodeTree::List() const {
  std::vector<Symbol> nodes;
  nodes.reserve(zone_of_.size());
  for (size_t turn = 0; nodes.size() < zone_of_.size(); ++turn) {
    for (const Zone& zone : zones_) {
      if (turn < zone.nodes.size()) nodes.push_back(zone.nodes[turn]);
    }
  }
  return nodes;
}

}  // namespace berth
