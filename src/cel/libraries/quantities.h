// SPDX-License-Identifier: Apache-2.0
// Quantities as values of expressions.
#ifndef BERTH_SRC_CEL_LIBRARIES_QUANTITIES_H_
#define BERTH_SRC_CEL_LIBRARIES_QUANTITIES_H_

#include <optional>

#include "berth/api/quantity.h"
#include "cel/value.h"

namespace berth::cel {

class QuantityValue final : public Opaque {
 public:
  static constexpr absl::string_view kTypeName = "kubernetes.Quantity";

  explicit QuantityValue(const Quantity& quantity) : quantity_(quantity) {}
  static Value Make(const Quantity& quantity);

  const Quantity& quantity() const { return quantity_; }
  absl::string_view type_name() const override { return kTypeName; }
  std::optional<bool> Equals(const Opaque& other) const override;

 private:
  Quantity quantity_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_LIBRARIES_QUANTITIES_H_
