// SPDX-License-Identifier: Apache-2.0
// Implementation of device_selectors.h.
#include "berth/devices/device_selectors.h"

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "berth/devices/device_inventory.h"
#include "devices/compiled_selector.h"
#include "devices/offered_slice.h"

namespace berth {

namespace {

constexpr int64_t kMostVerdictsKept = int64_t{16} << 20;  // bytes

}  // namespace

class DeviceSelectors::Index {
 public:
  void Keep(absl::Span<const SlicePtr> slices) {
    absl::flat_hash_map<SlicePtr, std::unique_ptr<OfferedSlice>> kept;
    for (const SlicePtr& slice : slices) {
      const auto known = slices_.find(slice);
      if (known != slices_.end()) kept[slice] = std::move(known->second);
    }
    slices_ = std::move(kept);
    if (slices_.empty()) tally_.verdicts = 0;
  }

  bool AllMatch(const SlicePtr& slice, int device, absl::Span<const std::string> expressions) {
    std::unique_ptr<OfferedSlice>& parsed = slices_[slice];
    if (parsed == nullptr) parsed = std::make_unique<OfferedSlice>(slice, DeviceFeatures());
    if (tally_.verdicts > kMostVerdictsKept) Forget();
    return absl::c_all_of(expressions, [&](const std::string& expression) {
      const std::shared_ptr<const CompiledSelector> selector = compiler_.Compile(expression);
      return selector->selector().ok() &&
             parsed->Matches(*selector, device, tally_).value_or(false);
    });
  }

 private:
  void Forget() {
    for (const auto& [slice, parsed] : slices_) parsed->ForgetVerdicts();
    tally_.verdicts = 0;
  }

  DeviceInventory compiler_;  // of no slices
  OfferedSlice::Tally tally_;
  absl::flat_hash_map<SlicePtr, std::unique_ptr<OfferedSlice>> slices_;
};

DeviceSelectors::DeviceSelectors() : index_(std::make_unique<Index>()) {}
DeviceSelectors::~DeviceSelectors() = default;

void DeviceSelectors::Keep(absl::Span<const SlicePtr> slices) { index_->Keep(slices); }

bool DeviceSelectors::AllMatch(const SlicePtr& slice, int device,
                               absl::Span<const std::string> expressions) {
  return index_->AllMatch(slice, device, expressions);
}

}  // namespace berth
