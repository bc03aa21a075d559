// SPDX-License-Identifier: Apache-2.0
// Whether the inputs of verdicts stay the same for so long that it pays to cache these.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_STABLE_INPUTS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_STABLE_INPUTS_H_

#include <algorithm>
#include <vector>

#include "framework/verdict_dependencies.h"

namespace berth {

// To adopt other inputs costs a look at all nodes. Those that come after inputs that did not last
// are adopted once they have come several times in a row: twice, four times, up to 64 times. So
// inputs that differ from pod to pod are soon left alone. Scheduling thread.
class StableInputs {
 public:
  using Inputs = std::vector<PluginInputs>;

  // Grows when others are adopted.
  int version() const { return version_; }

  // The verdicts on a pod depend on `inputs`. Returns whether they are those that are adopted,
  // perhaps just now.
  bool AreStable(const Inputs& inputs) {
    if (version_ > 0 && inputs == inputs_) {
      ++uses_;
      candidate_uses_ = 0;
      return true;
    }
    if (candidate_uses_ == 0 || !(inputs == candidate_)) {
      candidate_ = inputs;
      candidate_uses_ = 0;
    }
    if (++candidate_uses_ < needed_) return false;
    if (version_ > 0) needed_ = uses_ < kEnough ? std::min(2 * needed_, kMost) : 1;
    ++version_;
    inputs_ = inputs;
    uses_ = 1;
    candidate_uses_ = 0;
    return true;
  }

 private:
  static constexpr int kEnough = 16;  // uses that pay for a look at all nodes
  static constexpr int kMost = 64;

  int version_ = 0;
  Inputs inputs_, candidate_;  // adopted, and others that came after them
  int uses_ = 0;               // of inputs_
  int candidate_uses_ = 0;     // of candidate_, in a row
  int needed_ = 1;             // for adopting it
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_STABLE_INPUTS_H_
