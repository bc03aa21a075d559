// SPDX-License-Identifier: Apache-2.0
// BERTH_CHECK and BERTH_DCHECK: end the process when an invariant of Berth's own is broken. Wrong
// input is never such a case; it is reported as a status or a Problem.
#ifndef BERTH_CHECK_H_
#define BERTH_CHECK_H_

#include <sstream>

namespace berth::internal {

// Collects the text of a failed check and aborts at the end of the full expression.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();

  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Gives the streaming expression the type void, so that both arms of the conditional agree.
struct CheckVoid {
  void operator&(std::ostream&) const {}
};

}  // namespace berth::internal

// BERTH_CHECK(rows == n) << "table " << name;  Evaluated in every build.
#define BERTH_CHECK(condition)                   \
  (condition) ? static_cast<void>(0)             \
              : ::berth::internal::CheckVoid() & \
                    ::berth::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

// BERTH_CHECK for hot loops: evaluated only in builds without NDEBUG, always compiled.
#ifdef NDEBUG
#define BERTH_DCHECK(condition) \
  while (false) BERTH_CHECK(condition)
#else
#define BERTH_DCHECK(condition) BERTH_CHECK(condition)
#endif

#endif  // BERTH_CHECK_H_
