// Implementation of best_first.h.
#include "preemption/best_first.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace berth {

void BestFirst::Find(bool all, Candidates& found) {
  SetInPlay();
  for (NodeRow row = prospects_.Best(); row >= 0; row = prospects_.Best()) {
    if (found.Enough() || (!all && !MayBeChosen(row))) break;
    LookAt(row, found);
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

// On those that are left nobody may go, or too little room is made. They are all short of the same
// if they say the same, and one of them is tried for all; but what pods take that are nominated to
// a node was not counted.
void BestFirst::LookAtTheRest(Candidates& found) {
  const NodeTable& nodes = handle_.nodes();
  absl::flat_hash_set<NodeRow> nominated;
  struct Alike {
    Status status;
    std::vector<NodeRow> rows;
  };
  absl::flat_hash_map<uint32_t, Alike> alike;  // by what they are short of
  handle_.nominator().ForEach([&](const PodInfo&, absl::string_view node) {
    const std::optional<Symbol> name = Symbol::Find(node);
    if (name.has_value()) nominated.insert(nodes.FindRow(*name));
  });
  const bool are_alike =
      question_.fails_as_filters && question_.room.has_value() && question_.room->asked_first;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!prospects_.is_in_play(row)) continue;
    const EvictionBound& bound = prospects_.bound(row);
    if (bound.kind == EvictionBound::Kind::kNobody && question_.by_priority()) {
      search_.AddWithoutVictims({&row, 1});
      continue;
    }
    if (bound.kind != EvictionBound::Kind::kShort || !are_alike || nominated.contains(row) ||
        statuses_.rejecting_plugin(row) != question_.room->plugin) {
      LookAt(row, found);
      continue;
    }
    Alike& others = alike[bound.short_of];
    if (others.status.ok()) {
      LookAt(row, found);
      others.status = search_.last_failure();
    } else {
      others.rows.push_back(row);
    }
  }
  for (const auto& [short_of, others] : alike) search_.AddFailures(others.rows, others.status);
}

}  // namespace berth
