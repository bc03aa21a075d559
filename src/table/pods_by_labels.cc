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
constexpr size_t kSpareClasses = 64;

}  // namespace

// --- Kinds of pods -------------------------------------------------------------------------------

void PodsByLabels::Add(int slot, const PodInfo& pod, int64_t difference) {
  LabelClass& label_class = FindOrAddClass(pod);
  const bool had_pods = label_class.pods.nonzero() > 0;
  label_class.pods.Add(slot, difference);
  for (Tracked* tracked : label_class.selected_by) tracked->counts->Add(slot, difference);
  if (had_pods == (label_class.pods.nonzero() > 0)) return;
  if (had_pods) {
    --classes_in_use_;
    // It may be needed again at once: a pod that is bound goes as assumed and comes as bound.
    if (classes_.size() > 2 * classes_in_use_ + kSpareClasses) DropEmptyClasses();
  } else {
    ++classes_in_use_;
  }
}

void PodsByLabels::AddTo(absl::Span<NodeSet* const> sets, int slot, const PodInfo& pod,
                         int64_t difference) {
  for (Tracked* tracked : FindOrAddClass(pod).selected_by) {
    if (absl::c_linear_search(sets, tracked->nodes)) tracked->counts->Add(slot, difference);
  }
}

PodsByLabels::LabelClass& PodsByLabels::FindOrAddClass(const PodInfo& pod) {
  const bool terminating = pod.deletion_time().has_value();
  const auto known = classes_.find(LabelClassKey{pod.namespace_name(), &pod.labels(), terminating});
  if (known != classes_.end()) return *known->second;

  auto owned = std::make_unique<LabelClass>(
      LabelClass{pod.namespace_name(), pod.labels(), terminating, SlotCounts(), {}});
  LabelClass& label_class = *owned;
  classes_.emplace(LabelClassKey{label_class.namespace_name, &label_class.labels, terminating},
                   std::move(owned));
  namespaces_[label_class.namespace_name].Add(label_class.labels, &label_class);
  selectors_.ForEachCandidate(label_class.namespace_name, label_class.labels,
                              [&](Tracked* tracked) {
                                if (Selects(tracked->selector, label_class))
                                  label_class.selected_by.push_back(tracked);
                              });
  return label_class;
}

void PodsByLabels::DropEmptyClasses() {
  const auto is_empty = [](const LabelClass* label_class) {
    return label_class->pods.nonzero() == 0;
  };
  absl::erase_if(namespaces_, [&](auto& entry) {
    entry.second.EraseIf(is_empty);
    return entry.second.empty();
  });
  absl::erase_if(classes_, [&](const auto& entry) { return is_empty(entry.second.get()); });
}

// --- Selectors -----------------------------------------------------------------------------------

bool PodsByLabels::Selects(const PodSelector& selector, const LabelClass& label_class) {
  return selector.Matches(label_class.namespace_name, label_class.labels, label_class.terminating);
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
  ForEachSelected(selector, [&](LabelClass& label_class) {
    label_class.selected_by.push_back(tracked.get());
    label_class.pods.ForEach([&](int slot, int64_t count) { tracked->counts->Add(slot, count); });
  });
  if (selector.any_namespace) {
    selectors_.Add({}, selector.labels, tracked.get());
  } else if (!selector.namespaces.empty()) {
    selectors_.Add(selector.namespaces, selector.labels, tracked.get());
  }
  return tracked;
}

void PodsByLabels::CountOnce(const PodSelector& selector, SlotCounts& counts) const {
  ForEachSelected(selector, [&](const LabelClass& label_class) {
    label_class.pods.ForEach([&](int slot, int64_t count) { counts.Add(slot, count); });
  });
}

template <class Visit>
void PodsByLabels::ForEachSelected(const PodSelector& selector, Visit visit) const {
  const auto visit_some = [&](const LabelledItems<LabelClass*>& classes) {
    classes.ForEachCandidate(selector.labels, [&](LabelClass* label_class) {
      if (Selects(selector, *label_class)) visit(*label_class);
    });
  };
  if (selector.any_namespace) {
    for (const auto& [name, classes] : namespaces_) visit_some(classes);
    return;
  }
  for (const Symbol name : selector.namespaces) {
    const auto classes = namespaces_.find(name);
    if (classes != namespaces_.end()) visit_some(classes->second);
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
  for (const auto& [key, label_class] : classes_) std::erase_if(label_class->selected_by, is_old);
  selectors_.EraseIf(is_old);
  for (const auto& [key, tracked] : tracked_) {
    if (is_old(tracked.get())) dropped_.push_back(std::move(tracked->counts));
  }
  absl::erase_if(tracked_, [&](const auto& entry) { return is_old(entry.second.get()); });
}

}  // namespace berth
