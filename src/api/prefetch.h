// SPDX-License-Identifier: Apache-2.0
// Asking for memory before it is needed.
#ifndef BERTH_SRC_API_PREFETCH_H_
#define BERTH_SRC_API_PREFETCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "berth/api/identity.h"
#include "berth/api/identity_map.h"
#include "berth/api/segmented_map.h"

namespace berth {

// What to fetch of something that is found by way of a table: each needs what the one before has
// fetched, so they are asked for some work apart.
enum class Fetch { kPlace, kValue };

// GCC takes a function that only prefetches for one that does nothing, and leaves out calls of it.
// One that calls this does something.
inline void KeepPrefetchArguments() {
#if defined(__GNUC__)
  __asm__ volatile("");
#endif
}

// Prefetches `object`, and what lies right `before` it, while other work goes on. A hint: any
// pointer will do, null too.
template <class T>
void Prefetch(const T* object, size_t before = 0) {
  KeepPrefetchArguments();
#if defined(__GNUC__)
  constexpr size_t kLine = 64;
  const auto begin = reinterpret_cast<uintptr_t>(object) - before;  // a pointer must not leave it
  for (size_t offset = 0; offset < sizeof(T) + before; offset += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(begin + offset));
  }
#else
  (void)object;
  (void)before;
#endif
}

// Prefetches an object that is in one piece with its reference count, which comes first.
template <class T>
void Prefetch(const std::shared_ptr<T>& object) {
  constexpr size_t kCount = 16;
  Prefetch(object.get(), kCount);
}

// The same of what a map knows of a key: a friend of SegmentedMap and IdentityMap.
struct MapPrefetcher {
  // What Find() will look at.
  template <class Key, class Value>
  static void Prefetch(const SegmentedMap<Key, Value>& map, const Key& key) {
    KeepPrefetchArguments();
    map.TableOf(key).prefetch(key);
  }
  // Where the entry is found, then the entry. By the hash alone: comparing names would wait for
  // them.
  template <class Value, class By>
  static void Prefetch(const IdentityMap<Value, By>& map, const ObjectRef<By>& ref, Fetch what) {
    using Map = IdentityMap<Value, By>;
    const auto& table = map.tables_[Map::TableOf(ref.hash())];
    if (what == Fetch::kPlace) {
      KeepPrefetchArguments();
      return table.prefetch(ref);
    }
    const auto it = table.find(typename Map::Hash{ref.hash()});
    if (it != table.end()) berth::Prefetch(it->entry.get());
  }
};

}  // namespace berth

#endif  // BERTH_SRC_API_PREFETCH_H_
