// SPDX-License-Identifier: Apache-2.0
// Implementation of duplicate_keys.h.
#include "api/duplicate_keys.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

namespace berth {
namespace {

constexpr size_t kFew = 32;  // nearly all maps have no more keys

}  // namespace

void ForEachDuplicateKey(
    Value map, absl::FunctionRef<void(const Value::Item& item, SourceLocation first)> visit) {
  const Value::Items items = map.items();
  if (map.IsMap() && map.size() > kFew) {
    absl::flat_hash_map<absl::string_view, SourceLocation> first_of;
    for (const Value::Item& item : items) {
      const auto [first, is_new] = first_of.try_emplace(item.key, item.where);
      if (!is_new) visit(item, first->second);
    }
    return;
  }
  absl::InlinedVector<absl::string_view, kFew> keys;
  for (const Value::Item& item : items) {
    const auto first = std::find(keys.begin(), keys.end(), item.key);
    if (first != keys.end()) {
      visit(item, (*std::next(items.begin(), first - keys.begin())).where);
    }
    keys.push_back(item.key);
  }
}

}  // namespace berth
