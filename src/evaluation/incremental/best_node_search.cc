// SPDX-License-Identifier: Apache-2.0
// Implementation of best_node_search.h.
#include "evaluation/incremental/best_node_search.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "framework/nominated_rows.h"

namespace berth {
namespace {

// Rows that are tried one by one: if classes, or cached verdicts of object filters, may answer for
// the rest; and if all rows have to be filtered otherwise.
constexpr int kFewTries = 8;
constexpr int kMostTries = 64;

bool SomeFilter(const Framework& framework, PluginMask plugins) {
  return framework.plugins().TakesPart(ExtensionPoint::kFilter, plugins);
}

bool SomeScore(const Framework& framework, PluginMask plugins) {
  return framework.plugins().TakesPart(ExtensionPoint::kScore, plugins);
}

// Whether a filter that is not in the cache depends on cluster objects.
bool OthersDependOnObjects(const Framework& framework, const CycleState& state,
                           const ScoreCache& scores) {
  const PluginMask others = framework.dependencies().object_filters() & ~scores.filters();
  return SomeFilter(framework, others & ~state.skips().filter);
}

bool SomeNominatedPodCounts(const EvaluationRequest& request) {
  bool counts = false;
  request.nominator.ForEach([&](const PodInfo& nominated, absl::string_view) {
    counts |= CountsFor(nominated, *request.pod);
  });
  return counts;
}

}  // namespace

bool BestNodeSearch::Find(const EvaluationRequest& request, CycleState& state, ScoreCache& scores,
                          Evaluation& evaluation) {
  const Framework& framework = request.framework;
  const bool no_other_filters = !SomeFilter(framework, ~scores.filters() & ~state.skips().filter);
  const Search in = {request, framework, *request.pod,    request.nodes,
                     state,   scores,    no_other_filters};
  NodeRow chosen = -1;
  if (!Choose(in, chosen) || chosen < 0) return false;
  // The plugins of the cache, then the others.
  if (!scores.Confirm(chosen, in.pod).ok()) return false;
  if (!framework.nomination_filter()
           .RunFilterWithNominatedPods(state, in.pod, in.nodes.node(chosen))
           .ok()) {
    return false;
  }
  evaluation.best = chosen;
  return true;
}

// False if a plugin fails.
bool BestNodeSearch::Choose(const Search& in, NodeRow& chosen) {
  ScoreCache& scores = in.scores;
  if (scores.feasible_count() <= 1) return ChooseByRow(in, chosen);
  const PluginMask others = ~scores.plugins();
  std::vector<DomainSum> sums;
  const bool by_domains =
      in.framework.scores().RunPreScoreDomains(in.state, in.pod, in.nodes, others, sums);
  // If other plugins score, or filter where that may change totals, all rows are evaluated below.
  const bool asks_now =
      by_domains ||
      (!scores.others_score() && (in.no_other_filters || scores.totals_hold_for_any_subset()));
  if (asks_now) {
    if (!by_domains && !in.framework.scores()
                            .RunPreScore(in.state, in.pod, in.nodes, scores.feasible(), others)
                            .ok()) {
      return false;
    }
    scores.set_others_score(SomeScore(in.framework, others & ~in.state.skips().score));
  }
  const auto choose_best = [&](int tries) {
    return asks_now && !scores.others_score() && ChooseBest(in, tries, chosen);
  };
  const bool by_class = by_domains && !OthersDependOnObjects(in.framework, in.state, scores);
  if (choose_best(by_class ? kFewTries : kMostTries)) return true;
  if (by_class && (ChooseByClass(in, std::move(sums), chosen) || choose_best(kMostTries))) {
    return true;
  }
  return ChooseByRow(in, chosen);
}

// Filters that depend on cluster objects filtered many rows: their verdicts are cached for pods of
// this spec.
void BestNodeSearch::CacheObjectFilters(const Search& in) {
  if (OthersDependOnObjects(in.framework, in.state, in.scores)) {
    caches_.AddScoresBySpec(in.nodes.size());
  }
}

// --- 1. The best row that other plugins accept ---------------------------------------------------

// False if it was not found.
bool BestNodeSearch::ChooseBest(const Search& in, int tries, NodeRow& chosen) {
  NodeRow row = in.scores.best();
  if (!in.no_other_filters) {
    if (!in.scores.totals_hold_for_any_subset()) return false;
    int asked = 0;
    row = in.scores.BestAccepted(
        [&](NodeRow row) {
          if (++asked == kFewTries) CacheObjectFilters(in);
          const NodeInfo& node = in.nodes.node(row);
          return in.framework.nomination_filter()
              .RunFilterWithNominatedPods(in.state, in.pod, node)
              .ok();
        },
        tries);
  }
  if (row < 0) return false;
  chosen = row;
  return true;
}

// --- 2. A row of each node equivalence class -----------------------------------------------------

// `sums` are what the plugins that score depend on. False if that is not known of all plugins, or
// there are no classes.
bool BestNodeSearch::ChooseByClass(const Search& in, std::vector<DomainSum> sums, NodeRow& chosen) {
  ScoreCache& scores = in.scores;
  DependenciesBeyondNode beyond_node;
  if (!in.framework.dependencies().FindBeyondNode(in.state, in.pod, scores.filters(),
                                                  beyond_node) ||
      !beyond_node.objects.empty()) {
    return false;
  }
  for (const TrackedThreshold& rule : beyond_node.domains) {
    sums.push_back({.column = &rule.counts.column(), .parts = {{.pods = rule.counts.pods()}}});
  }
  // Nominated pods count in domains too, but on their node only, for pods of at most their
  // priority.
  if (!beyond_node.domains.empty() && SomeNominatedPodCounts(in.request)) return false;
  NodeEquivalenceClasses* const classes = caches_.NodeClasses(scores, sums, in.nodes);
  if (classes == nullptr || !classes->Refresh(scores, in.nodes, sums)) return false;
  classes->List(scores, [&](NodeRow row) {
    return absl::c_none_of(beyond_node.domains,
                           [row](const auto& rule) { return rule.OfRow(row) != 0; });
  });
  const EquivalentNodes feasible = classes->rows();
  if (feasible.rows.empty() || (feasible.rows.size() == 1 && feasible.count(0) == 1)) {
    chosen = feasible.rows.empty() ? -1 : feasible.rows.front();
    return true;
  }
  // The totals were normalised over more rows than are feasible.
  if (classes->some_rejected() && !scores.totals_hold_for_any_subset()) return false;
  if (!ScoreClasses(in, feasible)) return false;
  size_t best = 0;
  for (size_t i = 1; i < feasible.rows.size(); ++i) {
    const bool is_better = totals_[i] > totals_[best] ||
                           (totals_[i] == totals_[best] && feasible.rows[i] < feasible.rows[best]);
    if (is_better) best = i;
  }
  chosen = feasible.rows[best];
  return true;
}

// The totals of one row of each class. False if a plugin fails.
bool BestNodeSearch::ScoreClasses(const Search& in, const EquivalentNodes& feasible) {
  const size_t size = feasible.rows.size();
  totals_.resize(size);
  for (size_t i = 0; i < size; ++i) totals_[i] = in.scores.total(feasible.rows[i]);
  if (!in.scores.others_score()) return true;
  other_totals_.resize(size);
  if (!in.framework.scores().SetFeasible(in.state, feasible) ||
      !in.framework.scores()
           .RunScore(in.state, in.pod, in.nodes, feasible.rows, absl::MakeSpan(other_totals_),
                     nullptr)
           .ok()) {
    return false;
  }
  for (size_t i = 0; i < size; ++i) totals_[i] += other_totals_[i];
  return true;
}

// --- 3. Every feasible row -----------------------------------------------------------------------

// False if a plugin fails.
bool BestNodeSearch::ChooseByRow(const Search& in, NodeRow& chosen) {
  ScoreCache& scores = in.scores;
  absl::Span<const NodeRow> feasible = scores.feasible();
  if (!in.no_other_filters && !feasible.empty()) {
    if (!FilterRows(in).ok()) return false;
    feasible = feasible_;
  }
  if (feasible.size() <= 1) {
    chosen = feasible.empty() ? -1 : feasible.front();
    return true;
  }
  const PluginMask others = ~scores.plugins();
  if (!in.framework.scores().RunPreScore(in.state, in.pod, in.nodes, feasible, others).ok())
    return false;
  scores.set_others_score(SomeScore(in.framework, others & ~in.state.skips().score));
  const bool all = static_cast<int>(feasible.size()) == scores.feasible_count();
  if (all && !scores.others_score()) {
    chosen = scores.best();
    return true;
  }
  totals_.resize(feasible.size());
  other_totals_.resize(feasible.size());
  if (!scores.TotalsOf(feasible, absl::MakeSpan(totals_)).ok() ||
      !in.framework.scores()
           .RunScore(in.state, in.pod, in.nodes, feasible, absl::MakeSpan(other_totals_), nullptr)
           .ok()) {
    return false;
  }
  for (size_t i = 0; i < feasible.size(); ++i) totals_[i] += other_totals_[i];
  chosen = feasible[absl::c_max_element(totals_) - totals_.begin()];
  return true;
}

// Lists in feasible_ the rows that the other plugins accept.
Status BestNodeSearch::FilterRows(const Search& in) {
  CacheObjectFilters(in);
  const absl::Span<const NodeRow> rows = in.scores.feasible();
  verdicts_.Reset(in.nodes.size());
  Status status = in.framework.nomination_filter().RunFilterNodesWithNominatedPods(
      in.state, in.pod, in.nodes, rows, verdicts_, ~in.scores.filters());
  feasible_.clear();
  if (status.ok()) verdicts_.AppendFeasible(rows, feasible_);
  return status;
}

}  // namespace berth
