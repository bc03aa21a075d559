// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_sets.h.
#include "engine/pod_sets.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

}  // namespace

// --- Domains that pod sets share ----------------------------------------------------------------

namespace {

size_t PositionOf(const PodSet& pod_set, const NodePlacement* placement) {
  return static_cast<size_t>(absl::c_find(pod_set.placements, placement) -
                             pod_set.placements.begin());
}

}  // namespace

bool SharedDomains::Allow(const PodSet& pod_set, const NodePlacement* placement) const {
  if (pod_set.scopes.empty()) return true;
  const std::vector<const NodePlacement*>& domains =
      pod_set.domains[PositionOf(pod_set, placement)];
  for (size_t i = 0; i < pod_set.scopes.size(); ++i) {
    const auto scope = scopes_.find(pod_set.scopes[i]);
    if (scope != scopes_.end() && scope->second.pod_sets > 0 &&
        scope->second.domain != domains[i]) {
      return false;
    }
  }
  return true;
}

void SharedDomains::Enter(const PodSet& pod_set, const NodePlacement* placement) {
  if (pod_set.scopes.empty()) return;
  const std::vector<const NodePlacement*>& domains =
      pod_set.domains[PositionOf(pod_set, placement)];
  for (size_t i = 0; i < pod_set.scopes.size(); ++i) {
    Scope& scope = scopes_[pod_set.scopes[i]];
    scope.domain = domains[i];
    ++scope.pod_sets;
  }
}

void SharedDomains::Leave(const PodSet& pod_set) {
  for (const int scope : pod_set.scopes) --scopes_[scope].pod_sets;
}

bool IsInDomainOf(const PodSet& pod_set, size_t position, int scope,
                  absl::Span<const NodeRow> rows) {
  const auto found = absl::c_find(pod_set.scopes, scope);
  if (found == pod_set.scopes.end()) return true;
  const NodePlacement& domain = *pod_set.domains[position][found - pod_set.scopes.begin()];
  return absl::c_all_of(rows, [&](NodeRow row) { return absl::c_binary_search(domain.rows, row); });
}

// --- Ranks --------------------------------------------------------------------------------------

std::optional<int> RankOf(const PodInfo& pod) {
  static const Symbol kLabels[] = {Symbol::Intern("batch.kubernetes.io/job-completion-index"),
                                   Symbol::Intern("apps.kubernetes.io/pod-index"),
                                   Symbol::Intern("leaderworkerset.sigs.k8s.io/worker-index"),
                                   Symbol::Intern("training.kubeflow.org/replica-index")};
  int rank = 0;
  const auto is_rank = [&](absl::string_view text) {
    return absl::SimpleAtoi(text, &rank) && rank >= 0;
  };
  for (const Symbol label : kLabels) {
    const Symbol* const value = pod.labels().Find(label);
    if (value != nullptr && is_rank(value->view())) return rank;
  }
  for (const absl::string_view key : {"batch.kubernetes.io/job-completion-index",
                                      "gang.scheduling.koordinator.sh/network-topology-index"}) {
    const std::optional<absl::string_view> value = pod.annotation(key);
    if (value.has_value() && is_rank(*value)) return rank;
  }
  return std::nullopt;
}

std::vector<PodPtr> ByRank(absl::Span<const PodPtr> pods) {
  std::vector<std::pair<int, PodPtr>> ranked;
  for (const PodPtr& pod : pods) {
    const std::optional<int> rank = RankOf(*pod);
    if (!rank.has_value()) return {pods.begin(), pods.end()};
    ranked.emplace_back(*rank, pod);
  }
  absl::c_stable_sort(ranked, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PodPtr> ordered;
  for (auto& [rank, pod] : ranked) ordered.push_back(std::move(pod));
  return ordered;
}

std::vector<PodSet> SlicesByRank(absl::Span<const PodPtr> pods, int size) {
  const std::vector<PodPtr> ordered = ByRank(pods);
  const bool ranked =
      absl::c_all_of(ordered, [](const PodPtr& p) { return RankOf(*p).has_value(); });
  std::vector<PodSet> pod_sets;
  for (size_t i = 0; i < ordered.size(); ++i) {
    const int slice = (ranked ? *RankOf(*ordered[i]) : static_cast<int>(i)) / size;
    if (pod_sets.empty() || pod_sets.back().slice != slice) {
      pod_sets.emplace_back();
      pod_sets.back().slice = slice;
    }
    pod_sets.back().pods.push_back(ordered[i]);
    ++pod_sets.back().minimum;
  }
  if (!ranked) {
    for (PodSet& pod_set : pod_sets) pod_set.slice.reset();
  }
  return pod_sets;
}

}  // namespace berth
