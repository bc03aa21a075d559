// SPDX-License-Identifier: Apache-2.0
// Implementation of score_cache.h.
#include "evaluation/incremental/score_cache.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/check.h"
#include "berth/prefetch.h"
#include "evaluation/diagnosis.h"
#include "table/far_behind.h"

namespace berth {
namespace {

// Whether a plugin is to be asked again; of a row that was rejected before, every one.
bool Concerns(Aspects changed, Aspects depends_on) {
  return changed == Aspect::kEverything || (changed & depends_on) != 0;
}

// For best_: rows with higher totals are better.
class ByTotal {
 public:
  explicit ByTotal(absl::Span<const int64_t> totals) : totals_(totals.data()) {}

  NodeRow BestOf(NodeRow begin, NodeRow end) const {
    NodeRow best = -1;
    int64_t high = ScoreCache::kInfeasible;
    for (NodeRow row = begin; row < end; ++row) {
      if (totals_[row] <= high) continue;
      high = totals_[row];
      best = row;
    }
    return best;
  }
  NodeRow Better(NodeRow left, NodeRow right) const {
    if (left < 0) return right;
    if (right < 0) return left;
    return totals_[left] >= totals_[right] ? left : right;
  }

 private:
  const int64_t* totals_;
};

// When so many rows changed, the batch forms are faster than row by row.
bool IsMany(size_t changed, size_t rows) { return changed > 16 + rows / 16; }

// Aspects that concern object filters. kObjects marks a row whose objects may have changed though
// its node did not; no other plugin of a ScoreCache depends on it.
constexpr Aspects kOfObjectFilters = Aspect::kOfPods | Aspect::kOfNodeObject | Aspect::kObjects;

// With more nominated pods that somebody has to yield to, their nodes are not judged in each cycle.
constexpr int kMostNominated = 16;

// Whether `pod` leaves room for `nominated`, unless it is that pod.
bool LeavesRoom(const PodInfo& pod, const PodInfo& nominated) {
  return nominated.priority() >= pod.priority();
}

// What `ask` returns while `state` skips all other filters.
template <class Ask>
Status AskOnly(PluginMask filters, CycleState& state, const Ask& ask) {
  uint64_t& skips = state.skips().filter;
  const uint64_t always_skipped = std::exchange(skips, skips | ~filters);
  Status status = ask();
  skips = always_skipped;
  return status;
}

}  // namespace

// --- Columns ---

void ScoreCache::Column::SetScore(NodeRow row, int64_t score, int rows) {
  if (raw.empty() && score == 0) return;
  raw.resize(rows);
  raw[row] = score;
}

void ScoreCache::Column::Add(int64_t score) {
  const bool first = count++ == 0;
  if (first || score < low) {
    low = score;
    at_low = 0;
  }
  if (first || score > high) {
    high = score;
    at_high = 0;
  }
  at_low += score == low;
  at_high += score == high;
}

// If no row is left at an extreme, it has to be looked for.
void ScoreCache::Column::Remove(int64_t score) {
  --count;
  at_low -= score == low;
  at_high -= score == high;
}

void ScoreCache::FindExtremes(Column& column) const {
  if (column.raw.empty()) {
    column.low = column.high = 0;
    column.count = column.at_low = column.at_high = feasible_count_;
    return;
  }
  column.count = column.at_low = column.at_high = 0;
  for (const NodeRow row : feasible()) column.Add(column.raw[row]);
}

// --- ScoreCache ---

ScoreCache::ScoreCache(const Framework& framework, std::shared_ptr<const PodInfo> pod,
                       PluginMask plugins, PluginMask object_filters)
    : framework_(framework),
      pod_(std::move(pod)),
      plugins_(plugins),
      object_filters_(object_filters) {}

bool ScoreCache::IsWorthwhile(const ObjectInputs& objects, const Nominator& nominator,
                              const PodInfo& evaluated_pod) {
  if (objects.inputs.empty()) return false;
  int nominated = 0;
  nominator.ForEach([&](const PodInfo& pod, absl::string_view) {
    nominated += LeavesRoom(evaluated_pod, pod) ? 1 : 0;
  });
  return nominated <= kMostNominated && inputs_.AreStable(objects.inputs);
}

Status ScoreCache::Refresh(const NodeTable& nodes, const Nominator& nominator,
                           const PodInfo& evaluated_pod, const ObjectInputs* objects) {
  BERTH_DCHECK((objects != nullptr) == (object_filters_ != 0));
  nodes_ = &nodes;
  objects_ = objects == nullptr ? nullptr : &objects->state;
  rebuilt_ = looked_at_all_ = false;
  if (narrows_) return Status::Success();
  const bool rebuild = !CollectChanged(nodes, nominator, evaluated_pod);
  version_ = nodes.version();
  nominations_version_ = nominator.version();
  evaluated_priority_ = evaluated_pod.priority();
  const bool other_inputs = std::exchange(inputs_version_, inputs_.version()) != inputs_.version();
  if (rebuild) return Rebuild(nodes, evaluated_pod);
  const bool have_moved = first_moved_ != kNothingMoved;
  if (have_moved && scored_) UnlistMoved();
  if (other_inputs) {
    bool scored_anew = false;
    Status status = FollowInputs(nodes, evaluated_pod, scored_anew);
    if (!status.ok() || scored_anew) return status;
  }
  if (!scored_) return LookForFeasible(nodes, evaluated_pod);
  if (changed_.empty() && !have_moved && !spread_changed_) return Status::Success();

  std::vector<std::pair<int64_t, int64_t>> extremes;
  for (const Column& column : columns_) extremes.push_back({column.low, column.high});
  for (const NodeRow row : changed_) {
    Status status = Refilter(row, evaluated_pod);
    if (!status.ok()) return status;
    aspects_[row] = 0;
  }
  bool all_differ = false;
  for (std::vector<Column>* columns : {&plain_, &columns_}) {
    for (Column& column : *columns) {
      if (!spread_changed_ || !column.looks_at_spread()) continue;
      Status status = ScoreAll(column, all_differ);
      if (!status.ok()) return status;
    }
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (column.at_low == 0 || column.at_high == 0) FindExtremes(column);
    all_differ |= extremes[i] != std::pair(column.low, column.high);
  }
  if (all_differ) return Renormalize();
  if (have_moved) {
    best_.Build(static_cast<int>(totals_.size()), ByTotal(totals_), first_moved_);
    NoteAllChanged();
  }
  for (const NodeRow row : changed_) {
    Status status = AddUp(row);
    if (!status.ok()) return status;
    best_.Update(row, ByTotal(totals_));
    changes_.Add(row, nodes.size());
  }
  return Status::Success();
}

// Where nothing was feasible: whether that is still so.
Status ScoreCache::LookForFeasible(const NodeTable& nodes, const PodInfo& evaluated_pod) {
  for (const NodeRow row : changed_) {
    const Status status = FilterAgain(row, Aspect::kEverything, evaluated_pod);
    if (status.IsError()) return status;
    if (status.ok()) return Rebuild(nodes, evaluated_pod);
    SetVerdict(row, status);
    aspects_[row] = 0;
  }
  return Status::Success();
}

// Object filters have other inputs now: asks them again about rows that nobody else rejects.
// Sets `scored_anew` if others are feasible then, and everything is up to date.
Status ScoreCache::FollowInputs(const NodeTable& nodes, const PodInfo& evaluated_pod,
                                bool& scored_anew) {
  const std::vector<NodeRow> before(feasible().begin(), feasible().end());
  std::vector<NodeRow> rows;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (is_feasible(row) || IsObjectFilter(verdicts_.rejector(row))) rows.push_back(row);
  }
  Status status = AskObjectFilters(nodes, evaluated_pod, rows);
  if (!status.ok()) return status;
  CountFeasible();
  if (feasible() == absl::MakeConstSpan(before)) return Status::Success();
  for (const NodeRow row : changed_) {
    status = FilterAgain(row, Aspect::kEverything, evaluated_pod);
    if (status.IsError()) return status;
    SetVerdict(row, status);
  }
  CountFeasible();
  scored_anew = true;
  return ScoreAnew(nodes);
}

Status ScoreCache::AskObjectFilters(const NodeTable& nodes, const PodInfo& evaluated_pod,
                                    absl::Span<const NodeRow> rows) {
  return AskOnly(object_filters_, *objects_, [&] {
    return framework_.RunFilterNodes(*objects_, evaluated_pod, nodes, rows, verdicts_);
  });
}

bool ScoreCache::IsObjectFilter(uint8_t filter) const {
  return filter < framework_.filter().size() &&
         (object_filters_ >> framework_.filter()[filter].index & 1) != 0;
}

// The total of one row, its scores being those of now.
Status ScoreCache::AddUp(NodeRow row) {
  totals_[row] = kInfeasible;
  if (!is_feasible(row)) return Status::Success();
  int64_t total = plain_totals_[row];
  for (const Column& column : columns_) {
    int64_t score = 0;
    Status status = Normalized(column, row, score);
    if (!status.ok()) return status;
    total += score * framework_.ScoreFactor(*column.hook);
  }
  totals_[row] = total;
  return Status::Success();
}

// Fills changed_ with the rows to be judged again, each once, and moves everything as the rows did.
// False if it is all of them.
bool ScoreCache::CollectChanged(const NodeTable& nodes, const Nominator& nominator,
                                const PodInfo& evaluated_pod) {
  const auto nominations = nominator.ChangesSince(nominations_version_);
  const Symbol last_own_node = std::exchange(
      own_node_, Symbol::Find(nominator.NominatedNode(evaluated_pod)).value_or(Symbol()));
  if (version_ == 0 || !nominations.has_value()) return false;
  if (IsFarBehind(nodes, version_) || !Follow(nodes)) return false;
  const auto mark = [&](Symbol node, Aspects aspects) {
    if (!node.empty()) MarkChanged(nodes.FindRow(node), aspects);
  };
  const auto mark_all_of = [&](Symbol node) { mark(node, Aspect::kEverything); };
  for (const Symbol node : *nominations) mark_all_of(node);
  // Nobody leaves room for itself.
  mark_all_of(last_own_node);
  mark_all_of(own_node_);
  // Claims of nominated pods count on their node, and may change while it does not.
  if (object_filters_ != 0) {
    nominator.ForEach([&](const PodInfo& pod, absl::string_view node) {
      if (!LeavesRoom(evaluated_pod, pod)) return;
      mark(Symbol::Find(node).value_or(Symbol()), Aspect::kObjects);
    });
  }
  if (evaluated_pod.priority() != evaluated_priority_) {
    nominator.ForEach([&](const PodInfo&, absl::string_view node) {
      mark_all_of(Symbol::Find(node).value_or(Symbol()));
    });
  }
  return !IsMany(changed_.size(), nodes.size());
}

// What became of the rows since the last Refresh(). False if all of them are to be judged again.
bool ScoreCache::Follow(const NodeTable& nodes) {
  changed_.clear();
  first_moved_ = kNothingMoved;
  spread_changed_ = false;
  const bool followed = nodes.Replay(
      version_,
      [&](const RowChange& change) {
        const Aspects aspects = change.aspects & depends_on_;
        spread_changed_ |= (aspects & Aspect::kImageSpread) != 0;
        if (aspects != 0) MarkChanged(change.row, aspects);
      },
      [&](const RowMove& move) { Move(move); });
  if (!followed) return false;
  if (first_moved_ != kNothingMoved) {  // and so did what was changed by then
    spread_changed_ |= (depends_on_ & Aspect::kImageSpread) != 0;
    changed_.clear();
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (aspects_[row] != 0) changed_.push_back(row);
    }
  }
  return !spread_changed_ || absl::c_none_of(filters_, [](const Participant& filter) {
    return (filter.depends_on & Aspect::kImageSpread) != 0;
  });
}

// Nodes came, which are to be judged, or went.
void ScoreCache::Move(const RowMove& move) {
  first_moved_ = std::min(first_moved_, move.first());
  for (const NodeRow row : move.gone()) {
    if (!is_feasible(row)) continue;
    --feasible_count_;
    for (Column& column : columns_) column.Remove(column.score(row));
  }
  verdicts_.Move(move);
  move.Apply(aspects_, Aspect::kEverything);
  if (!scored_) return;
  for (std::vector<Column>* columns : {&plain_, &columns_}) {
    for (Column& column : *columns) {
      if (!column.raw.empty()) move.Apply(column.raw);
    }
  }
  move.Apply(plain_totals_);
  move.Apply(totals_, kInfeasible);
}

// After verdicts of any rows.
void ScoreCache::CountFeasible() {
  feasible_count_ = static_cast<int>(absl::c_count(verdicts_.rejectors(), NodeVerdicts::kNone));
  feasible_.clear();
  unlisted_.clear();
  if (feasible_count_ > 0) Unlist({0, verdicts_.rows()});
}

// What feasible_ says of these rows is not right any more.
void ScoreCache::Unlist(RowRange range) {
  constexpr size_t kMost = 8;
  if (unlisted_.size() == kMost) {  // one that has them all
    for (const RowRange& other : unlisted_) {
      range = {std::min(range.begin, other.begin), std::max(range.end, other.end)};
    }
    unlisted_.clear();
  }
  unlisted_.push_back(range);
}

// Rows from first_moved_ on have other numbers now.
void ScoreCache::UnlistMoved() {
  feasible_.erase(absl::c_lower_bound(feasible_, first_moved_), feasible_.end());
  for (RowRange& range : unlisted_) {
    range = {std::min(range.begin, first_moved_), std::min(range.end, first_moved_)};
  }
  Unlist({first_moved_, verdicts_.rows()});
}

// Puts right what feasible_ says of these rows; without a branch a row.
void ScoreCache::ListFeasible(RowRange range) const {
  const uint8_t* const rejectors = verdicts_.rejectors().data();
  const auto count =
      std::count(rejectors + range.begin, rejectors + range.end, NodeVerdicts::kNone);
  const auto begin = absl::c_lower_bound(feasible_, range.begin);
  const auto end = std::lower_bound(begin, feasible_.end(), range.end);
  const auto first = begin - feasible_.begin();
  if (count < end - begin) {
    feasible_.erase(begin + count, end);
  } else {
    feasible_.insert(end, count - (end - begin), 0);
  }
  NodeRow* next = feasible_.data() + first;
  const NodeRow* const last = next + count;
  for (NodeRow row = range.begin; next != last; ++row) {
    *next = row;
    next += is_feasible(row);
  }
}

void ScoreCache::MarkChanged(NodeRow row, Aspects aspects) {
  if (row < 0) return;
  if (aspects_[row] == 0) changed_.push_back(row);
  aspects_[row] |= aspects;
}

// The pod's state, once: these plugins' PreFilter and PreScore do not look at nodes.
Status ScoreCache::Prepare(const NodeTable& nodes) {
  if (prepared_) return Status::Success();
  PreFilterOutcome outcome = framework_.RunPreFilter(state_, *pod_, nodes, plugins_);
  if (!outcome.status.ok()) return std::move(outcome.status);
  narrows_ = outcome.narrowed.node_names.has_value();
  Status status = framework_.RunPreScore(state_, *pod_, nodes, {}, plugins_);
  if (!status.ok()) return status;
  for (const Hook<ScorePlugin>& hook : framework_.score()) {
    if (state_.skips().score >> hook.index & 1) continue;
    const Aspects depends_on = framework_.DependenciesOf(PluginMask{1} << hook.index);
    (hook.extensions != nullptr ? columns_ : plain_)
        .push_back({.hook = &hook, .depends_on = depends_on, .raw = {}});
    depends_on_ |= depends_on;
  }
  for (const Hook<FilterPlugin>& hook : framework_.filter()) {
    const PluginMask plugin = PluginMask{1} << hook.index;
    if ((plugin & plugins_ & ~state_.skips().filter) == 0) continue;
    filters_.push_back({plugin, framework_.DependenciesOf(plugin)});
    depends_on_ |= filters_.back().depends_on;
  }
  if (object_filters_ != 0) depends_on_ |= kOfObjectFilters;
  prepared_ = true;
  return Status::Success();
}

Status ScoreCache::Rebuild(const NodeTable& nodes, const PodInfo& evaluated_pod) {
  Status status = Prepare(nodes);
  if (!status.ok() || narrows_) return status;
  feasible_.resize(nodes.size());
  absl::c_iota(feasible_, 0);
  verdicts_.Reset(nodes.size());
  status = framework_.RunFilterNodes(state_, evaluated_pod, nodes, feasible_, verdicts_);
  if (!status.ok()) return status;
  CountFeasible();
  if (objects_ != nullptr) {
    status = AskObjectFilters(nodes, evaluated_pod, feasible());
    if (!status.ok()) return status;
    CountFeasible();
  }
  rebuilt_ = true;
  return ScoreAnew(nodes);
}

// All feasible rows.
Status ScoreCache::ScoreAnew(const NodeTable& nodes) {
  aspects_.assign(nodes.size(), 0);
  scored_ = feasible_count_ > 0;
  if (!scored_) return Status::Success();

  plain_totals_.assign(nodes.size(), 0);
  for (std::vector<Column>* columns : {&plain_, &columns_}) {
    for (Column& column : *columns) {
      column.raw.clear();
      bool differs = false;
      Status status = ScoreAll(column, differs);
      if (!status.ok()) return status;
    }
  }
  return Renormalize();
}

// Filter and raw scores of one row, by the plugins that depend on what of it changed.
Status ScoreCache::Refilter(NodeRow row, const PodInfo& evaluated_pod) {
  const bool was_feasible = is_feasible(row);
  // Of a row that was rejected, another plugin may be the first to reject it now.
  const Aspects aspects = was_feasible ? aspects_[row] : Aspect::kEverything;
  const Status status = FilterAgain(row, aspects, evaluated_pod);
  if (status.IsError()) return status;
  SetVerdict(row, status);
  if (was_feasible != status.ok()) {
    Unlist({row, row + 1});
    feasible_count_ += status.ok() ? 1 : -1;
    if (was_feasible) {
      for (Column& column : columns_) column.Remove(column.score(row));
    }
  }
  return status.ok() ? ScoreAgain(row, aspects, was_feasible) : Status::Success();
}

Status ScoreCache::FilterAgain(NodeRow row, Aspects aspects, const PodInfo& evaluated_pod) {
  PluginMask concerned = 0;
  for (const Participant& filter : filters_) {
    if (Concerns(aspects, filter.depends_on)) concerned |= filter.plugin;
  }
  const auto filter = [&](CycleState& state) {
    return framework_.RunFilterWithNominatedPods(state, evaluated_pod, nodes_->node(row));
  };
  Status status;
  if (concerned != 0) status = AskOnly(concerned, state_, [&] { return filter(state_); });
  const bool ask_objects = objects_ != nullptr && Concerns(aspects, kOfObjectFilters);
  if (!status.ok() || !ask_objects) return status;
  return AskOnly(object_filters_, *objects_, [&] { return filter(*objects_); });
}

void ScoreCache::SetVerdict(NodeRow row, const Status& status) {
  if (status.ok()) {
    verdicts_.Accept(row);
  } else {
    verdicts_.Reject(row, status.code(), framework_.FilterIndex(status.plugin_symbol()));
  }
}

Status ScoreCache::ScoreAgain(NodeRow row, Aspects aspects, bool was_feasible) {
  if (!was_feasible) plain_totals_[row] = 0;
  for (Column& column : plain_) {
    if (!Concerns(aspects, column.depends_on)) continue;
    int64_t score = 0;
    Status status = ScoreRow(column, row, score);
    if (status.ok()) status = framework_.CheckScores(*column.hook, {&score, 1});
    if (!status.ok()) return status;
    const int64_t before = was_feasible ? column.score(row) : 0;
    plain_totals_[row] += (score - before) * framework_.ScoreFactor(*column.hook);
    column.SetScore(row, score, nodes_->size());
  }
  for (Column& column : columns_) {
    if (!Concerns(aspects, column.depends_on)) continue;
    int64_t score = 0;
    Status status = ScoreRow(column, row, score);
    if (!status.ok()) return status;
    if (was_feasible) column.Remove(column.score(row));
    column.SetScore(row, score, nodes_->size());
    column.Add(score);
  }
  return Status::Success();
}

// All feasible rows; sets `differs` if one of the scores is another than it was.
Status ScoreCache::ScoreAll(Column& column, bool& differs) {
  const bool plain = column.hook->extensions == nullptr;
  const absl::Span<const NodeRow> rows = feasible();
  std::vector<int64_t> scores(rows.size());
  Status status =
      framework_.RunScorePlugin(*column.hook, state_, *pod_, *nodes_, rows, absl::MakeSpan(scores));
  if (status.ok() && plain) status = framework_.CheckScores(*column.hook, scores);
  if (!status.ok()) return status;
  const int64_t factor = plain ? framework_.ScoreFactor(*column.hook) : 0;
  const bool stays_zero =
      column.raw.empty() && absl::c_all_of(scores, [](int64_t score) { return score == 0; });
  if (!stays_zero) {
    column.raw.resize(nodes_->size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t more = scores[i] - std::exchange(column.raw[rows[i]], scores[i]);
      plain_totals_[rows[i]] += more * factor;
      differs |= more != 0;
    }
  }
  if (!plain) FindExtremes(column);
  return Status::Success();
}

Status ScoreCache::ScoreRow(const Column& column, NodeRow row, int64_t& score) const {
  return framework_.RunScorePlugin(*column.hook, state_, *pod_, *nodes_, {&row, 1}, {&score, 1});
}

// What one row's raw score comes to among the others: SignPlugin's contract lets the extremes stand
// for them.
Status ScoreCache::Normalized(const Column& column, NodeRow row, int64_t& score) const {
  const NodeRow rows[] = {row, row, row};
  int64_t scores[] = {column.score(row), column.low, column.high};
  Status status =
      framework_.RunNormalizeScores(*column.hook, state_, *pod_, rows, absl::MakeSpan(scores));
  score = scores[0];
  return status;
}

void ScoreCache::PrefetchRow(NodeRow row) const {
  if (row < 0 || row >= static_cast<NodeRow>(totals_.size())) return;
  Prefetch(&totals_[row]);
  Prefetch(&plain_totals_[row]);
  Prefetch(&aspects_[row]);
  for (const std::vector<Column>* columns : {&plain_, &columns_}) {
    for (const Column& column : *columns) {
      if (!column.raw.empty()) Prefetch(&column.raw[row]);
    }
  }
}

NodeRow ScoreCache::BestBut(NodeRow row) const { return best_.BestBut(row, ByTotal(totals_)); }

NodeRow ScoreCache::BestThat(absl::FunctionRef<bool(NodeRow)> accepts, int most) {
  NodeRow row = best_.best();
  std::vector<std::pair<NodeRow, int64_t>> refused;  // and their totals
  while (row >= 0 && !accepts(row)) {
    refused.push_back({row, std::exchange(totals_[row], kInfeasible)});
    best_.Update(row, ByTotal(totals_));
    row = static_cast<int>(refused.size()) < most ? best_.best() : -1;
  }
  for (const auto& [back, total] : refused) {
    totals_[back] = total;
    best_.Update(back, ByTotal(totals_));
  }
  return row;
}

Status ScoreCache::TotalsOf(absl::Span<const NodeRow> rows, absl::Span<int64_t> totals) const {
  if (uniform() || rows.size() == static_cast<size_t>(feasible_count_)) {
    for (size_t i = 0; i < rows.size(); ++i) totals[i] = totals_[rows[i]];
    return Status::Success();
  }
  for (size_t i = 0; i < rows.size(); ++i) totals[i] = plain_totals_[rows[i]];
  std::vector<int64_t> scores(rows.size());
  for (const Column& column : columns_) {
    for (size_t i = 0; i < rows.size(); ++i) scores[i] = column.score(rows[i]);
    Status status =
        framework_.RunNormalizeScores(*column.hook, state_, *pod_, rows, absl::MakeSpan(scores));
    if (!status.ok()) return status;
    for (size_t i = 0; i < rows.size(); ++i)
      totals[i] += scores[i] * framework_.ScoreFactor(*column.hook);
  }
  return Status::Success();
}

void ScoreCache::NoteAllChanged() {
  changes_.Restart();
  looked_at_all_ = true;
}

// The totals of all feasible rows, and the order of them.
Status ScoreCache::Renormalize() {
  totals_.assign(nodes_->size(), kInfeasible);
  const absl::Span<const NodeRow> rows = feasible();
  for (const NodeRow row : rows) totals_[row] = plain_totals_[row];
  std::vector<int64_t> scores;
  for (const Column& column : columns_) {
    if (rows.empty()) break;
    const int64_t factor = framework_.ScoreFactor(*column.hook);
    if (column.uniform()) {  // the extremes stand for all
      int64_t score = 0;
      Status status = Normalized(column, rows.front(), score);
      if (!status.ok()) return status;
      for (const NodeRow row : rows) totals_[row] += score * factor;
      continue;
    }
    scores.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) scores[i] = column.score(rows[i]);
    Status status =
        framework_.RunNormalizeScores(*column.hook, state_, *pod_, rows, absl::MakeSpan(scores));
    if (!status.ok()) return status;
    for (size_t i = 0; i < rows.size(); ++i) totals_[rows[i]] += scores[i] * factor;
  }
  best_.Build(static_cast<int>(totals_.size()), ByTotal(totals_));
  NoteAllChanged();
  return Status::Success();
}

}  // namespace berth
