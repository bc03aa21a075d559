// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_room.h.
#include "plugins/capacity_scheduling/pod_room.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "absl/algorithm/container.h"

namespace berth {

PodRoom::PodRoom(const VictimQuery& query, const VictimList& units)
    : query_(query), nodes_(query.handle.nodes()), units_(units) {
  query_.pod.requests().ForEach([this](ResourceId id, int64_t amount) {
    if (amount > 0 && query_.book.IsOfDevices(id)) of_devices_.push_back(id);
  });
}

bool PodRoom::IsOfDevices(ResourceId id) const { return absl::c_linear_search(of_devices_, id); }

// Whether the nominated pod counts on its node.
bool PodRoom::Counts(const PodInfo& nominated) const {
  std::optional<bool> by_rules;
  if (query_.nominations != nullptr) {
    by_rules = query_.nominations->NominationCountsFor(nominated, query_.pod);
  }
  return by_rules.value_or(nominated.priority() >= query_.pod.priority());
}

Deficit PodRoom::DeficitOf(NodeRow row) const {
  const NodeInfo& node = nodes_.node(row);
  std::vector<const PodInfo*> others;
  for (const auto& nominated : query_.handle.nominator().NominatedPods(node.name())) {
    if (nominated->uid() != query_.pod.uid() && Counts(*nominated)) {
      others.push_back(nominated.get());
    }
  }
  return Deficit(node, query_.pod, others, of_devices_);
}

bool PodRoom::Remove(int number, NodeRow row, Deficit& deficit) const {
  const VictimUnit& unit = units_.unit(number);
  const Symbol node = nodes_.node(row).name();
  bool helps = false;
  for (size_t i = 0; i < unit.pods.size(); ++i) {
    if (unit.nodes[i] == node) helps |= deficit.Remove(*unit.pods[i]);
  }
  return helps;
}

bool PodRoom::SumsHold(NodeRow row, const EvictedUnits& gone, int spared) const {
  Deficit deficit = DeficitOf(row);
  for (const int unit : gone.all()) {
    if (deficit.met()) return true;
    if (unit != spared) Remove(unit, row, deficit);
  }
  return deficit.met();
}

Status PodRoom::Filter(NodeRow row, const EvictedUnits& gone) const {
  const NodeInfo& original = nodes_.node(row);
  CycleState state = query_.state.Clone();
  std::map<NodeRow, NodeInfo> changed;
  NodeInfo& own = changed.emplace(row, original).first->second;
  for (const std::shared_ptr<const PodInfo>& pod : original.pods()) {
    if (!pod->deletion_time().has_value() || !own.RemovePod(*pod)) continue;
    if (Status status = query_.handle.RunPreFilterExtensionRemovePod(state, query_.pod, *pod, own);
        !status.ok()) {
      return status;
    }
  }
  for (const int unit : gone.all()) {
    const VictimUnit& of = units_.unit(unit);
    for (size_t i = 0; i < of.pods.size(); ++i) {
      const NodeRow other = nodes_.FindRow(of.nodes[i]);
      if (other < 0) continue;
      auto node = changed.find(other);
      if (node == changed.end()) node = changed.emplace(other, nodes_.node(other)).first;
      if (!node->second.RemovePod(*of.pods[i])) continue;
      if (Status status = query_.handle.RunPreFilterExtensionRemovePod(state, query_.pod,
                                                                       *of.pods[i], node->second);
          !status.ok()) {
        return status;
      }
    }
  }
  return query_.handle.RunFilterPluginsWithNominatedPods(state, query_.pod, own);
}

}  // namespace berth
