// Implementation of ranked_nodes.h.
#include "engine/ranked_nodes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/check.h"

namespace berth {
namespace {

// Whether a plugin is to be asked again; of a row that was rejected before, every one.
bool Concerns(Aspects changed, Aspects depends_on) {
  return changed == Aspect::kEverything || (changed & depends_on) != 0;
}

// When so many rows changed, the batch forms are faster than row by row.
bool IsMany(size_t changed, size_t rows) { return changed > 16 + rows / 16; }

}  // namespace

// --- BestRow ---

void BestRow::Reset(int size) {
  leaves_ = 1;
  while (leaves_ < size) leaves_ *= 2;
  winners_.assign(2 * leaves_, -1);
}

namespace {

NodeRow Better(NodeRow left, NodeRow right, absl::Span<const int64_t> totals) {
  if (left < 0) return right;
  if (right < 0) return left;
  return totals[left] >= totals[right] ? left : right;
}

}  // namespace

void BestRow::Build(absl::Span<const int64_t> totals) {
  for (int i = leaves_ - 1; i >= 1; --i) {
    winners_[i] = Better(winners_[2 * i], winners_[2 * i + 1], totals);
  }
}

void BestRow::Update(NodeRow row, absl::Span<const int64_t> totals) {
  for (int i = (leaves_ + row) / 2; i >= 1; i /= 2) {
    winners_[i] = Better(winners_[2 * i], winners_[2 * i + 1], totals);
  }
}

// --- Extremes ---

void RankedNodes::Column::Add(int64_t score) {
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
void RankedNodes::Column::Remove(int64_t score) {
  --count;
  at_low -= score == low;
  at_high -= score == high;
}

void RankedNodes::FindExtremes(Column& column) const {
  column.count = column.at_low = column.at_high = 0;
  for (const NodeRow row : feasible_) column.Add(column.raw[row]);
}

// --- RankedNodes ---

RankedNodes::RankedNodes(const Framework& framework, std::shared_ptr<const PodInfo> pod,
                         PluginMask plugins)
    : framework_(framework), pod_(std::move(pod)), plugins_(plugins) {}

Status RankedNodes::Refresh(const NodeTable& nodes, const Nominator& nominator,
                            const PodInfo& asker) {
  nodes_ = &nodes;
  if (narrows_) return Status::Success();
  const bool rebuild = !CollectChanged(nodes, nominator, asker);
  version_ = nodes.version();
  nominations_version_ = nominator.version();
  asker_priority_ = asker.priority();
  if (rebuild) return Rebuild(nodes, asker);
  if (changed_.empty()) return Status::Success();

  std::vector<std::pair<int64_t, int64_t>> extremes;
  for (const Column& column : columns_) extremes.push_back({column.low, column.high});
  for (const NodeRow row : changed_) {
    Status status = JudgeAgain(row, asker);
    if (!status.ok()) return status;
    aspects_[row] = 0;
  }
  bool moved = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    Column& column = columns_[i];
    if (column.at_low == 0 || column.at_high == 0) FindExtremes(column);
    moved |= extremes[i] != std::pair(column.low, column.high);
  }
  if (moved) return Renormalize();
  for (const NodeRow row : changed_) {
    int64_t total = plain_totals_[row];
    for (const Column& column : columns_) {
      if (!is_feasible(row)) break;
      int64_t score = 0;
      Status status = Normalized(column, row, score);
      if (!status.ok()) return status;
      total += score * framework_.ScoreFactor(*column.hook);
    }
    totals_[row] = total;
    best_.Set(row, is_feasible(row));
    best_.Update(row, totals_);
  }
  return Status::Success();
}

// Fills changed_ with the rows to be judged again, each once. False if it is all of them.
bool RankedNodes::CollectChanged(const NodeTable& nodes, const Nominator& nominator,
                                 const PodInfo& asker) {
  const auto row_of = [&](absl::string_view node_name) {
    const std::optional<Symbol> name = Symbol::Find(node_name);
    return name.has_value() ? nodes.FindRow(*name) : -1;
  };
  const NodeRow last_own_row = own_row_;
  own_row_ = row_of(nominator.NominatedNode(asker));
  const auto changes = nodes.ChangesSince(version_);
  const auto nominations = nominator.ChangesSince(nominations_version_);
  if (version_ == 0 || !changes.has_value() || !nominations.has_value()) return false;
  changed_.clear();
  bool all = false;
  for (const RowChange& change : *changes) {
    const Aspects aspects = change.aspects & depends_on_;
    if (aspects == 0) continue;
    all |= (aspects & Aspect::kImageSpread) != 0;
    MarkChanged(change.row, aspects);
  }
  const auto mark_all_of = [&](NodeRow row) { MarkChanged(row, Aspect::kEverything); };
  for (const Symbol name : *nominations) mark_all_of(nodes.FindRow(name));
  // Nobody leaves room for itself.
  mark_all_of(last_own_row);
  mark_all_of(own_row_);
  if (asker.priority() != asker_priority_) {
    nominator.ForEach([&](const PodInfo&, absl::string_view name) { mark_all_of(row_of(name)); });
  }
  return !all && !IsMany(changed_.size(), nodes.size());
}

void RankedNodes::MarkChanged(NodeRow row, Aspects aspects) {
  if (row < 0) return;
  if (aspects_[row] == 0) changed_.push_back(row);
  aspects_[row] |= aspects;
}

// The pod's state, once: these plugins' PreFilter and PreScore do not look at nodes.
Status RankedNodes::Prepare(const NodeTable& nodes) {
  if (prepared_) return Status::Success();
  PreFilterOutcome outcome = framework_.RunPreFilter(state_, *pod_, nodes, plugins_);
  if (!outcome.status.ok()) return std::move(outcome.status);
  narrows_ = outcome.narrowed.node_names.has_value();
  Status status = framework_.RunPreScore(state_, *pod_, nodes, {}, plugins_);
  if (!status.ok()) return status;
  for (const Hook<ScorePlugin>& hook : framework_.score()) {
    if (state_.skips().score >> hook.index & 1) continue;
    const Aspects depends_on = framework_.DependenciesOf(PluginMask{1} << hook.index);
    (hook.plugin->Normalizes() ? columns_ : plain_)
        .push_back({.hook = &hook, .depends_on = depends_on, .raw = {}});
    depends_on_ |= depends_on;
  }
  for (const Hook<FilterPlugin>& hook : framework_.filter()) {
    const PluginMask plugin = PluginMask{1} << hook.index;
    if ((plugin & plugins_ & ~state_.skips().filter) == 0) continue;
    filters_.push_back({plugin, framework_.DependenciesOf(plugin)});
    depends_on_ |= filters_.back().depends_on;
  }
  prepared_ = true;
  return Status::Success();
}

Status RankedNodes::Rebuild(const NodeTable& nodes, const PodInfo& asker) {
  Status status = Prepare(nodes);
  if (!status.ok() || narrows_) return status;
  feasible_.resize(nodes.size());
  for (NodeRow row = 0; row < nodes.size(); ++row) feasible_[row] = row;
  verdicts_.Reset(nodes.size());
  status = framework_.RunFilterNodes(state_, asker, nodes, feasible_, verdicts_);
  if (!status.ok()) return status;
  rejected_by_.fill(0);
  for (NodeRow row = 0; row < nodes.size(); ++row) ++rejected_by_[verdicts_.rejector(row)];
  rejections_known_ = false;
  std::erase_if(feasible_, [&](NodeRow row) { return !is_feasible(row); });

  aspects_.assign(nodes.size(), 0);
  plain_totals_.assign(nodes.size(), 0);
  scores_.resize(feasible_.size());
  const auto score = [&](const Hook<ScorePlugin>& hook) {
    std::fill(scores_.begin(), scores_.end(), 0);
    return framework_.RunScorePlugin(hook, state_, *pod_, nodes, feasible_,
                                     absl::MakeSpan(scores_));
  };
  const auto fill = [&](Column& column) {
    column.raw.assign(nodes.size(), 0);
    for (size_t i = 0; i < feasible_.size(); ++i) column.raw[feasible_[i]] = scores_[i];
  };
  for (Column& column : plain_) {
    status = score(*column.hook);
    if (status.ok()) status = framework_.CheckScores(*column.hook, scores_);
    if (!status.ok()) return status;
    fill(column);
    for (size_t i = 0; i < feasible_.size(); ++i) {
      plain_totals_[feasible_[i]] += scores_[i] * framework_.ScoreFactor(*column.hook);
    }
  }
  for (Column& column : columns_) {
    status = score(*column.hook);
    if (!status.ok()) return status;
    fill(column);
    FindExtremes(column);
  }
  totals_.resize(nodes.size());
  return Renormalize();
}

// Filter and raw scores of one row, by the plugins that depend on what of it changed.
Status RankedNodes::JudgeAgain(NodeRow row, const PodInfo& asker) {
  const bool was_feasible = is_feasible(row);
  // Of a row that was rejected, another plugin may be the first to reject it now.
  const Aspects aspects = was_feasible ? aspects_[row] : Aspect::kEverything;
  const Status status = FilterAgain(row, aspects, asker);
  if (status.IsError()) return status;
  SetVerdict(row, status);
  if (was_feasible != status.ok()) {
    const auto at = std::lower_bound(feasible_.begin(), feasible_.end(), row);
    if (was_feasible) {
      feasible_.erase(at);
      for (Column& column : columns_) column.Remove(column.raw[row]);
    } else {
      feasible_.insert(at, row);
    }
  }
  return status.ok() ? ScoreAgain(row, aspects, was_feasible) : Status::Success();
}

Status RankedNodes::FilterAgain(NodeRow row, Aspects aspects, const PodInfo& asker) {
  PluginMask concerned = 0;
  for (const Participant& filter : filters_) {
    if (Concerns(aspects, filter.depends_on)) concerned |= filter.plugin;
  }
  uint64_t& skips = state_.skips().filter;
  const uint64_t always_skipped = std::exchange(skips, skips | ~concerned);
  Status status = framework_.RunFilterWithNominatedPods(state_, asker, nodes_->node(row));
  skips = always_skipped;
  return status;
}

void RankedNodes::SetVerdict(NodeRow row, const Status& status) {
  --rejected_by_[verdicts_.rejector(row)];
  if (status.ok()) {
    verdicts_.Accept(row);
  } else {
    verdicts_.Reject(row, status.code(), framework_.FilterIndex(status.plugin_symbol()));
  }
  ++rejected_by_[verdicts_.rejector(row)];
  if (rejections_known_) rejections_.Set(row, status);
}

ReasonCounts RankedNodes::CountRejections(const PodInfo& asker) {
  if (!rejections_known_) {
    rejections_.Reset(nodes_->size());
    for (NodeRow row = 0; row < nodes_->size(); ++row) {
      if (is_feasible(row)) continue;
      rejections_.Set(row, framework_.RunFilterWithNominatedPods(state_, asker, nodes_->node(row)));
    }
    rejections_known_ = true;
  }
  return rejections_.Count();
}

Status RankedNodes::ScoreAgain(NodeRow row, Aspects aspects, bool was_feasible) {
  if (!was_feasible) plain_totals_[row] = 0;
  for (Column& column : plain_) {
    if (!Concerns(aspects, column.depends_on)) continue;
    int64_t score = 0;
    Status status = ScoreRow(column, row, score);
    if (status.ok()) status = framework_.CheckScores(*column.hook, {&score, 1});
    if (!status.ok()) return status;
    const int64_t before = was_feasible ? column.raw[row] : 0;
    plain_totals_[row] += (score - before) * framework_.ScoreFactor(*column.hook);
    column.raw[row] = score;
  }
  for (Column& column : columns_) {
    if (!Concerns(aspects, column.depends_on)) continue;
    int64_t score = 0;
    Status status = ScoreRow(column, row, score);
    if (!status.ok()) return status;
    if (was_feasible) column.Remove(column.raw[row]);
    column.raw[row] = score;
    column.Add(score);
  }
  return Status::Success();
}

Status RankedNodes::ScoreRow(const Column& column, NodeRow row, int64_t& score) const {
  return framework_.RunScorePlugin(*column.hook, state_, *pod_, *nodes_, {&row, 1}, {&score, 1});
}

// What one row's raw score comes to among the others: SignPlugin's contract lets the extremes stand
// for them.
Status RankedNodes::Normalized(const Column& column, NodeRow row, int64_t& score) const {
  const NodeRow rows[] = {row, row, row};
  int64_t scores[] = {column.raw[row], column.low, column.high};
  Status status =
      framework_.RunNormalizeScores(*column.hook, state_, *pod_, rows, absl::MakeSpan(scores));
  score = scores[0];
  return status;
}

NodeRow RankedNodes::BestThat(absl::FunctionRef<bool(NodeRow)> accepts, int most) {
  NodeRow row = best_.best();
  std::vector<NodeRow> refused;
  while (row >= 0 && !accepts(row)) {
    refused.push_back(row);
    best_.Set(row, false);
    best_.Update(row, totals_);
    row = static_cast<int>(refused.size()) < most ? best_.best() : -1;
  }
  for (const NodeRow back : refused) {
    best_.Set(back, true);
    best_.Update(back, totals_);
  }
  return row;
}

Status RankedNodes::TotalsOf(absl::Span<const NodeRow> rows, absl::Span<int64_t> totals) const {
  if (uniform() || rows.size() == feasible_.size()) {
    for (size_t i = 0; i < rows.size(); ++i) totals[i] = totals_[rows[i]];
    return Status::Success();
  }
  for (size_t i = 0; i < rows.size(); ++i) totals[i] = plain_totals_[rows[i]];
  std::vector<int64_t> scores(rows.size());
  for (const Column& column : columns_) {
    for (size_t i = 0; i < rows.size(); ++i) scores[i] = column.raw[rows[i]];
    Status status =
        framework_.RunNormalizeScores(*column.hook, state_, *pod_, rows, absl::MakeSpan(scores));
    if (!status.ok()) return status;
    for (size_t i = 0; i < rows.size(); ++i)
      totals[i] += scores[i] * framework_.ScoreFactor(*column.hook);
  }
  return Status::Success();
}

// The totals of all feasible rows, and the order of them.
Status RankedNodes::Renormalize() {
  for (const NodeRow row : feasible_) totals_[row] = plain_totals_[row];
  for (const Column& column : columns_) {
    scores_.resize(feasible_.size());
    for (size_t i = 0; i < feasible_.size(); ++i) scores_[i] = column.raw[feasible_[i]];
    Status status = framework_.RunNormalizeScores(*column.hook, state_, *pod_, feasible_,
                                                  absl::MakeSpan(scores_));
    if (!status.ok()) return status;
    for (size_t i = 0; i < feasible_.size(); ++i) {
      totals_[feasible_[i]] += scores_[i] * framework_.ScoreFactor(*column.hook);
    }
  }
  best_.Reset(nodes_->size());
  for (const NodeRow row : feasible_) best_.Set(row, true);
  best_.Build(totals_);
  return Status::Success();
}

}  // namespace berth
