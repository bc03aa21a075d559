// SPDX-License-Identifier: Apache-2.0
// Implementation of nodes_by_devices.h.
#include "plugins/dynamic_resources/nodes_by_devices.h"

#include <utility>

namespace berth {
namespace {

// If nodes are in more classes, few of them are alike: the others are in none.
constexpr size_t kMostClasses = size_t{1} << 14;

}  // namespace

uint64_t NodesByDevices::ClassOf(const NodeInfo& node) {
  const MutexLock lock(mutex_);
  return Find(node).in_class;
}

NodesByDevices::Entry& NodesByDevices::Find(const NodeInfo& node) {
  const uint64_t version = devices_.NodeVersion(node.name());
  const auto [found, is_new] = of_node_.try_emplace(node.name());
  Entry& entry = found->second;
  if (!is_new && entry.version == version && entry.node == node.shared_spec()) return entry;
  const std::optional<std::string> devices = DevicesAsRead(
      fields_, devices_.inventory(),
      [this](const DeviceId& device) { return devices_.Holds(device); }, node.name(),
      node.labels());
  entry.version = version;
  entry.node = node.shared_spec();
  entry.in_class = kNone;  // while unused classes are looked for
  if (devices.has_value()) entry.in_class = ClassNamed(*devices);
  return entry;
}

uint64_t NodesByDevices::ClassNamed(const std::string& devices) {
  const auto known = classes_.find(devices);
  if (known != classes_.end()) return known->second;
  if (classes_.size() >= kMostClasses) {
    if (refusals_ > 0) {
      --refusals_;
      return kNone;
    }
    DropUnused();
    if (classes_.size() > kMostClasses / 2) refusals_ = kMostClasses / 2;
    if (classes_.size() >= kMostClasses) return kNone;
  }
  classes_.emplace(devices, ++latest_);
  return latest_;
}

void NodesByDevices::DropUnused() {
  absl::flat_hash_set<uint64_t> used;
  for (const auto& [name, entry] : of_node_) used.insert(entry.in_class);
  absl::erase_if(classes_, [&](const auto& one) { return !used.contains(one.second); });
}

// --- Which classes nodes are in ------------------------------------------------------------------

std::vector<uint64_t> NodesByDevices::ClassesOfRows(const NodeTable& nodes,
                                                    absl::Span<const NodeRow> rows) {
  const MutexLock lock(mutex_);
  CountChanges(nodes);
  std::vector<uint64_t> classes;
  classes.reserve(rows.size());
  for (const NodeRow row : rows) classes.push_back(of_row_[row]);
  return classes;
}

std::optional<std::vector<NodesByDevices::Class>> NodesByDevices::ClassesOf(const NodeTable& nodes,
                                                                            size_t most) {
  const MutexLock lock(mutex_);
  CountChanges(nodes);
  if (nodes_in_.contains(kNone) || nodes_in_.size() > most) return std::nullopt;
  std::vector<Class> classes;
  classes.reserve(nodes_in_.size());
  for (const auto& [number, members] : nodes_in_) classes.push_back({number, *members.begin()});
  return classes;
}

void NodesByDevices::CountChanges(const NodeTable& nodes) {
  const bool is_same_table = std::exchange(table_, nodes.id()) == nodes.id();
  const bool is_same_order =
      std::exchange(order_version_, nodes.order_version()) == nodes.order_version();
  const auto changed_rows = nodes.ChangesSince(std::exchange(table_version_, nodes.version()));
  const auto changed_nodes =
      devices_.ChangesSince(std::exchange(devices_version_, devices_.version()));
  if (!is_same_table || !is_same_order || !changed_rows.has_value() || !changed_nodes.has_value()) {
    return CountAll(nodes);
  }
  for (const RowChange& changed : *changed_rows) {
    if ((changed.aspects & Aspect::kOfNodeObject) != 0) Count(nodes, changed.row);
  }
  for (const Symbol changed : *changed_nodes) {
    const NodeRow row = nodes.FindRow(changed);
    if (row >= 0) Count(nodes, row);
  }
}

void NodesByDevices::CountAll(const NodeTable& nodes) {
  nodes_in_.clear();
  of_row_.resize(nodes.size());
  absl::erase_if(of_node_, [&](const auto& one) { return nodes.FindRow(one.first) < 0; });
  for (auto& [name, entry] : of_node_) entry.is_counted = false;
  for (NodeRow row = 0; row < nodes.size(); ++row) Count(nodes, row);
}

void NodesByDevices::Count(const NodeTable& nodes, NodeRow row) {
  const NodeInfo& node = nodes.node(row);
  Entry& entry = Find(node);
  of_row_[row] = entry.in_class;
  if (entry.is_counted) {
    if (entry.counted_in == entry.in_class) return;
    const auto before = nodes_in_.find(entry.counted_in);
    before->second.erase(node.name());
    if (before->second.empty()) nodes_in_.erase(before);
  }
  entry.is_counted = true;
  entry.counted_in = entry.in_class;
  nodes_in_[entry.in_class].insert(node.name());
}

}  // namespace berth
