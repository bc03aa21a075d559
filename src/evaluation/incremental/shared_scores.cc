// SPDX-License-Identifier: Apache-2.0
// Implementation of shared_scores.h.
#include "evaluation/incremental/shared_scores.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// 8 bytes a row and signature, 8 MiB in all.
constexpr size_t kMaxRows = size_t{1} << 20;
constexpr size_t kMinColumns = 8;

// Changes that the node table does not report by row.
constexpr Aspects kNotByRow = Aspect::kNodeOther | Aspect::kImageSpread;

}  // namespace

PluginMask SharedScores::Find(const EvaluationRequest& request, PluginMask node_plugins,
                              std::vector<int64_t>& totals) {
  const auto rows = static_cast<size_t>(request.nodes.size());
  SelectPlugins(request, node_plugins);
  Column* column = nullptr;
  const ClassKey key(signature_.bytes(), nullptr);
  if (plugins_ != 0) {
    columns_.SetVersion(request.nodes.version());
    column = columns_.Find(key);
    if (column == nullptr) {
      column = columns_.Add(key, std::max(kMinColumns, kMaxRows / rows),
                            [] { return std::make_unique<Column>(); });
    }
  }
  if (column == nullptr) {
    totals.assign(rows, 0);
    return 0;
  }
  if (!Refresh(request, *column)) {  // evaluating plugin by plugin will tell why
    columns_.Forget(key);
    totals.assign(rows, 0);
    return 0;
  }
  totals.assign(column->totals.begin(), column->totals.end());
  return plugins_;
}

// Fills plugins_, with what they depend on and sign.
void SharedScores::SelectPlugins(const EvaluationRequest& request, PluginMask node_plugins) {
  const PodSigner& signer = request.framework.signer();
  plugins_ = 0;
  depends_on_ = Aspect::kNothing;
  for (const Hook<ScorePlugin>& hook : request.framework.plugins().score) {
    const PluginMask plugin = MaskOf(hook) & node_plugins & ~request.state.skips().score;
    if (plugin == 0 || hook.extensions != nullptr || hook.uniform != nullptr) continue;
    const Aspects depends_on = signer.DependenciesOf(plugin);
    if ((depends_on & kNotByRow) != 0) continue;
    plugins_ |= plugin;
    depends_on_ |= depends_on;
  }
  if (plugins_ == 0) return;
  signature_.clear();
  signature_.Add(request.framework.profile().scheduler_name);
  signature_.Add(static_cast<int64_t>(plugins_));
  signer.SignBy(plugins_, *request.pod, signature_);
}

// False if a plugin fails, or gives a score that is out of range.
bool SharedScores::Refresh(const EvaluationRequest& request, Column& column) {
  const auto size = static_cast<size_t>(request.nodes.size());
  const uint64_t version = std::exchange(column.version, request.nodes.version());
  changed_.clear();
  bool moved = column.totals.size() != size;
  const bool followed = !moved && request.nodes.Replay(
                                      version,
                                      [&](const RowChange& change) {
                                        if ((change.aspects & depends_on_) == 0) return;
                                        changed_.push_back(change.row);
                                      },
                                      [&](const RowMove&) { moved = true; });
  if (!followed || moved || changed_.size() > size / 4) {  // to score all costs little more
    changed_.resize(size);
    absl::c_iota(changed_, 0);
  }
  if (!AddUp(request, changed_)) return false;
  column.totals.resize(size);
  for (size_t i = 0; i < changed_.size(); ++i) column.totals[changed_[i]] = sums_[i];
  return true;
}

// Fills sums_ with the points of plugins_ for `rows`.
bool SharedScores::AddUp(const EvaluationRequest& request, absl::Span<const NodeRow> rows) {
  const ScoreRunner& runner = request.framework.scores();
  sums_.assign(rows.size(), 0);
  scores_.assign(rows.size(), 0);
  if (rows.empty()) return true;
  return absl::c_all_of(request.framework.plugins().score, [&](const Hook<ScorePlugin>& hook) {
    return (plugins_ & MaskOf(hook)) == 0 ||
           (runner
                .RunScorePlugin(hook, request.state, *request.pod, request.nodes, rows,
                                absl::MakeSpan(scores_))
                .ok() &&
            runner.AddScores(hook, absl::MakeSpan(scores_), absl::MakeSpan(sums_)));
  });
}

}  // namespace berth
