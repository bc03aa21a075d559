// Implementation of best_first.h.
#include "preemption/best_first.h"

#include <algorithm>
#include <optional>

#include "absl/container/node_hash_map.h"

namespace berth {

void BestFirst::Find(bool all, Candidates& found) {
  SetInPlay();
  for (NodeRow row = prospects_.Best(); row >= 0; row = prospects_.Best()) {
    if (found.Enough() || (!all && !MayBeChosen(row))) break;
    if (budgets_.empty() || prospects_.bound(row).knows_budgets) {
      LookAt(row, found);
    } else {
      CountViolations(row);
    }
  }
  for (const NodeRow row : aside_) prospects_.SetInPlay(row, true);
  if (!found.empty()) return;
  CountKnownFailures();
  LookAtTheRest(found);
}

// Nodes where evictions may help, but for those where it is known that they do not.
void BestFirst::SetInPlay() {
  const NodeRow size = handle_.nodes().size();
  const absl::Span<const Code> codes = statuses_.codes();
  for (NodeRow row = 0; row < size; ++row) {
    const Code code = codes.empty() ? statuses_.code(row) : codes[row];
    prospects_.SetInPlay(row, code == Code::kUnschedulable && !search_.IsKnownFailure(row));
  }
}

// Whether the node can be better than the best that was found, or as good and before it.
bool BestFirst::MayBeChosen(NodeRow row) const {
  if (best_ == nullptr) return true;
  const CandidateScores at_best = prospects_.bound(row).scores();
  if (at_best != (*best_)->scores) return (*best_)->scores < at_best;
  return row < best_row_;
}

// Which takes a look at each pod of the node, so it is done for those only that may come to most.
void BestFirst::CountViolations(NodeRow row) {
  const auto nominated = row == own_row_
                             ? BoundFinder::Pods()
                             : handle_.nominator().NominatedPods(handle_.nodes().node(row).name());
  prospects_.Sharpen(row, finder_.WithBudgets(prospects_.bound(row), row, nominated, budgets_));
}

void BestFirst::LookAt(NodeRow row, Candidates& found) {
  prospects_.SetInPlay(row, false);
  const WeighedPtr* const candidate = search_.LookAt(row);
  if (candidate == nullptr) {
    failed_.push_back(row);
    return;
  }
  aside_.push_back(row);
  if (!found.Add(row, *candidate)) return;
  if (best_ != nullptr && (*candidate)->scores < (*best_)->scores) return;
  const bool better = best_ == nullptr || (*best_)->scores < (*candidate)->scores;
  if (!better && row > best_row_) return;
  best_ = candidate;
  best_row_ = row;
}

// What was known before.
void BestFirst::CountKnownFailures() {
  if (!search_.remembers()) return;
  std::sort(failed_.begin(), failed_.end());  // these are counted
  auto counted = failed_.begin();
  for (NodeRow row = 0; row < handle_.nodes().size(); ++row) {
    if (counted != failed_.end() && *counted == row) {
      ++counted;
    } else if (statuses_.code(row) == Code::kUnschedulable && search_.IsKnownFailure(row)) {
      search_.LookAt(row);
    }
  }
}

// On those that are left nobody may go, or too little room is made. Of those that say the same, one
// is tried for all.
void BestFirst::LookAtTheRest(Candidates& found) {
  const NodeRow size = handle_.nodes().size();
  absl::node_hash_map<uint32_t, std::vector<NodeRow>> alike;  // by what they are short of
  std::vector<NodeRow> others;
  const absl::flat_hash_set<NodeRow> nominated = NominatedRows();
  const bool some_are_alike = AlikeIfShortOfTheSame();
  uint32_t last_short_of = 0;
  std::vector<NodeRow>* like_last = nullptr;  // mostly all are short of the same
  for (NodeRow row = 0; row < size; ++row) {
    if (!prospects_.is_in_play(row)) continue;
    const EvictionBound& bound = prospects_.bound(row);
    if (bound.kind == EvictionBound::Kind::kNobody && question_.by_priority) {
      search_.AddWithoutVictims({&row, 1});
    } else if (bound.short_of != 0 && some_are_alike && RejectedForRoom(row) &&
               (nominated.empty() || !nominated.contains(row))) {
      if (like_last == nullptr || bound.short_of != last_short_of) {
        last_short_of = bound.short_of;
        like_last = &alike[last_short_of];
      }
      like_last->push_back(row);
    } else {
      others.push_back(row);
    }
  }
  for (auto& [short_of, rows] : alike) {
    LookAt(rows.front(), found);
    const absl::Span<const NodeRow> untried = absl::MakeConstSpan(rows).subspan(1);
    if (search_.last_failure().IsRejected()) {
      search_.AddFailures(untried, search_.last_failure());
    } else {  // an Error may be of one node alone
      others.insert(others.end(), untried.begin(), untried.end());
    }
  }
  for (size_t i = 0; i < others.size(); ++i) {
    search_.FetchAhead(others, i);
    LookAt(others[i], found);
  }
}

// Whether the dry runs of all nodes that the filter rejects that counts room, and that stay short
// of the same, fail with the same words. What nominated pods take on a node is not counted.
bool BestFirst::AlikeIfShortOfTheSame() const {
  return question_.fails_as_filters && question_.room.has_value() && question_.room->asked_first;
}

bool BestFirst::RejectedForRoom(NodeRow row) const {
  return statuses_.rejecting_plugin(row) == question_.room->plugin;
}

absl::flat_hash_set<NodeRow> BestFirst::NominatedRows() const {
  absl::flat_hash_set<NodeRow> rows;
  handle_.nominator().ForEach([&](const PodInfo&, absl::string_view node) {
    const std::optional<Symbol> name = Symbol::Find(node);
    if (name.has_value()) rows.insert(handle_.nodes().FindRow(*name));
  });
  return rows;
}

}  // namespace berth
