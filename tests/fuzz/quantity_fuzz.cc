// SPDX-License-Identifier: Apache-2.0
// Quantities: whatever is read has a canonical form that reads back as the same amount.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/api/quantity.h"
#include "berth/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<berth::Quantity> quantity = berth::Quantity::Parse(text);
  if (!quantity.ok()) return 0;

  const std::string canonical = quantity->ToString();
  const absl::StatusOr<berth::Quantity> again = berth::Quantity::Parse(canonical);
  BERTH_CHECK(again.ok()) << text << " -> " << canonical << ": " << again.status();
  BERTH_CHECK(*again == *quantity) << text << " -> " << canonical;
  // "62.5Ki" is printed as 64000, which reads as a decimal quantity and is then printed as 64k.
  if (again->format() == quantity->format()) {
    BERTH_CHECK(again->ToString() == canonical) << text << " -> " << canonical;
  }
  BERTH_CHECK(again->Value() == quantity->Value() && again->MilliValue() == quantity->MilliValue());
  BERTH_CHECK(quantity->IsNegative() ? quantity->Value() < 0 : quantity->Value() >= 0);

  berth::Quantity twice = *quantity;
  twice.Add(*quantity);
  BERTH_CHECK(quantity->IsNegative() ? !(*quantity < twice) : !(twice < *quantity));
  berth::Quantity none = *quantity;
  none.Subtract(*quantity);
  BERTH_CHECK(none.IsZero() && none.ToString() == "0");
  return 0;
}
