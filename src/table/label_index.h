// SPDX-License-Identifier: Apache-2.0
// Selectors and what they select find each other by labels that are required: LabelIndex,
// LabelledItems.
#ifndef BERTH_SRC_TABLE_LABEL_INDEX_H_
#define BERTH_SRC_TABLE_LABEL_INDEX_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
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

// Finds the selectors that could select a pod. `T` stands for something with a selector, and is
// cheap to copy.
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

  // Forgets what was added with the same namespaces and labels.
  void Remove(absl::Span<const Symbol> namespaces, const LabelSelector& labels, const T& item) {
    if (labels.SelectsNothing()) return;
    if (namespaces.empty() || namespaces.size() > kMaxNamespaces) {
      RemoveFrom({.any_namespace = true}, labels, item);
      return;
    }
    for (const Symbol name : namespaces) RemoveFrom({.namespace_name = name}, labels, item);
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

  // It is filed under one of the required labels, or under any label.
  void RemoveFrom(Bucket bucket, const LabelSelector& labels, const T& item) {
    bucket.any_label = true;
    Take(bucket, item);
    bucket.any_label = false;
    ForEachRequiredLabel(labels, [&](Symbol key, absl::Span<const Symbol> values) {
      bucket.key = key;
      for (const Symbol value : values) {
        bucket.value = value;
        Take(bucket, item);
      }
    });
  }

  void Take(const Bucket& bucket, const T& item) {
    const auto it = buckets_.find(bucket);
    if (it == buckets_.end()) return;
    std::erase(it->second, item);
    if (it->second.empty()) buckets_.erase(it);
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

// Finds what a selector could select. `T` stands for something with labels, and is cheap to copy.
template <class T>
class LabelledItems {
 public:
  void Add(const LabelSet& labels, const T& item) {
    all_.insert(item);
    for (const LabelSet::Entry& label : labels.entries()) with_label_[label].insert(item);
  }
  // What was added with the same labels.
  void Remove(const LabelSet& labels, const T& item) {
    all_.erase(item);
    for (const LabelSet::Entry& label : labels.entries()) {
      const auto it = with_label_.find(label);
      if (it == with_label_.end()) continue;
      it->second.erase(item);
      if (it->second.empty()) with_label_.erase(it);
    }
  }
  // Forgets the items of which `is_dead` says true.
  template <class IsDead>
  void EraseIf(IsDead is_dead) {
    absl::erase_if(all_, is_dead);
    absl::erase_if(with_label_, [&](auto& entry) {
      absl::erase_if(entry.second, is_dead);
      return entry.second.empty();
    });
  }
  bool empty() const { return all_.empty(); }

  // Calls visit(item), once each and in no particular order, for the items that have a required
  // label, the one that the fewest have; for all of them only if no label is required.
  template <class Visit>
  void ForEachCandidate(const LabelSelector& selector, Visit visit) const {
    if (selector.SelectsNothing()) return;
    absl::InlinedVector<const Items*, 4> best = {&all_};
    std::optional<size_t> fewest;
    ForEachRequiredLabel(selector, [&](Symbol key, absl::Span<const Symbol> values) {
      absl::InlinedVector<const Items*, 4> candidates;
      size_t count = 0;
      for (const Symbol value : values) {
        const auto it = with_label_.find({key, value});
        if (it == with_label_.end()) continue;
        if (absl::c_linear_search(candidates, &it->second)) continue;  // a value listed twice
        candidates.push_back(&it->second);
        count += it->second.size();
      }
      if (fewest.has_value() && count >= *fewest) return;
      best = std::move(candidates);
      fewest = count;
    });
    for (const Items* items : best) {
      for (const T& item : *items) visit(item);
    }
  }

 private:
  using Items = absl::flat_hash_set<T>;

  Items all_;
  absl::flat_hash_map<LabelSet::Entry, Items> with_label_;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_LABEL_INDEX_H_
