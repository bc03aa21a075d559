// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT: the first asks for an end, the second is one.
#ifndef BERTH_SRC_PROCESS_TERMINATION_H_
#define BERTH_SRC_PROCESS_TERMINATION_H_

#include <functional>
#include <thread>

namespace berth {

// One at a time, made before what it ends.
class TerminationSignals {
 public:
  // `on_first` is called on a thread of its own; a second signal ends the process with status 1.
  explicit TerminationSignals(std::function<void()> on_first);
  // Signals are no longer caught: they end the process.
  ~TerminationSignals();

 private:
  std::thread thread_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_TERMINATION_H_
