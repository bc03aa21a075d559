// SPDX-License-Identifier: Apache-2.0
// Equality of values of any types.
#ifndef BERTH_SRC_CEL_EQUALITY_H_
#define BERTH_SRC_CEL_EQUALITY_H_

#include "cel/budget.h"
#include "cel/value.h"

namespace berth::cel {

// A bool, or the error that there is no equality: what a library brings compares with its own type
// only. Numbers are equal if their amounts are. In lists and maps, as in cel-go, what cannot be
// compared counts as equal.
Value Equal(const Value& a, const Value& b, Budget& budget);

// Whether `list` has an element that equals `value`.
bool Contains(const std::vector<Value>& list, const Value& value, Budget& budget);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_EQUALITY_H_
