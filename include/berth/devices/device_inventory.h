// SPDX-License-Identifier: Apache-2.0
// The devices of a cluster as ResourceSlices offer them, and what selectors say of them.
#ifndef BERTH_DEVICES_DEVICE_INVENTORY_H_
#define BERTH_DEVICES_DEVICE_INVENTORY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"
#include "berth/devices/device_features.h"
#include "berth/devices/device_id.h"

namespace berth {

class CompiledSelector;
class OfferedSlice;
struct OfferedDevice;

// The devices of one pool that a node can use.
struct NodePool {
  Symbol driver, name;
  // Not all slices of the generation are there: its driver is about to change it.
  bool incomplete = false;
  // How many are there, for all nodes together, and how many the pool says that it has.
  int64_t slices_there = 0, slices_wanted = 0;
  // Two devices have one name, or what is consumed is of no counter that there is.
  bool invalid = false;
  std::vector<std::shared_ptr<const OfferedSlice>> slices;  // by name
  // With DRAPartitionableDevices, of a pool with counters: the slices that have these, and those
  // with devices for other nodes, which consume them, too.
  std::vector<std::shared_ptr<const OfferedSlice>> counters, others;

  std::string ToString() const;  // "driver/name"
};

// For which nodes something changed.
struct AffectedNodes {
  bool all = false;  // or so many that they are not listed
  std::vector<Symbol> names;
};

// Indexes slices by the nodes that they are for, and caches the result of a selector on a device
// until its slice changes. As kube-scheduler v1.35 dynamic-resource-allocation/structured
// GatherPools.
//
// Threads: what sets or removes must be alone, the others may run at once.
class DeviceInventory {
 public:
  DeviceInventory();
  ~DeviceInventory();

  // Before the first slice.
  void SetFeatures(const DeviceFeatures& features);
  const DeviceFeatures& features() const;

  // Adds the slice, or replaces the one of its name. Returns the nodes whose pools may be others
  // now.
  AffectedNodes SetSlice(std::shared_ptr<const api::ResourceSlice> slice);
  AffectedNodes RemoveSlice(absl::string_view name);

  // With DRADeviceTaintRules: the devices that the rule selects have its taint besides their own,
  // as long as there is a rule of that name. Returns the nodes whose devices have others now.
  AffectedNodes SetTaintRule(std::shared_ptr<const api::DeviceTaintRule> rule);
  AffectedNodes RemoveTaintRule(absl::string_view name);

  // The nodes that can use the device.
  AffectedNodes NodesOf(const DeviceId& device) const;

  // The pools of a node, by driver and name. A pool of which a newer generation exists for other
  // nodes is left out. An error if the node selector of a slice cannot be read.
  absl::StatusOr<std::vector<NodePool>> PoolsOf(Symbol node_name, const LabelSet& labels) const;

  // The value of an attribute ("domain/name"; the domain may be left out if it is the driver) as
  // text; absent if the device has none, or is not there.
  std::optional<std::string> AttributeOf(const DeviceId& device, absl::string_view name) const;

  // The selector of that expression, compiled once.
  std::shared_ptr<const CompiledSelector> Compile(absl::string_view expression);
  // Whether the selector, which compiled, matches a device of a pool. An error has the text that
  // follows "CEL runtime error: ".
  absl::StatusOr<bool> Matches(const CompiledSelector& selector, const OfferedDevice& device) const;

  // How often a selector was evaluated: once for each device and expression, while slices stay, and
  // what it cost in units of CEL. Verdicts are forgotten when they take more than 64 MiB.
  int64_t evaluations() const;
  int64_t evaluation_cost() const;

 private:
  class Index;
  const std::unique_ptr<Index> index_;
};

}  // namespace berth

#endif  // BERTH_DEVICES_DEVICE_INVENTORY_H_
