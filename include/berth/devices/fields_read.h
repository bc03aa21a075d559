// SPDX-License-Identifier: Apache-2.0
// What claims read of devices, and nodes whose devices are the same to them.
#ifndef BERTH_DEVICES_FIELDS_READ_H_
#define BERTH_DEVICES_FIELDS_READ_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/api/symbol.h"
#include "berth/devices/claim_to_allocate.h"
#include "berth/devices/device_id.h"
#include "berth/devices/device_inventory.h"

namespace berth {

// Attributes and capacities that selectors and constraints of claims may read: "domain/name", in
// ascending order, each once.
struct FieldsRead {
  bool all = false;  // a selector reads them in a way that does not say which
  std::vector<std::string> attributes, capacities;

  friend bool operator==(const FieldsRead&, const FieldsRead&) = default;
};

FieldsRead FieldsReadBy(absl::Span<const ClaimToAllocate> claims);

// The devices of a node, as far as claims that read `fields` can tell, as a text. On nodes with the
// same text AllocateDevices() with DeviceScoring::kFirstFit has the same outcome, in as many steps,
// and takes devices that stand in the same places; or it has an error on all of them. Names of
// devices, pools and slices are not in it. Absent where more counts: counters, taints, shared
// devices, and with DRAConsumableCapacity.
std::optional<std::string> DevicesAsRead(const FieldsRead& fields, const DeviceInventory& inventory,
                                         absl::FunctionRef<bool(const DeviceId&)> is_held,
                                         Symbol node_name, const LabelSet& node_labels);

}  // namespace berth

#endif  // BERTH_DEVICES_FIELDS_READ_H_
