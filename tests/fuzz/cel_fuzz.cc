// SPDX-License-Identifier: Apache-2.0
// Selectors of devices: whatever is written, reading and asking it ends, and gives the same twice.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/check.h"
#include "cel/device_selector.h"

namespace {

using berth::cel::Device;
using berth::cel::DeviceSelector;

const Device& Gpu() {
  static const Device& device =
      *new Device({.driver = "gpu.example.com",
                   .attributes = {{"model", "A100-SXM4-80GB"},
                                  {"index", int64_t{1}},
                                  {"ecc", true},
                                  {"driverVersion", berth::cel::Version{"550.54.15"}},
                                  {"nic.example.com/address", "10.2.0.7"}},
                   .capacity = {{"memory", *berth::Quantity::Parse("80Gi")}}});
  return device;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<DeviceSelector> selector = DeviceSelector::Compile(text);
  const absl::Status validity = berth::cel::ValidateSelector(text);
  if (!selector.ok()) {
    BERTH_CHECK(!selector.status().message().empty() && !validity.ok()) << text;
    return 0;
  }
  uint64_t cost = 0, again_cost = 0;
  const absl::StatusOr<bool> matches = selector->Matches(Gpu(), &cost);
  const absl::StatusOr<bool> again = selector->Matches(Gpu(), &again_cost);
  BERTH_CHECK(matches.ok() == again.ok() && cost == again_cost) << text;
  BERTH_CHECK(!matches.ok() || *matches == *again) << text;
  return 0;
}
