// SPDX-License-Identifier: Apache-2.0
// What the cards of a node have left, for filling it with pods in thought.
#ifndef BERTH_PLUGINS_GPU_CARD_RUNS_H_
#define BERTH_PLUGINS_GPU_CARD_RUNS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace berth {

// The cards in order. Cards beside each other that have as much left are one run, and what is done
// costs the number of runs, not of cards: each call adds at most one.
class CardRuns {
 public:
  explicit CardRuns(absl::Span<const int64_t> left);

  // What the card has left that has the most; 0 without cards.
  int64_t most() const { return most_; }
  // Takes `milli`, which is not more than most(), of the card that has the least left of those that
  // have as much; of equal ones of the first.
  void TakeOfTightest(int64_t milli);
  // Takes `milli` of each of the first `cards` cards that have as much. Returns false, and takes
  // nothing, if there are not so many.
  bool TakeOfFirst(int64_t cards, int64_t milli);

 private:
  struct Run {
    int64_t left, cards;
  };
  void Take(size_t run, int64_t cards, int64_t milli);

  void FindMost();

  absl::InlinedVector<Run, 8> runs_;
  int64_t most_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_CARD_RUNS_H_
