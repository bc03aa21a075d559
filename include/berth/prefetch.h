// Asking for memory before it is needed.
#ifndef BERTH_PREFETCH_H_
#define BERTH_PREFETCH_H_

#include <cstddef>
#include <cstdint>

namespace berth {

// What to fetch of something that is found by way of a table: each needs what the one before has
// fetched, so they are asked for some work apart.
enum class Fetch { kPlace, kValue };

// Lets the processor fetch `object` into its cache while other work goes on. A hint: any pointer
// will do, null too.
template <class T>
void Prefetch(const T* object) {
#if defined(__GNUC__)
  constexpr size_t kLine = 64;
  const auto begin = reinterpret_cast<uintptr_t>(object);  // a pointer must not leave its object
  for (size_t offset = 0; offset < sizeof(T); offset += kLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(begin + offset));
  }
#else
  (void)object;
#endif
}

}  // namespace berth

#endif  // BERTH_PREFETCH_H_
