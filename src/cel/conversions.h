// SPDX-License-Identifier: Apache-2.0
// Conversions between types: int(x), string(x), …
#ifndef BERTH_SRC_CEL_CONVERSIONS_H_
#define BERTH_SRC_CEL_CONVERSIONS_H_

#include "absl/time/time.h"
#include "cel/value.h"

namespace berth::cel {

// Each gives the value as the type, or an error: it does not fit, is not written like one, or there
// is no such conversion.
Value ToBool(const Value& value);
Value ToInt(const Value& value);
Value ToUint(const Value& value);
Value ToDouble(const Value& value);
Value ToString(const Value& value);
Value ToBytes(const Value& value);
Value ToDuration(const Value& value);
Value ToTimestamp(const Value& value);

// A timestamp of the years 1 to 9999, or an error.
Value CheckTimestamp(absl::Time time, int offset_seconds);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_CONVERSIONS_H_
