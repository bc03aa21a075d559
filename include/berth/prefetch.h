// SPDX-License-Identifier: Apache-2.0
// Asking for memory before it is needed.
#ifndef BERTH_PREFETCH_H_
#define BERTH_PREFETCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>

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

class Identity;

// Optional, for a Cluster in memory. The pod is tried now (kValue) or next (kPlace): prefetches
// what the cluster knows of it. Called before every attempt, on the scheduling thread: returns
// almost at once.
class PrefetchingCluster {
 public:
  virtual ~PrefetchingCluster() = default;
  virtual void Prefetch(const Identity& pod, Fetch what) = 0;
};

}  // namespace berth

#endif  // BERTH_PREFETCH_H_
