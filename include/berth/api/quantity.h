// SPDX-License-Identifier: Apache-2.0
// Quantity: an amount of a resource as Kubernetes writes it ("100m", "1.5Gi", "2e3"), exact.
#ifndef BERTH_API_QUANTITY_H_
#define BERTH_API_QUANTITY_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth {

// A fixed-point number with nine decimal places and the notation it was written in. As apimachinery
// resource.Quantity: a finer fraction is rounded away from zero to a billionth; a binary quantity
// beyond 2^63-1 is capped there. Unlike it, a decimal quantity is capped too, at about 1.7e29, and
// Value() and MilliValue() saturate where upstream's wrap around or give 0.
class Quantity {
 public:
  enum class Format : uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  constexpr Quantity() = default;  // 0

  // Reads a sign, digits with an optional point, and a suffix n u m k M G T P E Ki Mi Gi Ti Pi Ei
  // or an exponent (e3, E-2). Error: InvalidArgument with upstream's text.
  static absl::StatusOr<Quantity> Parse(absl::string_view text);
  static Quantity FromValue(int64_t value, Format format = Format::kDecimalSI);
  static Quantity FromMilliValue(int64_t milli_value, Format format = Format::kDecimalSI);

  // The amount in whole units, and in thousandths: rounded away from zero, saturating at int64.
  int64_t Value() const;
  int64_t MilliValue() const;
  double AsDouble() const;

  Format format() const { return format_; }
  bool IsZero() const { return nanos_ == 0; }
  bool IsNegative() const { return nanos_ < 0; }

  // Adds; a zero takes the other's format. Saturates at the cap named above.
  void Add(const Quantity& other);
  void Subtract(const Quantity& other);

  // -1, 0 or 1. The format does not matter: "1" is "1000m".
  int Compare(const Quantity& other) const;
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend bool operator!=(const Quantity& a, const Quantity& b) { return a.nanos_ != b.nanos_; }
  friend bool operator<(const Quantity& a, const Quantity& b) { return a.nanos_ < b.nanos_; }

  // The canonical form: no fraction, the largest suffix that loses nothing ("1500m", "1536Mi").
  std::string ToString() const;
  friend std::ostream& operator<<(std::ostream& out, const Quantity& q);

 private:
  constexpr Quantity(absl::int128 nanos, Format format) : nanos_(nanos), format_(format) {}

  absl::int128 nanos_ = 0;
  Format format_ = Format::kDecimalSI;
};

}  // namespace berth

#endif  // BERTH_API_QUANTITY_H_
