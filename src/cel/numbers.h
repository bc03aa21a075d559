// SPDX-License-Identifier: Apache-2.0
// Arithmetic that notices overflow, and numbers as Go prints them.
#ifndef BERTH_SRC_CEL_NUMBERS_H_
#define BERTH_SRC_CEL_NUMBERS_H_

#include <string>

#include "cel/value.h"

namespace berth::cel {

// For numbers of the same kind, times and durations, and, for +, strings and bytes. Else, and
// on overflow, an error.
Value Add(const Value& a, const Value& b);
Value Subtract(const Value& a, const Value& b);
Value Multiply(const Value& a, const Value& b);
Value Divide(const Value& a, const Value& b);
Value Modulo(const Value& a, const Value& b);
Value Negate(const Value& a);

// As fmt's %g: "1.5", "1e+06", "NaN", "+Inf".
std::string DoubleToString(double d);
// The shortest decimal form without an exponent, as strconv.FormatFloat(d, 'f', -1, 64).
std::string DoubleToDecimal(double d);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_NUMBERS_H_
