// SPDX-License-Identifier: Apache-2.0
// The places of nominated pods that give way in one plan.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_TAKEN_PLACES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_TAKEN_PLACES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/preemption/victim_rules.h"

namespace berth {

// Pods that are nominated and do not run are gone in the trial as long as this lives, or until they
// are given back. Scheduling thread.
class TakenPlaces {
 public:
  // Both outlive this.
  TakenPlaces(const Handle& handle, VictimTrial& trial) : handle_(handle), trial_(trial) {}
  ~TakenPlaces() {
    for (const VictimUnit& place : taken_) trial_.Spare(place);
  }
  TakenPlaces(const TakenPlaces&) = delete;
  TakenPlaces& operator=(const TakenPlaces&) = delete;

  // The nominations of these end, in this order. Returns whether there are any.
  bool Take(absl::Span<const VictimUnit> places);
  // Gives back those without which `holds` is still true, the most important first; but no part of
  // a gang that could not start with what it gets back.
  void GiveBackNeedless(absl::FunctionRef<bool()> holds);

  bool empty() const { return taken_.empty(); }
  size_t size() const { return taken_.size(); }
  // Whether one of them was there.
  bool AnyOn(NodeRow row) const { return rows_.contains(row); }
  void AppendPods(std::vector<std::shared_ptr<const PodInfo>>& pods) const;

 private:
  bool LeavesGangWhole(const std::string& group) const;

  const Handle& handle_;
  VictimTrial& trial_;
  std::vector<VictimUnit> taken_;
  absl::flat_hash_set<NodeRow> rows_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_TAKEN_PLACES_H_
