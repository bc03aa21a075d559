// SPDX-License-Identifier: Apache-2.0
// Implementation of score_runner.h.
#include "framework/score_runner.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/incremental/uniform_score.h"
#include "simd/vector_clones.h"

namespace berth {
namespace {

constexpr PluginPoint kPreScore{"PreScore", Codes(Code::kSkip),
                                "running PreScore plugin \"$0\": $1"};
constexpr PluginPoint kScore{"Score", Codes(),
                             "running Score plugins: plugin \"$0\" failed with: $1"};
constexpr absl::string_view kUniformScore = "UniformScore";
constexpr PluginPoint kNormalizeScores{
    "NormalizeScores", Codes(),
    "running Normalize on Score plugins: plugin \"$0\" failed with: $1"};
constexpr PluginPoint kPreScoreDomains{"PreScoreDomains", Codes(Code::kSkip),
                                       "running PreScoreDomains of plugin \"$0\": $1"};
constexpr absl::string_view kScoresDependOn = "ScoresDependOn";
constexpr PluginPoint kSetFeasible{"SetFeasible", Codes(),
                                   "running SetFeasible of plugin \"$0\": $1"};

Status FromAbsl(const absl::Status& status) {
  return status.ok() ? Status::Success() : Status::Error(status);
}

static_assert(kMinNodeScore == 0);

// What is negative if `score` is out of range: the score, or what it leaves of the highest.
uint64_t OutOfRangeSign(int64_t score, int64_t max) {
  return static_cast<uint64_t>(score) | (static_cast<uint64_t>(max) - score);
}

// No early end: this way it compiles to vector instructions.
BERTH_VECTOR_CLONES bool InRange(absl::Span<const int64_t> scores, int64_t max) {
  uint64_t signs = 0;
  for (const int64_t score : scores) signs |= OutOfRangeSign(score, max);
  return signs >> 63 == 0;
}

// Adds score * factor to each total. Returns whether the scores are in range; otherwise the totals
// are worth nothing.
BERTH_VECTOR_CLONES bool AddInRange(absl::Span<const int64_t> scores, int64_t max, int64_t factor,
                                    int64_t* totals) {
  uint64_t signs = 0;
  const size_t size = scores.size();
  const int64_t* const score = scores.data();
  if (factor == 1) {
    for (size_t i = 0; i < size; ++i) {
      signs |= OutOfRangeSign(score[i], max);
      totals[i] = static_cast<int64_t>(static_cast<uint64_t>(totals[i]) + score[i]);
    }
  } else {
    for (size_t i = 0; i < size; ++i) {
      signs |= OutOfRangeSign(score[i], max);
      totals[i] = static_cast<int64_t>(static_cast<uint64_t>(totals[i]) +
                                       static_cast<uint64_t>(score[i]) * factor);
    }
  }
  return signs >> 63 == 0;
}

Status OutOfRange(Symbol plugin, absl::Span<const int64_t> scores, int64_t max) {
  const int64_t score = *std::find_if_not(
      scores.begin(), scores.end(), [max](int64_t s) { return s >= kMinNodeScore && s <= max; });
  return Status::Error(absl::StrCat("applying score defaultWeights on Score plugins: plugin \"",
                                    plugin.view(), "\" returns an invalid score ", score,
                                    ", it should in the range of [", kMinNodeScore, ", ", max,
                                    "] after normalizing"))
      .WithPlugin(plugin);
}

}  // namespace

Status ScoreRunner::RunPreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                absl::Span<const NodeRow> feasible, PluginMask only) const {
  state.skips().score = ~only;
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PreScorePlugin>& hook : plugins_.pre_score) {
    if (state.skips().score & MaskOf(hook)) continue;
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kPreScore, hook.name, [&] { return hook.plugin->PreScore(state, pod, nodes, feasible); });
    timer.Lap(hook.name, kPreScore.name);
    if (status.IsSkip()) {
      state.skips().score |= MaskOf(hook);
    } else if (!status.ok()) {
      return status;
    }
  }
  return Status::Success();
}

bool ScoreRunner::RunPreScoreDomains(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                     PluginMask only, std::vector<DomainSum>& sums) const {
  PluginMask& skips = state.skips().score;
  skips = ~only;
  const PluginMask pre_scorers = plugins_.EnabledAt(ExtensionPoint::kPreScore) & only;
  if ((pre_scorers & ~plugins_.domain_pre_scorers) != 0) return false;
  PluginMask asked = 0;
  CallTimer timer(plugins_.fault_log);
  for (size_t i = 0; i < plugins_.pre_score.size(); ++i) {
    const Hook<PreScorePlugin>& hook = plugins_.pre_score[i];
    if (skips & MaskOf(hook)) continue;
    bool can_say = false;
    timer.Start();
    const Status status = plugins_.calls.Guarded(kPreScoreDomains, hook.name, [&] {
      std::optional<Status> said =
          plugins_.domain_scorers[i]->PreScoreDomains(state, pod, nodes, sums);
      can_say = said.has_value();
      return can_say ? *std::move(said) : Status::Success();
    });
    timer.Lap(hook.name, kPreScoreDomains.name);
    if (!can_say || (!status.ok() && !status.IsSkip())) return false;
    (status.IsSkip() ? skips : asked) |= MaskOf(hook);
  }
  return (plugins_.EnabledAt(ExtensionPoint::kScore) & ~(skips | asked)) == 0;
}

bool ScoreRunner::SetFeasible(CycleState& state, const EquivalentNodes& feasible) const {
  CallTimer timer(plugins_.fault_log);
  for (size_t i = 0; i < plugins_.pre_score.size(); ++i) {
    const Hook<PreScorePlugin>& hook = plugins_.pre_score[i];
    if (state.skips().score & MaskOf(hook)) continue;
    timer.Start();
    const Status status = plugins_.calls.Guarded(kSetFeasible, hook.name, [&] {
      plugins_.domain_scorers[i]->SetFeasible(state, feasible);
      return Status::Success();
    });
    timer.Lap(hook.name, kSetFeasible.name);
    if (!status.ok()) return false;
  }
  return true;
}

DomainScorer::Feasible ScoreRunner::ScoresDependOn(const CycleState& state) const {
  auto most = DomainScorer::Feasible::kNothing;
  for (size_t i = 0; i < plugins_.pre_score.size(); ++i) {
    const Hook<PreScorePlugin>& hook = plugins_.pre_score[i];
    if ((state.skips().score & MaskOf(hook)) != 0) continue;
    auto needed = DomainScorer::Feasible::kNodes;
    // One that throws needs all nodes.
    plugins_.calls.GuardedVoid(kScoresDependOn, hook.name,
                               [&] { needed = plugins_.domain_scorers[i]->ScoresDependOn(state); });
    most = std::max(most, needed);
  }
  return most;
}

// kube-scheduler runs each phase for all plugins before the next one. One plugin after the other
// gives the same scores from one scratch column that stays in the processor's cache; if several
// plugins fail in one cycle, the first in the profile's order is named.
Status ScoreRunner::RunScore(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                             absl::Span<const NodeRow> rows, absl::Span<int64_t> totals,
                             std::vector<PluginScores>* by_plugin) const {
  BERTH_DCHECK(rows.size() == totals.size());
  std::fill(totals.begin(), totals.end(), 0);
  if (by_plugin != nullptr) by_plugin->clear();
  if (rows.empty()) return Status::Success();
  scores_.assign(rows.size(), 0);
  int64_t of_all = 0;
  CallTimer timer(plugins_.fault_log);
  for (const Hook<ScorePlugin>& hook : plugins_.score) {
    if (state.skips().score & MaskOf(hook)) continue;
    timer.Start();
    const std::optional<int64_t> uniform = UniformScore(hook, state, pod, nodes);
    const size_t size = uniform.has_value() ? 1 : rows.size();
    const absl::Span<int64_t> scores = absl::MakeSpan(scores_).first(size);
    Status status;
    if (uniform.has_value()) {
      scores.front() = *uniform;
    } else {
      status = RunScorePlugin(hook, state, pod, nodes, rows, scores);
    }
    timer.Lap(hook.name, kScore.name);
    if (!status.ok()) return status;
    timer.Start();
    status = Normalize(hook, state, pod, rows.first(size), scores);
    timer.Lap(hook.name, kNormalizeScores.name);
    if (!status.ok()) return status;
    if (by_plugin != nullptr) {
      by_plugin->push_back({hook.name, {scores.begin(), scores.end()}});
      by_plugin->back().weighted.resize(rows.size(), scores.front());
    }
    if (!AddScores(hook, scores, uniform.has_value() ? absl::MakeSpan(&of_all, 1) : totals)) {
      return CheckScores(hook, scores);
    }
    if (by_plugin == nullptr) continue;
    for (int64_t& score : by_plugin->back().weighted) score *= ScoreFactor(hook);
  }
  for (int64_t& total : totals) total += of_all;
  return Status::Success();
}

std::optional<int64_t> ScoreRunner::UniformScore(const Hook<ScorePlugin>& hook,
                                                 const CycleState& state, const PodInfo& pod,
                                                 const NodeTable& nodes) const {
  std::optional<int64_t> score;
  if (hook.uniform == nullptr) return score;
  // One that throws is asked about each node.
  plugins_.calls.GuardedVoid(kUniformScore, hook.name,
                             [&] { score = hook.uniform->UniformScore(state, pod, nodes); });
  return score;
}

Status ScoreRunner::RunScorePlugin(const Hook<ScorePlugin>& hook, const CycleState& state,
                                   const PodInfo& pod, const NodeTable& nodes,
                                   absl::Span<const NodeRow> rows, absl::Span<int64_t> raw) const {
  return plugins_.calls.Guarded(kScore, hook.name, [&] {
    return FromAbsl(hook.plugin->ScoreNodes(state, pod, nodes, rows, raw));
  });
}

Status ScoreRunner::Normalize(const Hook<ScorePlugin>& hook, const CycleState& state,
                              const PodInfo& pod, absl::Span<const NodeRow> rows,
                              absl::Span<int64_t> scores) const {
  if (hook.extensions == nullptr) return Status::Success();
  return plugins_.calls.Guarded(kNormalizeScores, hook.name, [&] {
    return FromAbsl(hook.extensions->NormalizeScores(state, pod, rows, scores));
  });
}

Status ScoreRunner::RunNormalizeScores(const Hook<ScorePlugin>& hook, const CycleState& state,
                                       const PodInfo& pod, absl::Span<const NodeRow> rows,
                                       absl::Span<int64_t> scores) const {
  Status status = Normalize(hook, state, pod, rows, scores);
  return status.ok() ? CheckScores(hook, scores) : status;
}

bool ScoreRunner::AddScores(const Hook<ScorePlugin>& hook, absl::Span<int64_t> scores,
                            absl::Span<int64_t> totals) const {
  constexpr size_t kBlock = 512;  // which the processor still has at hand when it is set to 0
  for (; !scores.empty(); scores.remove_prefix(std::min(kBlock, scores.size()))) {
    const absl::Span<int64_t> block = scores.first(std::min(kBlock, scores.size()));
    const size_t begin = totals.size() - scores.size();
    if (!AddInRange(block, kMaxNodeScore * hook.resolution, ScoreFactor(hook), &totals[begin])) {
      return false;
    }
    std::memset(block.data(), 0, block.size() * sizeof(int64_t));
  }
  return true;
}

Status ScoreRunner::CheckScores(const Hook<ScorePlugin>& hook,
                                absl::Span<const int64_t> scores) const {
  const int64_t max = kMaxNodeScore * hook.resolution;
  if (InRange(scores, max)) return Status::Success();
  plugins_.fault_log.AddFault(hook.name, kScore.name, "returned a score that is out of range");
  return OutOfRange(hook.name, scores, max);
}

}  // namespace berth
