// Implementation of best_first_search.h.
#include "preemption/pruning/best_first_search.h"

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "framework/fetch_nodes.h"
#include "framework/nominated_rows.h"

namespace berth {

bool BestFirst::Find(bool all, Candidates& found) {
  // Also when rules throw.
  const absl::Cleanup put_back = [this] {
    for (const NodeRow row : looked_at_) prospects_.SetInPlay(row, true);
  };
  for (NodeRow row = prospects_.Best(); row >= 0; row = prospects_.Best()) {
    if (found.Enough() || (!all && !MayBeChosen(row))) break;
    if (!budgets_.empty() && !bounds_.at(row).knows_budgets) {
      CountViolations(row);
      continue;
    }
    if (search_.StopsBefore(row)) return false;
    LookAt(row, found);
  }
  return !found.empty() || LookAtTheRest(found);
}

// Whether the node can be better than the best that was found, or as good and before it.
bool BestFirst::MayBeChosen(NodeRow row) const {
  if (best_ == nullptr) return true;
  const CandidateScores at_best = bounds_.at(row).scores();
  if (at_best != (*best_)->scores) return (*best_)->scores < at_best;
  return row < best_row_;
}

// Which takes a look at each pod of the node, so it is done for those only that may come to most.
void BestFirst::CountViolations(NodeRow row) {
  const auto nominated = row == own_row_
                             ? BoundFinder::Pods()
                             : handle_.nominator().NominatedPods(handle_.nodes().node(row).name());
  bounds_.Sharpen(row, finder_.WithBudgets(bounds_.at(row), row, nominated, budgets_));
}

void BestFirst::LookAt(NodeRow row, Candidates& found) {
  looked_at_.push_back(row);
  prospects_.SetInPlay(row, false);
  const WeighedPtr* const candidate = search_.LookAt(row);
  if (candidate == nullptr || !found.Add(row, *candidate)) return;
  if (best_ != nullptr && (*candidate)->scores < (*best_)->scores) return;
  const bool better = best_ == nullptr || (*best_)->scores < (*candidate)->scores;
  if (!better && row > best_row_) return;
  best_ = candidate;
  best_row_ = row;
}

// On those that are left nobody may go, or too little room is made. Of those that say the same, one
// is tried for all. Bit by bit, as of very many rows long lists would be made.
bool BestFirst::LookAtTheRest(Candidates& found) {
  const bool may_be_alike = AlikeIfShortOfTheSame();
  AlikeRows alike;
  std::vector<NodeRow> rows, others;
  for (NodeRow end = prospects_.ListInPlay(0, rows); !rows.empty();
       end = prospects_.ListInPlay(end, rows)) {
    if (may_be_alike && !alike.nominated.has_value()) {  // of all rows, if many are in play
      alike.nominated = RowsWithNominatedPods(rows, handle_.nominator(), handle_.nodes());
    }
    std::erase_if(rows, [this](NodeRow row) {
      const bool nobody =
          question_.by_priority && bounds_.chance(row).kind() == EvictionChance::Kind::kNobody;
      if (nobody) search_.AddWithoutVictims(row);
      return nobody;
    });
    if (may_be_alike) {
      LookAtAlike(rows, alike, found, others);
    } else {
      others.insert(others.end(), rows.begin(), rows.end());
    }
  }
  for (size_t i = 0; i < others.size(); ++i) {
    if (search_.StopsBefore(others[i])) return false;
    FetchNodesAhead(handle_.nodes(), others, i);
    LookAt(others[i], found);
  }
  return true;
}

// Appends those of `rows` that are left to `others`.
void BestFirst::LookAtAlike(absl::Span<const NodeRow> rows, AlikeRows& alike, Candidates& found,
                            std::vector<NodeRow>& others) {
  const absl::flat_hash_set<NodeRow>& nominated = *alike.nominated;
  uint32_t last_short_of = 0;
  Alike* like_last = nullptr;  // mostly all are short of the same
  for (const NodeRow row : rows) {
    const uint32_t short_of = bounds_.chance(row).short_of();
    const bool has_nominated = !nominated.empty() && nominated.contains(row);
    if (short_of == 0 || !RejectedForRoom(row) || has_nominated) {
      others.push_back(row);
      continue;
    }
    if (like_last == nullptr || short_of != last_short_of) {
      last_short_of = short_of;
      const auto [it, is_new] = alike.by_shortage.try_emplace(short_of);
      like_last = &it->second;
      if (is_new) {
        LookAt(row, found);
        like_last->failure = search_.last_failure();
        like_last->speaks_for_all = like_last->failure.IsRejected();
        continue;
      }
    }
    (like_last->speaks_for_all ? like_last->untried : others).push_back(row);
  }
  for (auto& [short_of, same] : alike.by_shortage) {
    search_.AddFailures(same.untried, same.failure);
    same.untried.clear();
  }
}

// Whether the dry runs of all nodes that the filter rejects that counts room, and that stay short
// of the same, fail with the same words. What nominated pods take on a node is not counted.
bool BestFirst::AlikeIfShortOfTheSame() const {
  return question_.fails_as_filters && question_.room.has_value() && question_.room->asked_first;
}

bool BestFirst::RejectedForRoom(NodeRow row) {
  const auto is_for_room = [&] {
    return statuses_.rejecting_plugin(row) == question_.room->plugin;
  };
  if (rejectors_.empty()) return is_for_room();
  if (rejectors_[row] != last_rejector_) {  // mostly it is as with the row before
    last_is_for_room_ = is_for_room();
    last_rejector_ = rejectors_[row];
  }
  return last_is_for_room_;
}

}  // namespace berth
