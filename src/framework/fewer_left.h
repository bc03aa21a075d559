// Whether work that is done bit by bit may stop again.
#ifndef BERTH_SRC_FRAMEWORK_FEWER_LEFT_H_
#define BERTH_SRC_FRAMEWORK_FEWER_LEFT_H_

#include <cstddef>
#include <limits>

namespace berth {

// More may come to be done while it has stopped: it stops only if fewer are left than when it did
// before, so that it ends.
class FewerLeft {
 public:
  // With so many left. If it does not stop here it goes on to its end.
  bool MayStop(size_t left) {
    if (left >= at_last_stop_) return false;
    at_last_stop_ = left;
    return true;
  }
  // It was done.
  void Reset() { at_last_stop_ = kNever; }

 private:
  static constexpr size_t kNever = std::numeric_limits<size_t>::max();

  size_t at_last_stop_ = kNever;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FEWER_LEFT_H_
