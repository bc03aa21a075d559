// SPDX-License-Identifier: Apache-2.0
// A bounded cache by equivalence class of pods, for classes that come again.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_EQUIVALENCE_CACHE_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_EQUIVALENCE_CACHE_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace berth {

// An equivalence class: pods that plugins cannot tell apart.
class PodClass {
 public:
  PodClass(absl::string_view signature, const void* spec) : signature_(signature), spec_(spec) {}

  absl::string_view signature() const { return signature_; }
  // Not null where pods of another spec are another class.
  const void* spec() const { return spec_; }
  size_t hash() const {
    if (hash_ == 0) hash_ = absl::HashOf(signature_, spec_);
    return hash_;
  }

 private:
  absl::string_view signature_;
  const void* spec_;
  mutable size_t hash_ = 0;  // once asked for
};

// A T for each class of pods. Scheduling thread.
template <class T>
class EquivalenceCache {
 public:
  bool empty() const { return entries_.empty(); }

  // What is kept for the class, or null. Counts as a use.
  T* Find(const PodClass& pods) {
    if (entries_.empty()) return nullptr;
    ++uses_;
    if (!entries_.front().Is(pods)) {  // pods of one class mostly come in a row
      const auto it = by_hash_.find(pods.hash());
      if (it == by_hash_.end() || !it->second->Is(pods)) return nullptr;
      entries_.splice(entries_.begin(), entries_, it->second);
    }
    entries_.front().last_use = uses_;
    return entries_.front().value.get();
  }

  // Keeps make() for a class of which nothing is kept, if that pays: if the class came before, and
  // there are fewer than `most` classes, or one of them was not used since. So if too many classes
  // alternate, some of them stay. Null if it does not pay. `evaluated_pod`, a hash, if not 0: a
  // class that came for one pod only, which is tried again, does not count as having come before.
  template <class Make>
  T* Add(const PodClass& pods, size_t most, Make make, size_t evaluated_pod = 0) {
    ++uses_;
    while (entries_.size() > most) DropOldest();  // it was more when there were fewer nodes
    if (seen_.size() >= kMaxSeen) seen_.clear();
    const auto [seen, is_new] = seen_.try_emplace(pods.hash(), Seen{uses_, evaluated_pod});
    const uint64_t before = std::exchange(seen->second.use, uses_);
    const bool same_asker = evaluated_pod != 0 && seen->second.evaluated_pod == evaluated_pod;
    if (is_new || same_asker || by_hash_.contains(pods.hash())) return nullptr;
    while (entries_.size() >= most) {
      if (entries_.back().last_use > before) return nullptr;
      DropOldest();
    }
    seen_.erase(seen);
    entries_.push_front({std::string(pods.signature()), pods.spec(), pods.hash(), make(), uses_});
    by_hash_.emplace(pods.hash(), entries_.begin());
    return entries_.front().value.get();
  }
  // Whether the class came once, so that Add() would take it if there is room.
  bool Saw(const PodClass& pods) const { return seen_.contains(pods.hash()); }
  bool saw_nothing() const { return seen_.empty(); }
  void ForgetFirstUse(const PodClass& pods) { seen_.erase(pods.hash()); }

  void Forget(const PodClass& pods) {
    const auto it = by_hash_.find(pods.hash());
    if (it == by_hash_.end() || !it->second->Is(pods)) return;
    entries_.erase(it->second);
    by_hash_.erase(it);
  }

 private:
  void DropOldest() {
    by_hash_.erase(entries_.back().hash);
    entries_.pop_back();
  }

  static constexpr size_t kMaxSeen = 65536;
  struct Entry {
    std::string signature;
    const void* spec;
    size_t hash;
    std::unique_ptr<T> value;
    uint64_t last_use;

    bool Is(const PodClass& pods) const {
      return spec == pods.spec() && signature == pods.signature();
    }
  };

  uint64_t uses_ = 0;
  std::list<Entry> entries_;  // the last one used first
  // Of two classes with one hash only one is kept.
  absl::flat_hash_map<size_t, typename std::list<Entry>::iterator> by_hash_;
  // When classes came last, and for whom first, by hash.
  struct Seen {
    uint64_t use;
    size_t evaluated_pod;
  };
  absl::flat_hash_map<size_t, Seen> seen_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_EQUIVALENCE_CACHE_H_
