// SPDX-License-Identifier: Apache-2.0
// Implementation of node_equivalence_classes.h.
#include "evaluation/incremental/node_equivalence_classes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "api/prefetch.h"
#include "evaluation/incremental/split_rows.h"
#include "framework/nominated_rows.h"

namespace berth {
namespace {

constexpr int kNone = kNoGroup;
constexpr int kPauses = 256;

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

// By priority alone: what is kept is for the pods that come after this one too.
bool HasCountingNomination(Symbol node, const NodeEquivalenceClasses::EvaluatedPod& evaluated_pod) {
  return absl::c_any_of(evaluated_pod.nominator->NominatedPods(node), [&](const auto& nominated) {
    return CountsForPriority(*nominated, evaluated_pod.pod.priority());
  });
}

}  // namespace

bool NodeEquivalenceClasses::Refresh(const ScoreCache& scores, const NodeTable& nodes,
                                     const std::vector<DomainSum>& sums,
                                     const EvaluatedPod& evaluated_pod) {
  if (pauses_ > 0) {
    --pauses_;
    return false;
  }
  if (!CatchUp(scores, nodes, sums, evaluated_pod) &&
      !Rebuild(scores, nodes, sums, evaluated_pod)) {
    groupings_.Clear();
    scores_seen_ = {};
    pauses_ = kPauses;
    return false;
  }
  return true;
}

// --- What changed --------------------------------------------------------------------------------

// False if all rows are to be looked at.
bool NodeEquivalenceClasses::CatchUp(const ScoreCache& scores, const NodeTable& nodes,
                                     const std::vector<DomainSum>& sums,
                                     const EvaluatedPod& evaluated_pod) {
  const auto place = [&](NodeRow row) { return Place(scores, row, sums); };
  const auto move = [&](int cell) { MoveCell(cell, sums); };
  if (!groupings_.IsKnown(sums) || !CatchUpWithTotals(scores, sums) ||
      !groupings_.VisitChangedRows(sums, place) || !groupings_.VisitChangedCells(sums, move) ||
      !CatchUpWithNominations(scores, nodes, sums, evaluated_pod)) {
    return false;
  }
  for (const int number : std::exchange(touched_, {})) ShowCell(scores, number);
  const int rows = static_cast<int>(cell_of_row_.size());
  const size_t most = 2 * MostClasses(rows);
  return !groupings_.is_crowded() && (has_classes() ? classes_.size() : cells_.size()) <= most;
}

bool NodeEquivalenceClasses::CatchUpWithTotals(const ScoreCache& scores,
                                               const std::vector<DomainSum>& sums) {
  const auto changes = scores.changes().Since(scores_seen_);
  if (!changes.has_value()) return false;
  for (const NodeRow row : *changes) {
    if (!Place(scores, row, sums)) return false;
  }
  scores_seen_ = scores.changes().end();
  return true;
}

// Places the rows again on which nominations count now, or not any more.
bool NodeEquivalenceClasses::CatchUpWithNominations(const ScoreCache& scores,
                                                    const NodeTable& nodes,
                                                    const std::vector<DomainSum>& sums,
                                                    const EvaluatedPod& evaluated_pod) {
  if (evaluated_pod.nominator == nullptr) return nominated_rows_.empty();
  const bool is_known = evaluated_pod.pod.priority() == evaluated_priority_;
  if (is_known && evaluated_pod.nominator->version() == nominations_version_) return true;
  std::vector<NodeRow> rows;
  const auto changes = evaluated_pod.nominator->ChangesSince(nominations_version_);
  if (is_known && changes.has_value()) {
    for (const Symbol node : *changes) {
      const NodeRow row = nodes.FindRow(node);
      if (row < 0) continue;
      if (HasCountingNomination(node, evaluated_pod)) {
        nominated_rows_.insert(row);
      } else {
        nominated_rows_.erase(row);
      }
      rows.push_back(row);
    }
  } else {
    rows.assign(nominated_rows_.begin(), nominated_rows_.end());
    nominated_rows_ = FindNominatedRows(nodes, evaluated_pod);
    rows.insert(rows.end(), nominated_rows_.begin(), nominated_rows_.end());
  }
  nominations_version_ = evaluated_pod.nominator->version();
  evaluated_priority_ = evaluated_pod.pod.priority();
  return absl::c_all_of(rows, [&](NodeRow row) { return Place(scores, row, sums); });
}

absl::flat_hash_set<NodeRow> NodeEquivalenceClasses::FindNominatedRows(
    const NodeTable& nodes, const EvaluatedPod& evaluated_pod) const {
  absl::flat_hash_set<NodeRow> rows;
  if (evaluated_pod.nominator == nullptr) return rows;
  ForEachNominatedRow(*evaluated_pod.nominator, nodes, [&](NodeRow row) {
    if (HasCountingNomination(nodes.node(row).name(), evaluated_pod)) rows.insert(row);
  });
  return rows;
}

GroupKey NodeEquivalenceClasses::CellKeyOf(NodeRow row, const std::vector<DomainSum>& sums) const {
  GroupKey key = groupings_.CellKeyOf(row, sums);
  if (has_nominated_room(row)) key.push_back(row);
  return key;
}

// --- One row -------------------------------------------------------------------------------------

// Puts the row into its cell. False if there are too many of them now.
bool NodeEquivalenceClasses::Place(const ScoreCache& scores, NodeRow row,
                                   const std::vector<DomainSum>& sums) {
  Leave(scores, row);
  const int64_t total = scores.total(row);
  if (total == ScoreCache::kInfeasible) return true;
  GroupKey key = CellKeyOf(row, sums);
  int number = FindCell(key);
  if (number == kNone) number = AddCell(std::move(key), sums);
  const size_t most = 2 * MostCells(static_cast<int>(cell_of_row_.size()));
  if (cells_.size() > most) return false;
  Read(scores, number);
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

void NodeEquivalenceClasses::Leave(const ScoreCache& scores, NodeRow row) {
  const int number = std::exchange(cell_of_row_[row], kNone);
  if (number == kNone) return;
  Read(scores, number);
  Cell& cell = cells_[number];
  --cell.rows;
  if (has_classes()) {
    --classes_[cell.of_class].rows;
    touched_.push_back(number);
  }
  if (cell.rows == 0) DropCell(number);
}

// The rows that the cell has had since the last Rebuild() go into its heap.
void NodeEquivalenceClasses::Read(const ScoreCache& scores, int number) {
  Cell& cell = cells_[number];
  if (cell.begin == cell.end) return;
  constexpr int kSomeMore = 4;
  std::vector<ScoredRow> rows;
  rows.reserve(cell.end - cell.begin + kSomeMore);
  for (int i = cell.begin; i < cell.end; ++i) {
    if (cell_of_row_[order_[i]] == number) rows.push_back({scores.total(order_[i]), order_[i]});
  }
  cell.heap.Assign(std::move(rows));
  cell.begin = cell.end = 0;
}

// --- One cell ------------------------------------------------------------------------------------

int NodeEquivalenceClasses::FindCell(const GroupKey& key) const {
  if (!has_classes()) {
    const auto it = number_of_key_.find(key);
    return it == number_of_key_.end() ? kNone : it->second;
  }
  const DomainGroupings::Cells& cells = groupings_.FindCells(key);
  const auto found = absl::c_find_if(cells, [&](int number) { return cells_[number].key == key; });
  return found == cells.end() ? kNone : *found;
}

int NodeEquivalenceClasses::AddCell(GroupKey key, const std::vector<DomainSum>& sums) {
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
  GroupKey key = groupings_.ClassKeyOf(cells_[number].key, sums);
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
  if (classes_[cells_[number].of_class].key == groupings_.ClassKeyOf(cells_[number].key, sums))
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

NodeRow NodeEquivalenceClasses::PrefetchRunnerUp(NodeRow row) const {
  const Cell& cell = cells_[cell_of_row_[row]];
  Prefetch(&cell);
  if (cell.begin < cell.end) Prefetch(&order_[cell.begin]);
  const NodeRow next = (has_classes() ? classes_[cell.of_class].heap : cell.heap).RunnerUp().row;
  if (next < 0) return next;
  Prefetch(&cell_of_row_[next]);
  groupings_.Prefetch(next);
  return next;
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
                                     const std::vector<DomainSum>& sums,
                                     const EvaluatedPod& evaluated_pod) {
  if (!groupings_.Restart(sums, nodes)) return false;
  nominated_rows_ = FindNominatedRows(nodes, evaluated_pod);
  nominations_version_ =
      evaluated_pod.nominator != nullptr ? evaluated_pod.nominator->version() : 0;
  evaluated_priority_ = evaluated_pod.pod.priority();
  cell_of_row_.assign(nodes.size(), kNone);
  for (const NodeRow row : scores.feasible()) cell_of_row_[row] = 0;
  const int most_classes = MostClasses(nodes.size());
  const int most = has_classes() ? MostCells(nodes.size()) : most_classes;
  int cells = 1;
  std::vector<int64_t> values;
  for (size_t i = 0; i < sums.size(); ++i) {
    groupings_.ReadValues(i, sums, nodes.size(), values);
    cells = SplitGroups(values, cells, most, absl::MakeSpan(cell_of_row_));
    if (cells == 0) return false;
  }
  if (!nominated_rows_.empty()) {
    values.assign(nodes.size(), -1);
    for (const NodeRow row : nominated_rows_) values[row] = row;
    cells = SplitGroups(values, cells, most, absl::MakeSpan(cell_of_row_));
    if (cells == 0) return false;
  }
  FillCells(scores, cells);
  classes_.clear();
  unused_classes_.clear();
  number_of_key_.clear();
  touched_.clear();
  for (int number = 0; number < cells; ++number) {
    Cell& cell = cells_[number];
    cell.key = CellKeyOf(order_[cell.begin], sums);
    if (!has_classes()) {
      number_of_key_.emplace(cell.key, number);
      continue;
    }
    groupings_.AddCell(cell.key, number);
    JoinClass(number, sums);
    if (groupings_.is_crowded() || static_cast<int>(classes_.size()) > most_classes) return false;
  }
  for (int number = 0; has_classes() && number < cells; ++number) ShowCell(scores, number);
  scores_seen_ = scores.changes().end();
  return true;
}

// The cells that cell_of_row_ says, with the best of each in its heap.
void NodeEquivalenceClasses::FillCells(const ScoreCache& scores, int cells) {
  cells_.assign(cells, {});
  unused_cells_.clear();
  for (const NodeRow row : scores.feasible()) ++cells_[cell_of_row_[row]].rows;
  int next = 0;
  for (Cell& cell : cells_) {
    cell.begin = cell.end = next;
    next += cell.rows;
  }
  order_.resize(next);
  std::vector<ScoredRow> best(cells);
  for (const NodeRow row : scores.feasible()) {
    const int number = cell_of_row_[row];
    order_[cells_[number].end++] = row;
    const ScoredRow its = {scores.total(row), row};
    if (best[number].row < 0 || best[number] < its) best[number] = its;
  }
  for (int number = 0; number < cells; ++number) cells_[number].heap.Assign({best[number]});
}

}  // namespace berth
