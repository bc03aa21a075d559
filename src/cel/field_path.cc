// SPDX-License-Identifier: Apache-2.0
// Implementation of field_path.h.
#include "cel/field_path.h"

#include <algorithm>

namespace berth::cel {
namespace {

struct Declared {
  uint64_t most = 0;
  const Declared* key = nullptr;
  const Declared* element = nullptr;
};
// resource.k8s.io/v1: DriverNameMaxLength, DeviceMaxDomainLength, DeviceMaxIDLength,
// DeviceAttributeMaxValueLength, ResourceSliceMaxAttributesAndCapacitiesPerDevice.
constexpr Declared kDriver{63}, kDomain{63}, kId{32}, kAttribute{64}, kFlag{1}, kQuantity, kDevice;
constexpr Declared kAttributesOfDomain{32, &kId, &kAttribute};
constexpr Declared kAttributes{32, &kDomain, &kAttributesOfDomain};
constexpr Declared kCapacityOfDomain{32, &kId, &kQuantity};
constexpr Declared kCapacity{32, &kDomain, &kCapacityOfDomain};

const Declared* Find(const Declared& of, absl::string_view step) {
  if (step == "@items" || step == "@values") return of.element;
  if (step == "@keys") return of.key;
  if (&of == &kAttributesOfDomain) return &kAttribute;
  if (&of != &kDevice) return nullptr;
  if (step == "driver") return &kDriver;
  if (step == "attributes") return &kAttributes;
  if (step == "capacity") return &kCapacity;
  return step == "allowMultipleAllocations" ? &kFlag : nullptr;
}

}  // namespace

FieldPath FieldPath::Plus(absl::string_view step) const {
  FieldPath longer = *this;
  if (steps_ == nullptr || size_ == steps_->size()) {
    longer.steps_ = steps_ == nullptr ? std::make_shared<std::vector<std::string>>()
                                      : std::make_shared<std::vector<std::string>>(*steps_);
    longer.steps_->resize(std::max<size_t>(1, 2 * size_));
  }
  (*longer.steps_)[longer.size_++] = std::string(step);
  return longer;
}

std::optional<uint64_t> FieldPath::MostElementsOf(absl::string_view step) const {
  if (size_ == 0 || steps_->front() != "device") return std::nullopt;
  const Declared* declared = &kDevice;
  for (size_t i = 1; i < size_ && declared != nullptr; ++i)
    declared = Find(*declared, (*steps_)[i]);
  if (declared != nullptr && !step.empty()) declared = Find(*declared, step);
  if (declared == nullptr) return std::nullopt;
  return declared->most;
}

}  // namespace berth::cel
