// Whether what verdicts go by stays the same for long enough that to keep them pays.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_STABLE_INPUTS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_STABLE_INPUTS_H_

#include <algorithm>
#include <vector>

#include "framework/framework.h"

namespace berth {

// To take up other bases costs a look at all nodes. Those that come after bases that did not last
// are taken up once they have come several times in a row: twice, four times, up to 64 times. So
// bases that are others for each pod are soon left alone. Scheduling thread.
class StableInputs {
 public:
  using Bases = std::vector<Framework::PluginBasis>;

  // Grows when others are taken up.
  int version() const { return version_; }

  // A pod goes by `bases`. Returns whether they are those that are taken up, perhaps by now.
  bool Suit(const Bases& bases) {
    if (version_ > 0 && bases == bases_) {
      ++uses_;
      candidate_uses_ = 0;
      return true;
    }
    if (candidate_uses_ == 0 || !(bases == candidate_)) {
      candidate_ = bases;
      candidate_uses_ = 0;
    }
    if (++candidate_uses_ < needed_) return false;
    if (version_ > 0) needed_ = uses_ < kEnough ? std::min(2 * needed_, kMost) : 1;
    ++version_;
    bases_ = bases;
    uses_ = 1;
    candidate_uses_ = 0;
    return true;
  }

 private:
  static constexpr int kEnough = 16;  // uses that pay for a look at all nodes
  static constexpr int kMost = 64;

  int version_ = 0;
  Bases bases_, candidate_;  // taken up, and another one that came after it
  int uses_ = 0;             // of bases_
  int candidate_uses_ = 0;   // of candidate_, in a row
  int needed_ = 1;           // for taking it up
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_STABLE_INPUTS_H_
