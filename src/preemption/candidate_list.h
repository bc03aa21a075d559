// SPDX-License-Identifier: Apache-2.0
// The candidates that a search has found.
#ifndef BERTH_SRC_PREEMPTION_CANDIDATE_LIST_H_
#define BERTH_SRC_PREEMPTION_CANDIDATE_LIST_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "preemption/candidate_scores.h"

namespace berth {

// At most `wanted` of those that violate no budget, and of the others.
class CandidateList {
 public:
  explicit CandidateList(int wanted) : wanted_(wanted) {}

  // `position`: in the order of the search. Returns whether it is one of those that count.
  bool Add(int position, ScoredCandidatePtr scored) {
    std::vector<Found>& list = scored->candidate.pdb_violations == 0 ? non_violating_ : violating_;
    if (static_cast<int>(list.size()) >= wanted_) return false;
    list.push_back({position, std::move(scored)});
    return true;
  }
  bool Enough() const {
    return !non_violating_.empty() &&
           static_cast<int>(non_violating_.size() + violating_.size()) >= wanted_;
  }
  bool empty() const { return non_violating_.empty() && violating_.empty(); }
  // Those that violate no budget first, then by position.
  std::vector<ScoredCandidatePtr> Take() && {
    std::vector<ScoredCandidatePtr> all;
    all.reserve(non_violating_.size() + violating_.size());
    for (std::vector<Found>* list : {&non_violating_, &violating_}) {
      const auto before = [](const Found& a, const Found& b) { return a.position < b.position; };
      if (!std::is_sorted(list->begin(), list->end(), before)) {
        std::sort(list->begin(), list->end(), before);
      }
      for (Found& found : *list) all.push_back(std::move(found.scored));
    }
    return all;
  }

 private:
  struct Found {
    int position;
    ScoredCandidatePtr scored;
  };

  int wanted_;
  std::vector<Found> non_violating_, violating_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_CANDIDATE_LIST_H_
