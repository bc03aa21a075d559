// Implementation of scheduling_cycle.h.
#include "engine/scheduling_cycle.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "evaluation/diagnosis.h"

namespace berth {
namespace {

constexpr int kMinFeasibleNodesToFind = 100;
// Rows asked about one by one, before classes are, where there are such, or it may pay to keep what
// is said of them; and before all are.
constexpr int kFewTries = 8;
constexpr int kMostTries = 64;
constexpr int kPartialSearchBlock = 256;  // rows judged between two looks at the count

// Whether one of `plugins` is among the hooks.
template <class Hooks>
bool TakesPart(const Hooks& hooks, PluginMask plugins) {
  return absl::c_any_of(hooks, [&](const auto& hook) { return (plugins >> hook.index & 1) != 0; });
}

// Whether a filter of which `ranked` knows nothing goes by objects.
bool OthersGoByObjects(const Framework& framework, const CycleState& state,
                       const ScoreCache& ranked) {
  const PluginMask others = framework.ObjectFilters() & ~ranked.filters();
  return TakesPart(framework.filter(), others & ~state.skips().filter);
}

}  // namespace

int FeasibleNodesToFind(int nodes, int percentage, bool scores) {
  if (!scores) return 1;  // nothing tells them apart: the first will do
  if (percentage == 0 || percentage >= 100 || nodes < kMinFeasibleNodesToFind) return nodes;
  return std::max(nodes * percentage / 100, kMinFeasibleNodesToFind);
}

CycleResult SchedulingCycle::Run(const Framework& framework, CycleState& state,
                                 const std::shared_ptr<const PodInfo>& shared_pod,
                                 const NodeTable& nodes, const Nominator& nominator,
                                 const Limits& limits) {
  const PodInfo& pod = *shared_pod;
  const int percentage = limits.percentage;
  const Inputs in = {framework, shared_pod, pod, nodes, nominator, limits.steps_at_once};
  CycleResult result;
  last_verdicts_ = &verdicts_;
  expected_ = -1;
  tried_to_keep_ = false;
  if (nodes.size() == 0) {
    // Whichever plugin would like a node that comes wakes the pod.
    for (const Hook<FilterPlugin>& hook : framework.filter()) {
      result.rejecting_plugins.push_back(hook.name);
    }
    result.status = Status::Unschedulable("no nodes available to schedule pods");
    return result;
  }
  const bool whole =
      FeasibleNodesToFind(nodes.size(), percentage, !framework.score().empty()) >= nodes.size();
  const bool with_memory = memory_on_ && whole;
  const bool nominated = !nominator.NominatedNode(pod).empty();
  if (with_memory && !nominated && RunFromMemory(in, state, result)) {
    return result;
  }
  PreFilterOutcome pre_filter = framework.RunPreFilter(state, pod, nodes);
  if (!pre_filter.status.ok()) {
    result.pre_filter_rejected = pre_filter.status.IsRejected();
    result.rejecting_plugins = std::move(pre_filter.narrowing_plugins);
    if (result.pre_filter_rejected && !pre_filter.status.plugin().empty()) {
      result.rejecting_plugins.push_back(pre_filter.status.plugin_symbol());
    }
    result.status = std::move(pre_filter.status);
    return result;
  }
  result.left_out = std::move(pre_filter.left_out);
  if (TryNominatedNode(in, state, pre_filter.narrowed, result)) {
    return result;
  }
  if (with_memory && nominated && !pre_filter.narrowed.node_names.has_value() &&
      RunFromMemory(in, state, result)) {
    return result;
  }
  verdicts_.Reset(nodes.size());
  ListRows(nodes, pre_filter.narrowed);
  const int wanted =
      FeasibleNodesToFind(static_cast<int>(rows_.size()), percentage, !framework.score().empty());
  Status error = FindFeasible(in, state, wanted);
  if (error.ok() && feasible_.size() > 1) error = ScoreFeasible(in, state);
  if (!error.ok()) {
    result.status = std::move(error);
    return result;
  }
  Choose(in, state, result);
  const bool may_keep = with_memory && !pre_filter.narrowed.node_names.has_value();
  if (may_keep) memory_.SetKind(framework, shared_pod);
  if (may_keep && result.row >= 0 && memory_.WasRejected()) memory_.NotePlaced();
  if (result.row < 0) {
    result.rejecting_plugins = std::move(pre_filter.narrowing_plugins);
    std::vector<bool> rejected(framework.filter().size());
    for (size_t i = 0; i < rejected.size(); ++i) {
      rejected[i] = HasRejector(verdicts_, static_cast<uint8_t>(i));
    }
    NoteRejectors(framework, rejected, result);
    result.status = Status::Unschedulable("");
    if (may_keep) result.kept = KeepRejected(in, state);
  }
  return result;
}

// A pod that waited for room to be made goes to its node if it fits there now, whatever the others
// would score.
bool SchedulingCycle::TryNominatedNode(const Inputs& in, const CycleState& state,
                                       const PreFilterResult& narrowed, CycleResult& result) {
  const std::string nominated = in.nominator.NominatedNode(in.pod);
  if (nominated.empty()) return false;
  const Symbol name = Symbol::Intern(nominated);
  const NodeRow row = in.nodes.FindRow(name);
  if (row < 0) return false;
  if (narrowed.node_names.has_value() && !narrowed.node_names->contains(name)) return false;
  if (!in.framework.RunFilterWithNominatedPods(state, in.pod, in.nodes.node(row)).ok()) {
    return false;
  }
  result.row = row;
  return true;
}

// What alike pods have seen before them, brought up to date. False if the nodes have to be looked
// at one and all; then nothing has been decided. Plugins that are remembered prepare nothing in
// `state`, unless they have a say after the node is chosen.
bool SchedulingCycle::RunFromMemory(const Inputs& in, CycleState& state, CycleResult& result) {
  memory_.SetKind(in.framework, in.shared_pod);
  const bool was_rejected = memory_.WasRejected();
  if (was_rejected && StillRejected(in, state, nullptr, result)) {
    return true;
  }
  ScoreCache* ranked = memory_.RankedByObjects();
  const bool may_go_by_objects = ranked != nullptr;
  if (ranked == nullptr) ranked = memory_.Ranked(in.nodes.size(), !was_rejected);
  if (ranked == nullptr) return false;
  CycleState own;
  const PreFilterOutcome pre_filter =
      in.framework.RunPreFilter(own, in.pod, in.nodes, ~ranked->done());
  if (!pre_filter.status.ok() || pre_filter.narrowed.node_names.has_value()) return false;
  ScoreCache::Objects objects{own, {}};
  const bool by_objects =
      may_go_by_objects &&
      in.framework.FindBases(own, in.pod, ranked->object_filters(), objects.bases) &&
      ranked->IsWorthwhile(objects, in.nominator, in.pod);
  if (may_go_by_objects && !by_objects) {
    ranked = memory_.Ranked(in.nodes.size(), !was_rejected);
    if (ranked == nullptr) return false;
  }
  if (!ranked->Refresh(in.nodes, in.nominator, in.pod, by_objects ? &objects : nullptr).ok()) {
    // The cycle will meet the error, and report it.
    memory_.ForgetRanked();
    return false;
  }
  if (ranked->narrows()) return false;
  if (ChooseRanked(in, own, *ranked, result)) {
    if (was_rejected) memory_.NotePlaced();
    ++remembered_;
    state = std::move(own);
    return true;
  }
  return !was_rejected && memory_.KeepsRejected() &&
         StillRejected(in, state, ranked->rejections(), result);
}

// Of a pod like those that were rejected before: whether no node changed so that it fits there now.
// The second one of a kind pays for what is kept. `judged`: what the filters that signed have just
// said of each node, which they all reject; or null.
bool SchedulingCycle::StillRejected(const Inputs& in, CycleState& state, const NodeVerdicts* judged,
                                    CycleResult& result) {
  CycleState own;  // PostFilter wants that of all plugins
  const PreFilterOutcome pre_filter = in.framework.RunPreFilter(own, in.pod, in.nodes);
  if (!pre_filter.status.ok() || pre_filter.narrowed.node_names.has_value()) return false;
  Framework::RejectionGrounds grounds;
  if (!in.framework.FindRejectionGrounds(own, in.pod, memory_.plugins(), grounds)) return false;
  const bool by_spec = !grounds.empty();
  RejectionCache* const kept = memory_.AddRejected(by_spec, in.nodes.size());
  tried_to_keep_ = true;
  if (kept == nullptr) return false;
  if (by_spec) judged = nullptr;  // others have a say
  const auto outcome =
      kept->Refresh(own, in.pod, in.nodes, in.nominator, grounds, judged, in.steps_at_once);
  if (outcome == RejectionCache::Outcome::kStopped) return result.goes_on = true;
  if (outcome == RejectionCache::Outcome::kUnknown) memory_.ForgetRejected(by_spec);
  if (outcome != RejectionCache::Outcome::kRejected) return false;
  kept->set_was_last(true);
  ++remembered_;
  state = std::move(own);
  last_verdicts_ = &kept->verdicts();
  result.kept = kept;
  result.status = Status::Unschedulable("");
  std::vector<bool> rejected(in.framework.filter().size());
  for (size_t i = 0; i < rejected.size(); ++i) {
    rejected[i] = kept->counts().CountOf(in.framework.filter()[i].name) > 0;
  }
  NoteRejectors(in.framework, rejected, result);
  return true;
}

// Notes for the next pod like this one that it was rejected. Null if that is not worth it.
RejectionCache* SchedulingCycle::KeepRejected(const Inputs& in, const CycleState& state) {
  Framework::RejectionGrounds grounds;
  if (!in.framework.FindRejectionGrounds(state, in.pod, memory_.plugins(), grounds)) return nullptr;
  const bool by_spec = !grounds.empty();
  RejectionCache* const kept =
      tried_to_keep_ ? memory_.Rejected(by_spec) : memory_.AddRejected(by_spec, in.nodes.size());
  if (kept == nullptr) return nullptr;
  const auto outcome = kept->Refresh(state, in.pod, in.nodes, in.nominator, grounds);
  if (outcome == RejectionCache::Outcome::kUnknown) memory_.ForgetRejected(by_spec);
  if (outcome != RejectionCache::Outcome::kRejected) return nullptr;
  kept->set_was_last(true);
  last_verdicts_ = &kept->verdicts();
  return kept;
}

bool SchedulingCycle::ChooseRanked(const Inputs& in, CycleState& state, ScoreCache& ranked,
                                   CycleResult& result) {
  const PluginMask others = ~ranked.plugins();
  const bool judged = !TakesPart(in.framework.filter(), ~ranked.filters() & ~state.skips().filter);
  Choice choice;
  bool chosen = false;
  if (ranked.feasible_count() > 1) {
    std::vector<DomainSum> sums;
    const bool by_domains = in.framework.RunPreScoreDomains(state, in.pod, in.nodes, others, sums);
    // If others score, or filter where totals may be others then, all rows are asked about below.
    const bool asks_now = by_domains || (!ranked.others_score() && (judged || ranked.uniform()));
    if (asks_now) {
      if (!by_domains &&
          !in.framework.RunPreScore(state, in.pod, in.nodes, ranked.feasible(), others).ok()) {
        return false;
      }
      ranked.set_others_score(TakesPart(in.framework.score(), others & ~state.skips().score));
    }
    const auto choose_best = [&](int tries) {
      return asks_now && !ranked.others_score() &&
             ChooseBest(in, state, judged, tries, ranked, choice);
    };
    const bool by_class = by_domains && !OthersGoByObjects(in.framework, state, ranked);
    chosen = choose_best(by_class ? kFewTries : kMostTries);
    if (!chosen && by_class) {
      chosen = ChooseByClass(in, state, ranked, std::move(sums), choice) || choose_best(kMostTries);
    }
  }
  if (!chosen && !ChooseByRow(in, state, judged, ranked, choice)) return false;
  if (choice.row < 0 || !ranked.Confirm(choice.row, in.pod).ok()) return false;
  if (!in.framework.RunFilterWithNominatedPods(state, in.pod, in.nodes.node(choice.row)).ok()) {
    return false;
  }
  result.row = choice.row;
  return true;
}

// After filters beyond `ranked` were asked about many rows: if they go by objects, what they say is
// kept for pods of this spec.
void SchedulingCycle::KeepObjectFilters(const Inputs& in, const CycleState& state,
                                        const ScoreCache& ranked) {
  if (OthersGoByObjects(in.framework, state, ranked)) memory_.AddRankedByObjects(in.nodes.size());
}

// Where other plugins do not score: the best row that they accept is the best of all they accept.
// False if it was not found.
bool SchedulingCycle::ChooseBest(const Inputs& in, const CycleState& state, bool judged, int tries,
                                 ScoreCache& ranked, Choice& choice) {
  NodeRow row = ranked.best();
  if (!judged) {
    if (!ranked.uniform()) return false;
    int asked = 0;
    row = ranked.BestThat(
        [&](NodeRow row) {
          if (++asked == kFewTries) KeepObjectFilters(in, state, ranked);
          return in.framework.RunFilterWithNominatedPods(state, in.pod, in.nodes.node(row)).ok();
        },
        tries);
  }
  if (row < 0) return false;
  expected_ = ranked.BestBut(row);
  ranked.FetchAhead(expected_);
  choice = {row, ranked.total(row)};
  return true;
}

// Where other plugins go by topology domains: `sums` are what those that score go by. False if that
// is not known of all of them, or not kept.
bool SchedulingCycle::ChooseByClass(const Inputs& in, CycleState& state, const ScoreCache& ranked,
                                    std::vector<DomainSum> sums, Choice& choice) {
  if (ranked.looked_at_all()) return false;  // one look at all rows in a cycle is enough
  Framework::RejectionGrounds grounds;
  if (!in.framework.FindRejectionGrounds(state, in.pod, ranked.filters(), grounds) ||
      !grounds.objects.empty()) {
    return false;
  }
  for (const DomainVerdicts& rule : grounds.domains) {
    sums.push_back({.column = &rule.counts.column(), .parts = {{.pods = rule.counts.pods()}}});
  }
  NodeEquivalenceClasses* const alike = memory_.Alike(ranked, sums, in.nodes);
  // Nominated pods count in domains too, but for who leaves room on their node only.
  const NodeEquivalenceClasses::Asker asker = {in.pod,
                                               grounds.domains.empty() ? nullptr : &in.nominator};
  if (alike == nullptr || !alike->Refresh(ranked, in.nodes, sums, asker)) return false;
  bool failed = false;
  alike->List(ranked, [&](NodeRow row) {
    if (alike->is_apart(row)) {
      const Status status =
          in.framework.RunFilterWithNominatedPods(state, in.pod, in.nodes.node(row));
      failed |= status.IsError();
      return status.ok();
    }
    return absl::c_none_of(grounds.domains,
                           [row](const auto& rule) { return rule.OfRow(row) != 0; });
  });
  if (failed) return false;  // the cycle will meet the error, and report it
  const AlikeRows feasible = alike->classes();
  if (feasible.rows.empty() || (feasible.rows.size() == 1 && feasible.count(0) == 1)) {
    choice = {feasible.rows.empty() ? -1 : feasible.rows.front(), 0};
    return true;
  }
  // The totals were normalised over more rows than are feasible: are they the same over these?
  if (alike->some_are_out() && alike->extremes() != ranked.all_extremes()) return false;
  if (!AddUpClasses(in, state, ranked, feasible)) return false;
  choice = {feasible.rows.front(), totals_.front()};
  for (size_t i = 1; i < feasible.rows.size(); ++i) {
    const NodeRow row = feasible.rows[i];
    const bool better =
        totals_[i] > choice.score || (totals_[i] == choice.score && row < choice.row);
    if (better) choice = {row, totals_[i]};
  }
  expected_ = alike->FetchAhead(choice.row);
  ranked.FetchAhead(expected_);
  return true;
}

// The totals of rows that stand for all feasible ones. False if a plugin fails.
bool SchedulingCycle::AddUpClasses(const Inputs& in, CycleState& state, const ScoreCache& ranked,
                                   const AlikeRows& feasible) {
  const size_t size = feasible.rows.size();
  totals_.resize(size);
  for (size_t i = 0; i < size; ++i) totals_[i] = ranked.total(feasible.rows[i]);
  if (!ranked.others_score()) return true;
  more_.resize(size);
  if (!in.framework.SetFeasible(state, feasible) ||
      !in.framework.RunScore(state, in.pod, in.nodes, feasible.rows, absl::MakeSpan(more_), nullptr)
           .ok()) {
    return false;
  }
  for (size_t i = 0; i < size; ++i) totals_[i] += more_[i];
  return true;
}

// Asks the other plugins about every feasible row. False if one of them fails.
bool SchedulingCycle::ChooseByRow(const Inputs& in, CycleState& state, bool judged,
                                  ScoreCache& ranked, Choice& choice) {
  const PluginMask others = ~ranked.plugins();
  absl::Span<const NodeRow> feasible = ranked.feasible();
  if (!judged && !feasible.empty()) {
    KeepObjectFilters(in, state, ranked);
    verdicts_.Reset(in.nodes.size());
    if (!in.framework
             .RunFilterNodes(state, in.pod, in.nodes, feasible, verdicts_, ~ranked.filters())
             .ok()) {
      return false;
    }
    feasible_.assign(feasible.begin(), feasible.end());
    std::erase_if(feasible_,
                  [&](NodeRow row) { return verdicts_.rejector(row) != NodeVerdicts::kNobody; });
    feasible = feasible_;
  }
  if (feasible.size() <= 1) {
    choice = {feasible.empty() ? -1 : feasible.front(), 0};
    return true;
  }
  if (!in.framework.RunPreScore(state, in.pod, in.nodes, feasible, others).ok()) return false;
  ranked.set_others_score(TakesPart(in.framework.score(), others & ~state.skips().score));
  const bool all = static_cast<int>(feasible.size()) == ranked.feasible_count();
  if (all && !ranked.others_score()) {
    choice = {ranked.best(), ranked.total(ranked.best())};
    return true;
  }
  totals_.resize(feasible.size());
  more_.resize(feasible.size());
  if (!ranked.TotalsOf(feasible, absl::MakeSpan(totals_)).ok() ||
      !in.framework.RunScore(state, in.pod, in.nodes, feasible, absl::MakeSpan(more_), nullptr)
           .ok()) {
    return false;
  }
  for (size_t i = 0; i < feasible.size(); ++i) totals_[i] += more_[i];
  const size_t best = absl::c_max_element(totals_) - totals_.begin();
  choice = {feasible[best], totals_[best]};
  return true;
}

void SchedulingCycle::ListRows(const NodeTable& nodes, const PreFilterResult& narrowed) {
  rows_.clear();
  if (!narrowed.node_names.has_value()) {
    rows_.resize(nodes.size());
    absl::c_iota(rows_, 0);
    return;
  }
  for (const Symbol name : *narrowed.node_names) {
    const NodeRow row = nodes.FindRow(name);
    if (row >= 0) rows_.push_back(row);
  }
  std::sort(rows_.begin(), rows_.end());
}

Status SchedulingCycle::FindFeasible(const Inputs& in, const CycleState& state, int wanted) {
  feasible_.clear();
  const int count = static_cast<int>(rows_.size());
  if (count == 0) return Status::Success();
  const absl::Span<const NodeRow> all = rows_;
  if (wanted >= count) {
    const int most = rows_at_once_ > 0 ? rows_at_once_ : count;
    for (int begin = 0; begin < count; begin += most) {
      Status error =
          in.framework.RunFilterNodes(state, in.pod, in.nodes, all.subspan(begin, most), verdicts_);
      if (!error.ok()) return error;
    }
    verdicts_.AppendFeasible(rows_, feasible_);
    return Status::Success();
  }
  // Begin where the last partial search ended.
  std::rotate(rows_.begin(), rows_.begin() + next_start_ % count, rows_.end());
  const int most = rows_at_once_ > 0 ? rows_at_once_ : kPartialSearchBlock;
  int judged = 0;
  while (judged < count && static_cast<int>(feasible_.size()) < wanted) {
    const absl::Span<const NodeRow> rows = all.subspan(judged, most);
    Status error = in.framework.RunFilterNodes(state, in.pod, in.nodes, rows, verdicts_);
    if (!error.ok()) return error;
    int used = 0;
    for (const NodeRow row : rows) {
      if (static_cast<int>(feasible_.size()) == wanted) break;
      ++used;
      if (verdicts_.rejector(row) == NodeVerdicts::kNobody) feasible_.push_back(row);
    }
    judged += used;
  }
  next_start_ = (next_start_ + judged) % count;
  std::sort(feasible_.begin(), feasible_.end());
  return Status::Success();
}

Status SchedulingCycle::ScoreFeasible(const Inputs& in, CycleState& state) {
  Status status = in.framework.RunPreScore(state, in.pod, in.nodes, feasible_);
  if (!status.ok()) return status;
  totals_.resize(feasible_.size());
  return in.framework.RunScore(state, in.pod, in.nodes, feasible_, absl::MakeSpan(totals_),
                               nullptr);
}

// The best row whose per-node Filter agrees, the first one of equals. A batch form that was too
// generous costs a second look here, never a wrong placement.
void SchedulingCycle::Choose(const Inputs& in, const CycleState& state, CycleResult& result) {
  if (feasible_.size() == 1) totals_.assign(1, 0);
  while (!feasible_.empty()) {
    const size_t best = std::max_element(totals_.begin(), totals_.end()) - totals_.begin();
    const NodeRow row = feasible_[best];
    const Status confirmed =
        in.framework.RunFilterWithNominatedPods(state, in.pod, in.nodes.node(row));
    if (confirmed.ok()) {
      result.row = row;
      return;
    }
    ++unconfirmed_;
    verdicts_.Reject(row, confirmed.code(), in.framework.FilterIndex(confirmed.plugin_symbol()));
    feasible_.erase(feasible_.begin() + best);
    totals_.erase(totals_.begin() + best);
  }
}

void SchedulingCycle::NoteRejectors(const Framework& framework, const std::vector<bool>& rejected,
                                    CycleResult& result) {
  for (size_t i = 0; i < rejected.size(); ++i) {
    const Symbol name = framework.filter()[i].name;
    if (rejected[i] && !absl::c_linear_search(result.rejecting_plugins, name)) {
      result.rejecting_plugins.push_back(name);
    }
  }
}

}  // namespace berth
