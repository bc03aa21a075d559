// SPDX-License-Identifier: Apache-2.0
// A selector of devices, compiled, with a number for what is cached of it.
#ifndef BERTH_SRC_DEVICES_COMPILED_SELECTOR_H_
#define BERTH_SRC_DEVICES_COMPILED_SELECTOR_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "cel/device_selector.h"

namespace berth {

class CompiledSelector {
 public:
  CompiledSelector(uint64_t id, absl::StatusOr<cel::DeviceSelector> selector)
      : id_(id), selector_(std::move(selector)) {}

  uint64_t id() const { return id_; }  // each expression has its own
  // An error has the text that follows "CEL compile error: ".
  const absl::StatusOr<cel::DeviceSelector>& selector() const { return selector_; }

 private:
  const uint64_t id_;
  const absl::StatusOr<cel::DeviceSelector> selector_;
};

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_COMPILED_SELECTOR_H_
