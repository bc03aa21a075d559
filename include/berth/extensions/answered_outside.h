// SPDX-License-Identifier: Apache-2.0
// Permit plugins whose answer comes from outside the scheduler.
#ifndef BERTH_EXTENSIONS_ANSWERED_OUTSIDE_H_
#define BERTH_EXTENSIONS_ANSWERED_OUTSIDE_H_

namespace berth {

// Optional, a mark of a Permit plugin: a pod that it holds back is allowed or rejected by something
// that knows no simulated time, such as another process. While such a pod waits, a simulation lets
// time pass as it really does.
class AnsweredOutside {
 public:
  virtual ~AnsweredOutside() = default;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_ANSWERED_OUTSIDE_H_
