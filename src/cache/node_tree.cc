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

bool NodeTree::Set(const NodeSpec& node) {
  std::string key = ZoneKey(node);
  const auto known = zone_of_.find(node.name);
  if (known != zone_of_.end()) {
    if (known->second == key) return false;
    Remove(node.name);
  }
  auto zone =
      std::find_if(zones_.begin(), zones_.end(), [&](const Zone& z) { return z.key == key; });
  if (zone == zones_.end()) zone = zones_.insert(zones_.end(), Zone{key, {}});
  zone->nodes.push_back(node.name);
  zone_of_[node.name] = std::move(key);
  return true;
}

bool NodeTree::Remove(Symbol name) {
  const auto known = zone_of_.find(name);
  if (known == zone_of_.end()) return false;
  const auto zone = std::find_if(zones_.begin(), zones_.end(),
                                 [&](const Zone& z) { return z.key == known->second; });
  zone->nodes.erase(std::find(zone->nodes.begin(), zone->nodes.end(), name));
  if (zone->nodes.empty()) zones_.erase(zone);
  zone_of_.erase(known);
  return true;
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
