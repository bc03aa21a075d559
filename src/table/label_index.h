// SPDX-License-Identifier: Apache-2.0
// LabelIndex: finds the selectors that could select a pod by the labels that they require.
#ifndef BERTH_SRC_TABLE_LABEL_INDEX_H_
#define BERTH_SRC_TABLE_LABEL_INDEX_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"

namespace berth {

// Calls visit(key, values) for each label that `selector` requires to have one of some values.
template <class Visit>
void ForEachRequiredLabel(const LabelSelector& selector, Visit visit) {
  for (const LabelRequirement& requirement : selector.requirements()) {
    if (requirement.op() == SelectorOperator::kIn) visit(requirement.key(), requirement.values());
  }
}

// `T` stands for something with a selector, and is cheap to copy.
template <class T>
class LabelIndex {
 public:
  // Adds `item`, whose selector selects pods with `labels` of `namespaces`, or of any namespace if
  // there are none of these.
  void Add(absl::Span<const Symbol> namespaces, const LabelSelector& labels, T item) {
    if (labels.SelectsNothing()) return;
    if (namespaces.empty() || namespaces.size() > kMaxNamespaces) {
      AddTo({.any_namespace = true}, labels, item);
      return;
    }
    for (const Symbol name : namespaces) AddTo({.namespace_name = name}, labels, item);
  }

  // Calls visit(item), once each, for what could select a pod with these labels, and perhaps for
  // more.
  template <class Visit>
  void ForEachCandidate(Symbol namespace_name, const LabelSet& labels, Visit visit) const {
    if (buckets_.empty()) return;
    for (Bucket bucket :
         {Bucket{.any_namespace = true}, Bucket{.namespace_name = namespace_name}}) {
      bucket.any_label = true;
      VisitBucket(bucket, visit);
      bucket.any_label = false;
      for (const auto& [key, value] : labels.entries()) {
        bucket.key = key;
        bucket.value = value;
        VisitBucket(bucket, visit);
      }
    }
  }

  // Forgets the items of which `is_dead` says true.
  template <class IsDead>
  void EraseIf(IsDead is_dead) {
    absl::erase_if(buckets_, [&](auto& entry) {
      std::erase_if(entry.second, is_dead);
      return entry.second.empty();
    });
  }

 private:
  static constexpr size_t kMaxNamespaces = 8;  // with more of them it is filed under any namespace

  struct Bucket {
    bool any_namespace = false, any_label = false;
    Symbol namespace_name, key, value;
    friend bool operator==(const Bucket&, const Bucket&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Bucket& b) {
      return H::combine(std::move(h), b.any_namespace, b.any_label, b.namespace_name, b.key,
                        b.value);
    }
  };

  // Files it under the required label that has the fewest items so far.
  void AddTo(Bucket bucket, const LabelSelector& labels, const T& item) {
    Symbol best;
    absl::Span<const Symbol> values;
    size_t fewest = 0;
    ForEachRequiredLabel(labels, [&](Symbol key, absl::Span<const Symbol> of_key) {
      size_t items = 0;
      bucket.key = key;
      for (const Symbol value : of_key) {
        bucket.value = value;
        const auto it = buckets_.find(bucket);
        if (it != buckets_.end()) items += it->second.size();
      }
      if (!values.empty() && items >= fewest) return;
      best = key;
      values = of_key;
      fewest = items;
    });
    bucket.key = best;
    bucket.value = Symbol();
    bucket.any_label = values.empty();
    if (bucket.any_label) Put(bucket, item);
    for (const Symbol value : values) {
      bucket.value = value;
      Put(bucket, item);
    }
  }

  // A value may be listed twice.
  void Put(const Bucket& bucket, const T& item) {
    std::vector<T>& items = buckets_[bucket];
    if (items.empty() || items.back() != item) items.push_back(item);
  }

  template <class Visit>
  void VisitBucket(const Bucket& bucket, Visit& visit) const {
    const auto it = buckets_.find(bucket);
    if (it == buckets_.end()) return;
    for (const T& item : it->second) visit(item);
  }

  absl::flat_hash_map<Bucket, std::vector<T>> buckets_;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_LABEL_INDEX_H_
