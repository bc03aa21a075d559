// SPDX-License-Identifier: Apache-2.0
// Implementation of pods_by_labels.h.
#include "table/pods_by_labels.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// How many selectors are counted along at most; half of them stay when there are more. An array of
// all nodes or domains for each is what they cost.
constexpr size_t kMaxTracked = 512;
// Kinds without pods that are not worth a search.
constexpr size_t kSpareKinds = 64;

}  // namespace

// --- Kinds of pods -------------------------------------------------------------------------------

void PodsByLabels::Add(int slot, const PodInfo& pod, int64_t difference) {
  PodKind& kind = FindOrAddKind(pod);
  const bool had_pods = kind.pods.nonzero() > 0;
  kind.pods.Add(slot, difference);
  for (Tracked* tracked : kind.selected_by) tracked->counts->Add(slot, difference);
  if (had_pods == (kind.pods.nonzero() > 0)) return;
  if (had_pods) {
    --kinds_in_use_;
    // It may be needed again at once: a pod that is bound goes as assumed and comes as bound.
    if (kinds_.size() > 2 * kinds_in_use_ + kSpareKinds) DropEmptyKinds();
  } else {
    ++kinds_in_use_;
  }
}

void PodsByLabels::AddTo(absl::Span<NodeSet* const> sets, int slot, const PodInfo& pod,
                         int64_t difference) {
  for (Tracked* tracked : FindOrAddKind(pod).selected_by) {
    if (absl::c_linear_search(sets, tracked->nodes)) tracked->counts->Add(slot, difference);
  }
}

PodsByLabels::PodKind& PodsByLabels::FindOrAddKind(const PodInfo& pod) {
  const bool terminating = pod.deletion_time().has_value();
  const auto known = kinds_.find(KindKey{pod.namespace_name(), &pod.labels(), terminating});
  if (known != kinds_.end()) return *known->second;

  auto owned = std::make_unique<PodKind>(
      PodKind{pod.namespace_name(), pod.labels(), terminating, SlotCounts(), {}});
  PodKind& kind = *owned;
  kinds_.emplace(KindKey{kind.namespace_name, &kind.labels, terminating}, std::move(owned));
  namespaces_[kind.namespace_name].Add(kind.labels, &kind);
  selectors_.ForEachCandidate(kind.namespace_name, kind.labels, [&](Tracked* tracked) {
    if (Selects(tracked->selector, kind)) kind.selected_by.push_back(tracked);
  });
  return kind;
}

void PodsByLabels::DropEmptyKinds() {
  const auto is_empty = [](const PodKind* kind) { return kind->pods.nonzero() == 0; };
  absl::erase_if(namespaces_, [&](auto& entry) {
    entry.second.EraseIf(is_empty);
    return entry.second.empty();
  });
  absl::erase_if(kinds_, [&](const auto& entry) { return is_empty(entry.second.get()); });
}

// --- Selectors -----------------------------------------------------------------------------------

bool PodsByLabels::Selects(const PodSelector& selector, const PodKind& kind) {
  return selector.Matches(kind.namespace_name, kind.labels, kind.terminating);
}

std::shared_ptr<const PodCounts> PodsByLabels::Count(const PodSelector& selector,
                                                     std::shared_ptr<const NodeSet> nodes) {
  const NodeSet* const of_nodes = nodes.get();
  auto known = tracked_.find(TrackedKey{&selector, of_nodes});
  if (known == tracked_.end()) {
    if (tracked_.size() >= kMaxTracked) StopTrackingSome();
    if (!dropped_.empty()) dropped_.pop_back();
    auto tracked = Track(selector, std::move(nodes));
    const TrackedKey key{&tracked->selector, of_nodes};
    known = tracked_.emplace(key, std::move(tracked)).first;
  }
  known->second->last_asked = ++asked_;
  return known->second->counts;
}

void PodsByLabels::UpdateCountedNode(int slot, absl::Span<NodeSet* const> sets) {
  for (const auto& [key, tracked] : tracked_) {
    if (absl::c_linear_search(sets, key.nodes)) tracked->counts->UpdateCountedNode(slot);
  }
}

std::unique_ptr<PodsByLabels::Tracked> PodsByLabels::Track(const PodSelector& selector,
                                                           std::shared_ptr<const NodeSet> nodes) {
  const NodeSet* const of_nodes = nodes.get();
  auto tracked = std::make_unique<Tracked>(
      Tracked{selector, of_nodes, std::make_shared<PodCounts>(slots_, std::move(nodes)), 0});
  ForEachSelected(selector, [&](PodKind& kind) {
    kind.selected_by.push_back(tracked.get());
    kind.pods.ForEach([&](int slot, int64_t count) { tracked->counts->Add(slot, count); });
  });
  if (selector.any_namespace) {
    selectors_.Add({}, selector.labels, tracked.get());
  } else if (!selector.namespaces.empty()) {
    selectors_.Add(selector.namespaces, selector.labels, tracked.get());
  }
  return tracked;
}

void PodsByLabels::CountOnce(const PodSelector& selector, SlotCounts& counts) const {
  ForEachSelected(selector, [&](const PodKind& kind) {
    kind.pods.ForEach([&](int slot, int64_t count) { counts.Add(slot, count); });
  });
}

template <class Visit>
void PodsByLabels::ForEachSelected(const PodSelector& selector, Visit visit) const {
  const auto visit_some = [&](const LabelledItems<PodKind*>& kinds) {
    kinds.ForEachCandidate(selector.labels, [&](PodKind* kind) {
      if (Selects(selector, *kind)) visit(*kind);
    });
  };
  if (selector.any_namespace) {
    for (const auto& [name, kinds] : namespaces_) visit_some(kinds);
    return;
  }
  for (const Symbol name : selector.namespaces) {
    const auto kinds = namespaces_.find(name);
    if (kinds != namespaces_.end()) visit_some(kinds->second);
  }
}

// Half of them: those that were not asked for the longest.
void PodsByLabels::StopTrackingSome() {
  std::vector<uint64_t> ages;
  for (const auto& [selector, tracked] : tracked_) ages.push_back(tracked->last_asked);
  const auto middle = ages.begin() + ages.size() / 2;
  std::nth_element(ages.begin(), middle, ages.end());
  const auto is_old = [oldest = *middle](const Tracked* tracked) {
    return tracked->last_asked < oldest;
  };
  for (const auto& [key, kind] : kinds_) std::erase_if(kind->selected_by, is_old);
  selectors_.EraseIf(is_old);
  for (const auto& [key, tracked] : tracked_) {
    if (is_old(tracked.get())) dropped_.push_back(std::move(tracked->counts));
  }
  absl::erase_if(tracked_, [&](const auto& entry) { return is_old(entry.second.get()); });
}

}  // namespace berth
