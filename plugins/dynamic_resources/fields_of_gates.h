// SPDX-License-Identifier: Apache-2.0
// Fields of slices, claims and classes that are ignored while a feature gate is off.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_FIELDS_OF_GATES_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_FIELDS_OF_GATES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/api/object.h"
#include "berth/devices/device_features.h"
#include "berth/extensions/unread_fields.h"
#include "berth/handle/object_store.h"

namespace berth {

// One for each gate that is off and would change what the object means. Not capacity requests that
// are an error of their claim.
std::vector<UnreadField> FieldsOfGatesThatAreOff(const DeviceFeatures& features,
                                                 const Object& object);

// Whether any slice has such fields; remembered as long as slices stay. Scheduling thread.
class FieldsOfGatesInSlices {
 public:
  bool Any(const DeviceFeatures& features, const ObjectStore& objects);

 private:
  std::optional<uint64_t> version_;
  bool any_ = false;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_FIELDS_OF_GATES_H_
