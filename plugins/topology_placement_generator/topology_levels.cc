// SPDX-License-Identifier: Apache-2.0
// Implementation of topology_levels.h.
#include "plugins/topology_placement_generator/topology_levels.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/string_view.h"
#include "berth/api/kai_scheduler.pb.h"
#include "berth/api/kueue_x_k8s_io.pb.h"
#include "berth/api/scheduling_koordinator_sh.pb.h"

namespace berth {
namespace {

constexpr Kind kTopologyKinds[] = {Kind::kKueueTopology, Kind::kKaiTopology,
                                   Kind::kClusterNetworkTopology};

template <class Topology, class Hierarchy>
Hierarchy ByLabels(const Topology& topology) {
  Hierarchy levels;
  for (const auto& level : topology.spec().levels()) {
    if (!level.node_label().empty()) levels.push_back({"", Symbol::Intern(level.node_label())});
  }
  return levels;
}

// Koordinator's layers stand in any order and name the one above. Of a layer with several labels
// the first counts; the layer of nodes has none, as each node is one by itself.
template <class Hierarchy>
Hierarchy ByLayers(const api::ClusterNetworkTopology& topology) {
  Hierarchy levels;
  std::set<std::string> seen;
  std::string above;
  for (bool found = true; found;) {
    found = false;
    for (const api::NetworkTopologyLayer& layer : topology.spec().network_topology_spec()) {
      if (layer.parent_topology_layer() != above || !seen.insert(layer.topology_layer()).second) {
        continue;
      }
      const std::string key =
          layer.label_key().empty() ? "kubernetes.io/hostname" : layer.label_key(0);
      levels.push_back({layer.topology_layer(), Symbol::Intern(key)});
      above = layer.topology_layer();
      found = true;
      break;
    }
  }
  return levels;
}

}  // namespace

absl::Span<const Kind> TopologyLevels::Kinds() { return kTopologyKinds; }

TopologyLevels::TopologyLevels(std::vector<std::string> levels, Handle& handle)
    : handle_(handle), of_arguments_([&] {
        Hierarchy own;
        for (const std::string& key : levels) own.push_back({"", Symbol::Intern(key)});
        return own;
      }()) {
  for (const Kind kind : Kinds()) handle_.Watch(kind);
}

void TopologyLevels::Update() {
  const ObjectStore& objects = handle_.objects();
  std::vector<uint64_t> versions;
  for (const Kind kind : Kinds()) versions.push_back(objects.version(kind));
  if (versions == versions_) return;
  versions_ = std::move(versions);
  hierarchies_ = {of_arguments_};
  for (const Kind kind : Kinds()) {
    std::vector<const Object*> topologies;
    for (const Object* object : objects.List(kind)) topologies.push_back(object);
    std::sort(topologies.begin(), topologies.end(),
              [](const Object* a, const Object* b) { return a->name() < b->name(); });
    for (const Object* object : topologies) {
      if (kind == Kind::kKueueTopology) {
        hierarchies_.push_back(
            ByLabels<api::KueueTopology, Hierarchy>(object->As<api::KueueTopology>()));
      } else if (kind == Kind::kKaiTopology) {
        hierarchies_.push_back(
            ByLabels<api::KaiTopology, Hierarchy>(object->As<api::KaiTopology>()));
      } else {
        hierarchies_.push_back(ByLayers<Hierarchy>(object->As<api::ClusterNetworkTopology>()));
      }
    }
  }
}

LevelPath TopologyLevels::PathOf(absl::string_view level) {
  Update();
  for (const Hierarchy& hierarchy : hierarchies_) {
    const auto found = std::find_if(hierarchy.begin(), hierarchy.end(), [&](const Level& one) {
      return one.key.view() == level || one.name == level;
    });
    if (found == hierarchy.end()) continue;
    LevelPath path;
    for (auto above = hierarchy.begin(); above <= found; ++above) path.push_back(above->key);
    return path;
  }
  return {Symbol::Intern(level)};
}

}  // namespace berth
