// SPDX-License-Identifier: Apache-2.0
// A bounded cache by equivalence class, for classes that come again.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_EQUIVALENCE_CACHE_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_EQUIVALENCE_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace berth {

// Names an equivalence class: of pods that plugins cannot tell apart, or of what is kept for them.
class ClassKey {
 public:
  ClassKey(absl::string_view signature, const void* owner) : signature_(signature), owner_(owner) {}

  absl::string_view signature() const { return signature_; }
  // Not null where the signature says it for one owner only: the spec of the pods, or the
  // ScoreCache whose nodes are in classes. Only its address counts.
  const void* owner() const { return owner_; }
  size_t hash() const {
    if (hash_ == 0) hash_ = absl::HashOf(signature_, owner_);
    return hash_;
  }

 private:
  absl::string_view signature_;
  const void* owner_;
  mutable size_t hash_ = 0;  // once asked for
};

// A T for each class. Scheduling thread.
template <class T>
class EquivalenceCache {
 public:
  static constexpr uint64_t kAnyGap = uint64_t{1} << 40;

  bool empty() const { return entries_.empty(); }

  // The version of the node table at the uses that follow.
  void SetVersion(uint64_t version) { version_ = version; }

  // What is kept for the class, or null. Counts as a use.
  T* Find(const ClassKey& key) {
    if (entries_.empty()) return nullptr;
    ++uses_;
    if (!entries_.front().Is(key)) {  // pods of one class mostly come in a row
      const auto it = by_hash_.find(key.hash());
      if (it == by_hash_.end() || !it->second->Is(key)) return nullptr;
      entries_.splice(entries_.begin(), entries_, it->second);
    }
    Entry& entry = entries_.front();
    entry.last_use = uses_;
    behind_ = version_ - std::exchange(entry.version, version_);
    entry.gap = MeanWith(entry.gap, behind_);
    return entry.value.get();
  }
  // For the class that Find() found: how many rows changed since its use before that, and between
  // two of its uses lately, on average.
  uint64_t behind() const { return behind_; }
  uint64_t gap() const { return entries_.front().gap; }

  // Keeps make() for a class of which nothing is kept, if that pays; null if it does not. It pays
  // - if the class came back: few rows changed since it came last (SetVersion() counts them;
  //   without it none did), or between two of its pods at most `max_gap` on average;
  // - with another pod, if `pod_hash` is not 0: one pod that is tried again does not count;
  // - and if there are fewer than `most` classes, or one of them was not used since. So if too many
  //   classes alternate, some of them stay.
  template <class Make>
  T* Add(const ClassKey& key, size_t most, Make make, size_t pod_hash = 0,
         uint64_t max_gap = kAnyGap) {
    ++uses_;
    while (entries_.size() > most) DropOldest();  // it was more when there were fewer nodes
    if (seen_.size() >= kMaxSeen) seen_.clear();
    const auto [it, is_new] = seen_.try_emplace(key.hash(), Seen{uses_, version_, pod_hash});
    Seen& seen = it->second;
    const uint64_t far = 2 * max_gap;  // as if it never came before
    const uint64_t before = std::exchange(seen.use, uses_);
    const uint64_t behind = version_ - std::exchange(seen.version, version_);
    if (is_new) seen.gap = far;
    if (is_new || (pod_hash != 0 && seen.pod_hash == pod_hash)) return nullptr;
    seen.gap = MeanWith(seen.gap, std::min(behind, far));
    const bool pays = behind <= kFewBehind || seen.gap <= max_gap;
    if (!pays || by_hash_.contains(key.hash())) return nullptr;
    while (entries_.size() >= most) {
      if (entries_.back().last_use > before) return nullptr;
      DropOldest();
    }
    entries_.push_front(
        {std::string(key.signature()), key.owner(), key.hash(), make(), uses_, version_, seen.gap});
    seen_.erase(it);
    by_hash_.emplace(key.hash(), entries_.begin());
    return entries_.front().value.get();
  }
  // Whether the class came once, so that Add() would take it if there is room.
  bool Saw(const ClassKey& key) const { return seen_.contains(key.hash()); }
  bool saw_nothing() const { return seen_.empty(); }
  void ForgetFirstUse(const ClassKey& key) { seen_.erase(key.hash()); }

  void Forget(const ClassKey& key) {
    const auto it = by_hash_.find(key.hash());
    if (it == by_hash_.end() || !it->second->Is(key)) return;
    entries_.erase(it->second);
    by_hash_.erase(it);
  }

 private:
  // The latest count for most.
  static uint64_t MeanWith(uint64_t mean, uint64_t gap) { return (7 * mean + gap) / 8; }

  void DropOldest() {
    by_hash_.erase(entries_.back().hash);
    entries_.pop_back();
  }

  static constexpr size_t kMaxSeen = 65536;
  // Pods that come one after the other, as those of a group, will be followed by more of them.
  static constexpr uint64_t kFewBehind = 16;
  struct Entry {
    std::string signature;
    const void* owner;
    size_t hash;
    std::unique_ptr<T> value;
    uint64_t last_use;
    uint64_t version;  // at that use
    uint64_t gap;      // see gap()

    bool Is(const ClassKey& key) const {
      return owner == key.owner() && signature == key.signature();
    }
  };

  uint64_t uses_ = 0;
  uint64_t version_ = 0, behind_ = 0;
  std::list<Entry> entries_;  // the last one used first
  // Only one of two classes with one hash is kept.
  absl::flat_hash_map<size_t, typename std::list<Entry>::iterator> by_hash_;
  // When classes came last, for which pod first, and how often they come, by hash.
  struct Seen {
    uint64_t use, version;
    size_t pod_hash;
    uint64_t gap = 0;
  };
  absl::flat_hash_map<size_t, Seen> seen_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_EQUIVALENCE_CACHE_H_
