// SPDX-License-Identifier: Apache-2.0
// PodTerms: the distinct (anti-)affinity terms of pods on nodes.
#ifndef BERTH_SRC_TABLE_POD_TERMS_H_
#define BERTH_SRC_TABLE_POD_TERMS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "berth/columns/pod_table.h"
#include "table/label_index.h"

namespace berth {

class PodTerms {
 public:
  explicit PodTerms(const NodeSlots& slots) : slots_(slots) {}

  // Pods come to the node of that slot, or go.
  void Add(int slot, const PodInfo& pod, int64_t difference);

  // As PodTable::TermsAbout().
  absl::InlinedVector<const PodTerm*, 8> About(const PodInfo& pod, const LabelSet* namespace_labels,
                                               TermKinds kinds) const;

 private:
  // Points into the term.
  struct Key {
    TermKinds kind;
    int64_t weight;
    const AffinityTerm* term;
    friend bool operator==(const Key& a, const Key& b) {
      return a.kind == b.kind && a.weight == b.weight && *a.term == *b.term;
    }
    template <class H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.kind, key.weight, *key.term);
    }
  };

  void AddTerm(const Key& key, int slot, int64_t difference);
  void DropUnused();

  const NodeSlots& slots_;
  absl::flat_hash_map<Key, std::unique_ptr<PodTerm>> terms_;
  size_t terms_in_use_ = 0;  // those that pods have
  LabelIndex<const PodTerm*> by_labels_;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_POD_TERMS_H_
