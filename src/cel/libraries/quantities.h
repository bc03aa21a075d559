// SPDX-License-Identifier: Apache-2.0
// Quantities as values of expressions.
#ifndef BERTH_SRC_CEL_LIBRARIES_QUANTITIES_H_
#define BERTH_SRC_CEL_LIBRARIES_QUANTITIES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/quantity.h"
#include "cel/value.h"

namespace berth::cel {

// Where upstream keeps a quantity as an integer with a scale, value * 10^scale: only then it is an
// integer to expressions. That follows from how it was written: "1536Mi" is one, "1.5Gi" is none.
struct ScaledInteger {
  int64_t value = 0;
  int scale = 0;

  // Absent if it does not fit.
  std::optional<int64_t> AsInt() const;
  // Absent where upstream goes on with decimals of any length.
  std::optional<ScaledInteger> Plus(const ScaledInteger& other) const;
};

class QuantityValue final : public Opaque {
 public:
  static constexpr absl::string_view kTypeName = "kubernetes.Quantity";

  // Written as an API server stores it.
  explicit QuantityValue(const Quantity& quantity) : quantity_(quantity), is_canonical_(true) {}
  QuantityValue(const Quantity& quantity, std::optional<ScaledInteger> scaled)
      : quantity_(quantity), scaled_(scaled) {}
  static Value Make(const Quantity& quantity);
  static Value Make(const Quantity& quantity, std::optional<ScaledInteger> scaled);
  // Error: as Quantity::Parse().
  static absl::StatusOr<Value> Parse(absl::string_view text);

  const Quantity& quantity() const { return quantity_; }
  std::optional<ScaledInteger> scaled() const;
  absl::string_view type_name() const override { return kTypeName; }
  std::optional<bool> Equals(const Opaque& other) const override;

 private:
  Quantity quantity_;
  bool is_canonical_ = false;
  std::optional<ScaledInteger> scaled_;  // unless it is
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_LIBRARIES_QUANTITIES_H_
