// SPDX-License-Identifier: Apache-2.0
// Implementation of score_cache.h.
#include "evaluation/incremental/score_cache.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/check.h"
#include "berth/prefetch.h"
#include "evaluation/diagnosis.h"
#include "framework/nominated_rows.h"
#include "table/far_behind.h"

namespace berth {
namespace {

// When so many rows changed, the batch forms are faster than row by row.
bool IsMany(size_t changed, size_t rows) { return changed > 16 + rows / 16; }

// Aspects that concern object filters. kObjects marks a row whose objects may have changed though
// its node did not; no other plugin of a ScoreCache depends on it.
constexpr Aspects kOfObjectFilters = Aspect::kOfPods | Aspect::kOfNodeObject | Aspect::kObjects;

// With more nominated pods that count for a pod, their nodes are not evaluated in each cycle.
constexpr int kMostNominated = 16;

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

ScoreCache::ScoreCache(const Framework& framework, std::shared_ptr<const PodInfo> pod,
                       PluginMask plugins, PluginMask object_filters)
    : framework_(framework),
      pod_(std::move(pod)),
      plugins_(plugins),
      object_filters_(object_filters),
      node_changes_(framework, plugins),
      columns_(framework, *pod_, state_, feasible_) {}

bool ScoreCache::IsWorthwhile(const ObjectInputs& objects, const Nominator& nominator,
                              const PodInfo& evaluated_pod) {
  if (objects.inputs.empty()) return false;
  int nominated = 0;
  nominator.ForEach([&](const PodInfo& pod, absl::string_view) {
    nominated += CountsForPriority(pod, evaluated_pod.priority()) ? 1 : 0;
  });
  return nominated <= kMostNominated && inputs_.AreStable(objects.inputs);
}

Status ScoreCache::Refresh(const NodeTable& nodes, const Nominator& nominator,
                           const PodInfo& evaluated_pod, const ObjectInputs* objects) {
  BERTH_DCHECK((objects != nullptr) == (object_filters_ != 0));
  nodes_ = &nodes;
  objects_ = objects == nullptr ? nullptr : &objects->state;
  rebuilt_ = read_all_rows_ = false;
  if (narrows_) return Status::Success();
  const bool rebuild = !CollectChanged(nodes, nominator, evaluated_pod);
  version_ = nodes.version();
  nominations_version_ = nominator.version();
  evaluated_priority_ = evaluated_pod.priority();
  const bool other_inputs = std::exchange(inputs_version_, inputs_.version()) != inputs_.version();
  if (rebuild) return Rebuild(nodes, evaluated_pod);
  const bool have_moved = first_moved_ != kNothingMoved;
  if (have_moved && scored_) feasible_.Renumber(first_moved_);
  if (other_inputs) {
    bool scored_anew = false;
    Status status = AdoptInputs(nodes, evaluated_pod, scored_anew);
    if (!status.ok() || scored_anew) return status;
  }
  if (!scored_) return LookForFeasible(nodes, evaluated_pod);
  if (changed_.empty() && !have_moved && !spread_changed_) return Status::Success();

  const ScoreColumns::Extremes extremes = columns_.extremes();
  for (const NodeRow row : changed_) {
    Status status = Refilter(row, evaluated_pod);
    if (!status.ok()) return status;
    aspects_[row] = 0;
  }
  bool all_differ = false;
  if (spread_changed_) {
    Status status = columns_.ScoreBySpread(nodes, all_differ);
    if (!status.ok()) return status;
  }
  all_differ |= columns_.FindExtremes(extremes);
  if (all_differ) return Renormalize();
  if (have_moved) {
    columns_.Sort(first_moved_);
    NoteAllChanged();
  }
  for (const NodeRow row : changed_) {
    Status status = columns_.UpdateTotal(row);
    if (!status.ok()) return status;
    changes_.Add(row, nodes.size());
  }
  return Status::Success();
}

// Where nothing was feasible: whether that is still so.
Status ScoreCache::LookForFeasible(const NodeTable& nodes, const PodInfo& evaluated_pod) {
  for (const NodeRow row : changed_) {
    Status status = FilterAgain(row, Aspect::kEverything, evaluated_pod);
    if (status.IsError()) return status;
    if (status.ok()) return Rebuild(nodes, evaluated_pod);
    SetVerdict(row, status);
    aspects_[row] = 0;
  }
  return Status::Success();
}

// Object filters have other inputs now: asks them again about rows that nobody else rejects.
// Sets `scored_anew` if others are feasible then, and everything is up to date.
Status ScoreCache::AdoptInputs(const NodeTable& nodes, const PodInfo& evaluated_pod,
                               bool& scored_anew) {
  const std::vector<NodeRow> before(feasible().begin(), feasible().end());
  std::vector<NodeRow> rows;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (feasible_.contains(row) || IsObjectFilter(verdicts().rejector(row))) rows.push_back(row);
  }
  Status status = AskObjectFilters(nodes, evaluated_pod, rows);
  if (!status.ok()) return status;
  feasible_.Count();
  if (feasible() == absl::MakeConstSpan(before)) return Status::Success();
  for (const NodeRow row : changed_) {
    status = FilterAgain(row, Aspect::kEverything, evaluated_pod);
    if (status.IsError()) return status;
    SetVerdict(row, status);
  }
  feasible_.Count();
  scored_anew = true;
  return ScoreAnew(nodes);
}

Status ScoreCache::AskObjectFilters(const NodeTable& nodes, const PodInfo& evaluated_pod,
                                    absl::Span<const NodeRow> rows) {
  return AskOnly(object_filters_, *objects_, [&] {
    return framework_.nomination_filter().RunFilterNodesWithNominatedPods(
        *objects_, evaluated_pod, nodes, rows, feasible_.unlisted_verdicts());
  });
}

bool ScoreCache::IsObjectFilter(uint8_t filter) const {
  return filter < framework_.plugins().filter.size() &&
         (object_filters_ & MaskOf(framework_.plugins().filter[filter])) != 0;
}

// Fills changed_ with the rows to be filtered again, each once, and moves everything as the rows
// did. False if it is all of them.
bool ScoreCache::CollectChanged(const NodeTable& nodes, const Nominator& nominator,
                                const PodInfo& evaluated_pod) {
  const auto nominations = nominator.ChangesSince(nominations_version_);
  const Symbol last_own_node = std::exchange(
      own_node_, Symbol::Find(nominator.NominatedNode(evaluated_pod)).value_or(Symbol()));
  // Read in any case: this may be followed by a look at all rows.
  std::vector<Symbol> changed_nodes;
  const bool followed = node_changes_.CatchUp(state_.skips().filter,
                                              [&](Symbol node) { changed_nodes.push_back(node); });
  if (version_ == 0 || !nominations.has_value() || !followed) return false;
  if (IsFarBehind(nodes, version_) || !CatchUp(nodes)) return false;
  const auto mark = [&](Symbol node, Aspects aspects) {
    if (!node.empty()) MarkChanged(nodes.FindRow(node), aspects);
  };
  for (const Symbol node : changed_nodes) mark(node, Aspect::kNodeOther);
  const auto mark_all_of = [&](Symbol node) { mark(node, Aspect::kEverything); };
  for (const Symbol node : *nominations) mark_all_of(node);
  // A pod's own nomination does not count for it.
  mark_all_of(last_own_node);
  mark_all_of(own_node_);
  // Claims of nominated pods count on their node, and may change while it does not.
  if (object_filters_ != 0) {
    nominator.ForEach([&](const PodInfo& pod, absl::string_view node) {
      if (!CountsForPriority(pod, evaluated_pod.priority())) return;
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

// What became of the rows since the last Refresh(). False if all of them are to be filtered again.
bool ScoreCache::CatchUp(const NodeTable& nodes) {
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

// Nodes came, which are to be filtered, or went.
void ScoreCache::Move(const RowMove& move) {
  first_moved_ = std::min(first_moved_, move.first());
  for (const NodeRow row : move.gone()) {
    if (feasible_.contains(row)) columns_.Remove(row);
  }
  feasible_.Move(move);
  move.Apply(aspects_, Aspect::kEverything);
  if (scored_) columns_.Move(move);
}

void ScoreCache::MarkChanged(NodeRow row, Aspects aspects) {
  if (row < 0) return;
  if (aspects_[row] == 0) changed_.push_back(row);
  aspects_[row] |= aspects;
}

// The pod's state, once: these plugins' PreFilter and PreScore do not look at nodes.
Status ScoreCache::Prepare(const NodeTable& nodes) {
  if (prepared_) return Status::Success();
  PreFilterOutcome outcome = framework_.filters().RunPreFilter(state_, *pod_, nodes, plugins_);
  if (!outcome.status.ok()) return std::move(outcome.status);
  narrows_ = outcome.narrowed.node_names.has_value();
  Status status = framework_.scores().RunPreScore(state_, *pod_, nodes, {}, plugins_);
  if (!status.ok()) return status;
  depends_on_ = columns_.AddPlugins();
  for (const Hook<FilterPlugin>& hook : framework_.plugins().filter) {
    const PluginMask plugin = MaskOf(hook);
    if ((plugin & plugins_ & ~state_.skips().filter) == 0) continue;
    filters_.push_back({plugin, framework_.signer().DependenciesOf(plugin)});
    depends_on_ |= filters_.back().depends_on;
  }
  if (object_filters_ != 0) depends_on_ |= kOfObjectFilters;
  prepared_ = true;
  return Status::Success();
}

Status ScoreCache::Rebuild(const NodeTable& nodes, const PodInfo& evaluated_pod) {
  Status status = Prepare(nodes);
  if (!status.ok() || narrows_) return status;
  const absl::Span<const NodeRow> all = feasible_.Reset(nodes.size());
  status = framework_.nomination_filter().RunFilterNodesWithNominatedPods(
      state_, evaluated_pod, nodes, all, feasible_.unlisted_verdicts());
  if (!status.ok()) return status;
  feasible_.Count();
  if (objects_ != nullptr) {
    status = AskObjectFilters(nodes, evaluated_pod, feasible());
    if (!status.ok()) return status;
    feasible_.Count();
  }
  rebuilt_ = true;
  return ScoreAnew(nodes);
}

// All feasible rows.
Status ScoreCache::ScoreAnew(const NodeTable& nodes) {
  aspects_.assign(nodes.size(), 0);
  scored_ = feasible_.count() > 0;
  if (!scored_) return Status::Success();
  Status status = columns_.Score(nodes);
  if (status.ok()) NoteAllChanged();
  return status;
}

// Filter and raw scores of one row, by the plugins that depend on what of it changed.
Status ScoreCache::Refilter(NodeRow row, const PodInfo& evaluated_pod) {
  const bool was_feasible = feasible_.contains(row);
  // Of a row that was rejected, another plugin may be the first to reject it now.
  const Aspects aspects = was_feasible ? aspects_[row] : Aspect::kEverything;
  Status status = FilterAgain(row, aspects, evaluated_pod);
  if (status.IsError()) return status;
  SetVerdict(row, status);
  if (status.ok()) return columns_.ScoreRow(*nodes_, row, aspects, was_feasible);
  if (was_feasible) columns_.Remove(row);
  return Status::Success();
}

Status ScoreCache::FilterAgain(NodeRow row, Aspects aspects, const PodInfo& evaluated_pod) {
  PluginMask concerned = 0;
  for (const Participant& filter : filters_) {
    if (Concerns(aspects, filter.depends_on)) concerned |= filter.plugin;
  }
  const auto filter = [&](CycleState& state) {
    return framework_.nomination_filter().RunFilterWithNominatedPods(state, evaluated_pod,
                                                                     nodes_->node(row));
  };
  Status status;
  if (concerned != 0) status = AskOnly(concerned, state_, [&] { return filter(state_); });
  const bool ask_objects = objects_ != nullptr && Concerns(aspects, kOfObjectFilters);
  if (!status.ok() || !ask_objects) return status;
  return AskOnly(object_filters_, *objects_, [&] { return filter(*objects_); });
}

void ScoreCache::SetVerdict(NodeRow row, const Status& status) {
  feasible_.Set(row, status,
                status.ok() ? NodeVerdicts::kNoRejector
                            : framework_.plugins().FilterIndex(status.plugin_symbol()));
}

Status ScoreCache::Renormalize() {
  Status status = columns_.Renormalize(nodes_->size());
  if (status.ok()) NoteAllChanged();
  return status;
}

void ScoreCache::NoteAllChanged() {
  changes_.Restart();
  read_all_rows_ = true;
}

void ScoreCache::PrefetchRow(NodeRow row) const {
  if (row >= 0 && row < static_cast<NodeRow>(aspects_.size())) Prefetch(&aspects_[row]);
  columns_.PrefetchRow(row);
}

}  // namespace berth
