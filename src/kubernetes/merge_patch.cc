// SPDX-License-Identifier: Apache-2.0
// Implementation of merge_patch.h.
#include "kubernetes/merge_patch.h"

#include <algorithm>

namespace berth {
namespace {

// The order of keys does not count.
bool SameValue(Value a, Value b) {
  if (a.kind() != b.kind() || a.size() != b.size()) return false;
  if (a.IsMap()) {
    const Value::Items items = a.items();
    return std::all_of(items.begin(), items.end(), [&](const Value::Item& item) {
      const Value other = b.Find(item.key);
      return other && SameValue(item.value, other);
    });
  }
  if (a.IsSequence()) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (!SameValue(a.elements()[i], b.elements()[i])) return false;
    }
    return true;
  }
  return a.text() == b.text();
}

}  // namespace

void WriteMergePatch(Value before, Value after, JsonWriter& out) {
  out.BeginObject();
  for (const Value::Item& item : before.items()) {
    if (!after.Find(item.key)) out.Key(item.key).Null();
  }
  for (const Value::Item& item : after.items()) {
    const Value old = before.Find(item.key);
    if (old && SameValue(old, item.value)) continue;
    out.Key(item.key);
    if (item.value.IsMap() && old.IsMap()) {
      WriteMergePatch(old, item.value, out);
    } else {
      WriteValue(item.value, out);
    }
  }
  out.EndObject();
}

}  // namespace berth
