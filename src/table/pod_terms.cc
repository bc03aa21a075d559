// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_terms.h.
#include "table/pod_terms.h"

namespace berth {
namespace {

// Terms that no pod has any more and that are not worth a search.
constexpr size_t kSpareTerms = 64;

bool IsUnused(const PodTerm& term) { return term.counts.total() == 0; }

}  // namespace

void PodTerms::Add(int slot, const PodInfo& pod, int64_t difference) {
  for (const AffinityTerm& term : pod.required_affinity_terms()) {
    AddTerm({TermKind::kRequiredAffinity, 0, &term}, slot, difference);
  }
  for (const AffinityTerm& term : pod.required_anti_affinity_terms()) {
    AddTerm({TermKind::kRequiredAntiAffinity, 0, &term}, slot, difference);
  }
  for (const WeightedAffinityTerm& term : pod.preferred_affinity_terms()) {
    AddTerm({TermKind::kPreferredAffinity, term.weight, &term.term}, slot, difference);
  }
  for (const WeightedAffinityTerm& term : pod.preferred_anti_affinity_terms()) {
    AddTerm({TermKind::kPreferredAntiAffinity, term.weight, &term.term}, slot, difference);
  }
}

void PodTerms::AddTerm(const Key& key, int slot, int64_t difference) {
  auto it = terms_.find(key);
  if (it == terms_.end()) {
    auto owned =
        std::make_unique<PodTerm>(PodTerm{key.kind, key.weight, *key.term, PodCounts(slots_)});
    const PodTerm& term = *owned;
    it = terms_.emplace(Key{key.kind, key.weight, &term.term}, std::move(owned)).first;
    // A term without a namespaceSelector is about the namespaces it names.
    const bool names_namespaces = term.term.namespace_selector.SelectsNothing();
    by_labels_.Add(names_namespaces ? term.term.namespaces : std::vector<Symbol>(),
                   term.term.selector, &term);
  }
  PodTerm& term = *it->second;
  const bool was_unused = IsUnused(term);
  term.counts.Add(slot, difference);
  if (was_unused == IsUnused(term)) return;
  if (was_unused) {
    ++terms_in_use_;
  } else {
    --terms_in_use_;
    // It may be needed again at once: a pod that is bound goes as assumed and comes as bound.
    if (terms_.size() > 2 * terms_in_use_ + kSpareTerms) DropUnused();
  }
}

void PodTerms::DropUnused() {
  by_labels_.EraseIf([](const PodTerm* term) { return IsUnused(*term); });
  absl::erase_if(terms_, [](const auto& entry) { return IsUnused(*entry.second); });
}

absl::InlinedVector<const PodTerm*, 8> PodTerms::About(const PodInfo& pod,
                                                       const LabelSet* namespace_labels,
                                                       TermKinds kinds) const {
  absl::InlinedVector<const PodTerm*, 8> terms;
  if (terms_in_use_ == 0) return terms;
  by_labels_.ForEachCandidate(pod.namespace_name(), pod.labels(), [&](const PodTerm* term) {
    if ((term->kind & kinds) == 0 || IsUnused(*term)) return;
    if (term->term.Matches(pod.namespace_name(), pod.labels(), namespace_labels)) {
      terms.push_back(term);
    }
  });
  return terms;
}

}  // namespace berth
