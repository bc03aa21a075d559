// SPDX-License-Identifier: Apache-2.0
// What a selector sees of a device.
#ifndef BERTH_SRC_CEL_DEVICE_H_
#define BERTH_SRC_CEL_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "berth/api/quantity.h"

namespace berth::cel {

class Value;

// The text of an attribute of type version.
struct Version {
  std::string text;
};

using Attribute = std::variant<int64_t, bool, std::string, Version>;

// A device as it stands in a ResourceSlice. Names are "name", which belongs to the domain of the
// driver, or "domain/name".
struct DeviceFields {
  std::string driver;
  bool allow_multiple_allocations = false;
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::vector<std::pair<std::string, Quantity>> capacity;
};

// The same, parsed once, for any number of selectors. Immutable and cheap to copy; any thread may
// read it.
class Device {
 public:
  explicit Device(const DeviceFields& fields);

  // Not OK if an attribute could not be read (a version that is none): no selector can be asked
  // then.
  const absl::Status& status() const { return status_; }
  // The variable `device`.
  const Value& value() const { return *value_; }

 private:
  absl::Status status_;
  std::shared_ptr<const Value> value_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_DEVICE_H_
