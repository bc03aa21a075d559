// SPDX-License-Identifier: Apache-2.0
// Implementation of card_runs.h.
#include "plugins/gpu/card_runs.h"

#include <algorithm>
#include <cstddef>

namespace berth {

CardRuns::CardRuns(absl::Span<const int64_t> left) {
  for (const int64_t card : left) {
    if (!runs_.empty() && runs_.back().left == card) {
      ++runs_.back().cards;
    } else {
      runs_.push_back({card, 1});
    }
  }
  FindMost();
}

void CardRuns::FindMost() {
  most_ = runs_.empty() ? 0 : runs_.front().left;
  for (const Run& run : runs_) most_ = std::max(most_, run.left);
}

void CardRuns::TakeOfTightest(int64_t milli) {
  size_t tightest = runs_.size();
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].left < milli) continue;
    if (tightest == runs_.size() || runs_[i].left < runs_[tightest].left) tightest = i;
  }
  Take(tightest, 1, milli);
}

bool CardRuns::TakeOfFirst(int64_t cards, int64_t milli) {
  int64_t missing = cards;
  for (auto run = runs_.begin(); run != runs_.end() && missing > 0; ++run) {
    if (run->left >= milli) missing -= run->cards;
  }
  if (missing > 0) return false;
  for (size_t i = 0; cards > 0; ++i) {
    if (runs_[i].left < milli) continue;
    const int64_t taken = std::min(cards, runs_[i].cards);
    Take(i, taken, milli);  // a run that is taken from in part is the last
    cards -= taken;
  }
  return true;
}

// Of the first cards of the run.
void CardRuns::Take(size_t run, int64_t cards, int64_t milli) {
  const int64_t left = runs_[run].left - milli;
  if (runs_[run].cards == cards) {
    const bool had_most = runs_[run].left == most_;
    runs_[run].left = left;
    if (had_most) FindMost();
    return;
  }
  runs_[run].cards -= cards;
  if (run > 0 && runs_[run - 1].left == left) {
    runs_[run - 1].cards += cards;
  } else {
    runs_.insert(runs_.begin() + static_cast<ptrdiff_t>(run), {left, cards});
  }
}

}  // namespace berth
