// SPDX-License-Identifier: Apache-2.0
// Implementation of node_equivalence_classes.h.
#include "evaluation/incremental/node_equivalence_classes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"

namespace berth {
namespace {

constexpr int kNone = -1;
constexpr int kSkippedPods = 256;

int MostCells(int rows) {
  constexpr int kFew = 64;  // whatever the number of nodes; of more nodes, one in kRowsACell
  constexpr int kRowsACell = 4;
  return std::max(kFew, rows / kRowsACell);
}

// Takes a number that is not used, or a new one.
template <class T>
int TakeNumber(std::vector<int>& unused, std::vector<T>& all) {
  if (unused.empty()) {
    all.emplace_back();
    return static_cast<int>(all.size()) - 1;
  }
  const int number = unused.back();
  unused.pop_back();
  return number;
}

}  // namespace

bool NodeEquivalenceClasses::Refresh(const ScoreCache& scores, const NodeTable& nodes,
                                     const std::vector<DomainSum>& sums) {
  if (skips_left_ > 0) {
    --skips_left_;
    return false;
  }
  if (!CatchUp(scores, nodes, sums) && !Rebuild(scores, nodes, sums)) {
    groupings_.Clear();
    scores_seen_ = {};
    skips_left_ = kSkippedPods;
    return false;
  }
  for (const int number : std::exchange(touched_, {})) ShowCell(scores, number);
  return true;
}

// --- What changed --------------------------------------------------------------------------------

// False if all rows are to be placed again.
bool NodeEquivalenceClasses::CatchUp(const ScoreCache& scores, const NodeTable& nodes,
                                     const std::vector<DomainSum>& sums) {
  const auto place = [&](NodeRow row) { return Place(scores, row, sums); };
  const auto move = [&](int cell) { MoveCell(cell, sums); };
  if (order_version_ != nodes.order_version() || !groupings_.IsKnown(sums) ||
      !CatchUpWithTotals(scores, sums) || !groupings_.VisitChangedRows(sums, place) ||
      !groupings_.VisitChangedCells(sums, move)) {
    return false;
  }
  const int rows = static_cast<int>(cell_of_row_.size());
  const size_t most = 2 * MostClasses(rows);
  return !groupings_.is_crowded() && (has_classes() ? classes_.size() : cells_.size()) <= most;
}

bool NodeEquivalenceClasses::CatchUpWithTotals(const ScoreCache& scores,
                                               const std::vector<DomainSum>& sums) {
  constexpr size_t kRowsAPlace = 16;  // so many are read in the time in which one is placed
  const auto changes = scores.changes().Since(scores_seen_);
  scores_seen_ = scores.changes().end();
  if (!changes.has_value() || changes->size() * kRowsAPlace > cell_of_row_.size()) {
    return ReadAllTotals(scores, sums);
  }
  return absl::c_all_of(*changes, [&](NodeRow row) { return Place(scores, row, sums); });
}

// Any total may be another. Rows stay in their cells, unless they became feasible or infeasible.
bool NodeEquivalenceClasses::ReadAllTotals(const ScoreCache& scores,
                                           const std::vector<DomainSum>& sums) {
  for (Class& its : classes_) its.heap.Clear();
  for (Cell& cell : cells_) {
    cell.heap.Clear();
    cell.shown = {};
  }
  std::vector<NodeRow> appeared;
  for (NodeRow row = 0; row < static_cast<NodeRow>(cell_of_row_.size()); ++row) {
    const int64_t total = scores.total(row);
    const int number = cell_of_row_[row];
    if (total != ScoreCache::kInfeasible && number != kNone) {
      cells_[number].heap.Append({total, row});
    } else if (total != ScoreCache::kInfeasible) {
      appeared.push_back(row);
    } else if (number != kNone) {
      Leave(row);
    }
  }
  for (Cell& cell : cells_) cell.heap.MakeHeap();
  touched_.resize(has_classes() ? cells_.size() : 0);
  absl::c_iota(touched_, 0);
  return absl::c_all_of(appeared, [&](NodeRow row) { return Place(scores, row, sums); });
}

// --- One row -------------------------------------------------------------------------------------

// Puts the row into its cell. False if there are too many of them now.
bool NodeEquivalenceClasses::Place(const ScoreCache& scores, NodeRow row,
                                   const std::vector<DomainSum>& sums) {
  Leave(row);
  const int64_t total = scores.total(row);
  if (total == ScoreCache::kInfeasible) return true;
  NodeClassKey key = groupings_.CellKeyOf(row, sums);
  int number = FindCell(key);
  if (number == kNone) number = AddCell(std::move(key), sums);
  const size_t most = 2 * MostCells(static_cast<int>(cell_of_row_.size()));
  if (cells_.size() > most) return false;
  cell_of_row_[row] = number;
  Cell& cell = cells_[number];
  ++cell.rows;
  cell.heap.Add({total, row}, cell.rows, IsInCell(scores, number));
  if (has_classes()) {
    ++classes_[cell.of_class].rows;
    touched_.push_back(number);
  }
  return true;
}

void NodeEquivalenceClasses::Leave(NodeRow row) {
  const int number = std::exchange(cell_of_row_[row], kNone);
  if (number == kNone) return;
  Cell& cell = cells_[number];
  --cell.rows;
  if (has_classes()) {
    --classes_[cell.of_class].rows;
    touched_.push_back(number);
  }
  if (cell.rows == 0) DropCell(number);
}

// --- One cell ------------------------------------------------------------------------------------

int NodeEquivalenceClasses::FindCell(const NodeClassKey& key) const {
  if (!has_classes()) {
    const auto it = number_of_key_.find(key);
    return it == number_of_key_.end() ? kNone : it->second;
  }
  const DomainGroupings::Cells& cells = groupings_.FindCells(key);
  const auto found = absl::c_find_if(cells, [&](int number) { return cells_[number].key == key; });
  return found == cells.end() ? kNone : *found;
}

int NodeEquivalenceClasses::AddCell(NodeClassKey key, const std::vector<DomainSum>& sums) {
  const int number = TakeNumber(unused_cells_, cells_);
  cells_[number].key = std::move(key);
  groupings_.AddCell(cells_[number].key, number);
  if (has_classes()) {
    JoinClass(number, sums);
  } else {
    number_of_key_.emplace(cells_[number].key, number);
  }
  return number;
}

void NodeEquivalenceClasses::DropCell(int number) {
  groupings_.RemoveCell(cells_[number].key, number);
  if (has_classes()) {
    LeaveClass(number);
  } else {
    number_of_key_.erase(cells_[number].key);
  }
  cells_[number] = {};
  unused_cells_.push_back(number);
}

// --- Cells in classes ----------------------------------------------------------------------------

void NodeEquivalenceClasses::JoinClass(int number, const std::vector<DomainSum>& sums) {
  NodeClassKey key = groupings_.NodeClassKeyOf(cells_[number].key, sums);
  const auto [known, is_new] = number_of_key_.try_emplace(key, kNone);
  if (is_new) {
    known->second = TakeNumber(unused_classes_, classes_);
    classes_[known->second].key = std::move(key);
  }
  cells_[number].of_class = known->second;
  cells_[number].shown = {};
  classes_[known->second].rows += cells_[number].rows;
}

void NodeEquivalenceClasses::LeaveClass(int number) {
  Class& its = classes_[cells_[number].of_class];
  its.rows -= cells_[number].rows;
  if (its.rows > 0) return;
  number_of_key_.erase(its.key);
  its = {};
  unused_classes_.push_back(cells_[number].of_class);
}

// Its sums may be others.
void NodeEquivalenceClasses::MoveCell(int number, const std::vector<DomainSum>& sums) {
  if (classes_[cells_[number].of_class].key == groupings_.NodeClassKeyOf(cells_[number].key, sums))
    return;
  LeaveClass(number);
  JoinClass(number, sums);
  touched_.push_back(number);
}

// The best of the cell goes into the heap of its class.
void NodeEquivalenceClasses::ShowCell(const ScoreCache& scores, int number) {
  Cell& cell = cells_[number];
  if (cell.rows == 0) return;
  const ScoredRow best = cell.heap.Best(IsInCell(scores, number));
  if (best == cell.shown) return;
  cell.shown = best;
  Class& its = classes_[cell.of_class];
  its.heap.Add(best, its.rows, IsInClass(scores, cell.of_class));
}

// --- Classes -------------------------------------------------------------------------------------

void NodeEquivalenceClasses::List(const ScoreCache& scores,
                                  absl::FunctionRef<bool(NodeRow)> accepts) {
  best_.clear();
  counts_.clear();
  listed_.clear();
  some_rejected_ = false;
  const auto list = [&](int number, Group& group, auto is_now) {
    if (group.rows == 0) return;
    const NodeRow best = group.heap.Best(is_now).row;
    if (!accepts(best)) {
      some_rejected_ = true;
      return;
    }
    best_.push_back(best);
    counts_.push_back(group.rows);
    listed_.push_back(number);
  };
  if (has_classes()) {
    for (int i = 0; i < static_cast<int>(classes_.size()); ++i) {
      list(i, classes_[i], IsInClass(scores, i));
    }
  } else {
    for (int i = 0; i < static_cast<int>(cells_.size()); ++i) {
      list(i, cells_[i], IsInCell(scores, i));
    }
  }
}

std::optional<int> NodeEquivalenceClasses::CountDomains(
    const LabelColumn& column, absl::FunctionRef<bool(NodeRow)> takes) const {
  const DomainGroupings::DomainCells* const domains = groupings_.FindDomains(column);
  if (domains == nullptr) return std::nullopt;
  std::vector<bool> taken(classes_.size());
  bool all = !some_rejected_;
  for (size_t i = 0; i < best_.size(); ++i) {
    taken[listed_[i]] = takes(best_[i]);
    all = all && taken[listed_[i]];
  }
  if (all) return domains->domains;
  return static_cast<int>(absl::c_count_if(domains->of_domain, [&](const auto& cells) {
    return absl::c_any_of(cells, [&](int number) { return taken[cells_[number].of_class]; });
  }));
}

// --- All rows ------------------------------------------------------------------------------------

bool NodeEquivalenceClasses::Rebuild(const ScoreCache& scores, const NodeTable& nodes,
                                     const std::vector<DomainSum>& sums) {
  if (!groupings_.Restart(sums, nodes)) return false;
  cell_of_row_.assign(nodes.size(), kNone);
  cells_.clear();
  unused_cells_.clear();
  classes_.clear();
  unused_classes_.clear();
  number_of_key_.clear();
  touched_.clear();
  order_version_ = nodes.order_version();
  const auto most_classes = static_cast<size_t>(MostClasses(nodes.size()));
  const size_t most_cells = has_classes() ? MostCells(nodes.size()) : most_classes;
  for (const NodeRow row : scores.feasible()) {
    const bool few = Place(scores, row, sums) && cells_.size() <= most_cells &&
                     classes_.size() <= most_classes && !groupings_.is_crowded();
    if (!few) return false;
  }
  scores_seen_ = scores.changes().end();
  return true;
}

}  // namespace berth
