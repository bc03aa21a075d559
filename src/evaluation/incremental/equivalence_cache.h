// What is kept for pods that come in numbers or come again: by kind, as much as there is room for.
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

// What pods of a kind have in common.
class PodClass {
 public:
  PodClass(absl::string_view signature, const void* spec) : signature_(signature), spec_(spec) {}

  absl::string_view signature() const { return signature_; }
  // Where pods of another spec are another kind.
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

// A T for each kind. Scheduling thread.
template <class T>
class EquivalenceCache {
 public:
  bool empty() const { return entries_.empty(); }

  // What is kept of the kind, which counts as a use; null if nothing is.
  T* Find(const PodClass& kind) {
    if (entries_.empty()) return nullptr;
    ++uses_;
    if (!entries_.front().Is(kind)) {  // pods mostly come in runs of alike ones
      const auto it = by_hash_.find(kind.hash());
      if (it == by_hash_.end() || !it->second->Is(kind)) return nullptr;
      entries_.splice(entries_.begin(), entries_, it->second);
    }
    entries_.front().last_use = uses_;
    return entries_.front().value.get();
  }

  // Keeps make() of a kind that is not kept, if that is worth it: if the kind came before, and
  // there is room for `most` or one of them was not used since. Kinds that take turns and are too
  // many so leave each other in place, and a part of them stays. Null if it is not worth it.
  // `asker`, a hash, if not 0: a kind that has come for one asker only did not come before.
  template <class Make>
  T* Add(const PodClass& kind, size_t most, Make make, size_t asker = 0) {
    ++uses_;
    while (entries_.size() > most) DropOldest();  // it was more when there were fewer nodes
    if (seen_.size() >= kMaxSeen) seen_.clear();
    const auto [seen, is_new] = seen_.try_emplace(kind.hash(), Seen{uses_, asker});
    const uint64_t before = std::exchange(seen->second.use, uses_);
    const bool same_asker = asker != 0 && seen->second.asker == asker;
    if (is_new || same_asker || by_hash_.contains(kind.hash())) return nullptr;
    while (entries_.size() >= most) {
      if (entries_.back().last_use > before) return nullptr;
      DropOldest();
    }
    seen_.erase(seen);
    entries_.push_front({std::string(kind.signature()), kind.spec(), kind.hash(), make(), uses_});
    by_hash_.emplace(kind.hash(), entries_.begin());
    return entries_.front().value.get();
  }
  // Whether the kind came once, so that Add() would take it if there is room.
  bool Saw(const PodClass& kind) const { return seen_.contains(kind.hash()); }
  bool saw_nothing() const { return seen_.empty(); }
  void ForgetSeen(const PodClass& kind) { seen_.erase(kind.hash()); }

  void Forget(const PodClass& kind) {
    const auto it = by_hash_.find(kind.hash());
    if (it == by_hash_.end() || !it->second->Is(kind)) return;
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

    bool Is(const PodClass& kind) const {
      return spec == kind.spec() && signature == kind.signature();
    }
  };

  uint64_t uses_ = 0;
  std::list<Entry> entries_;  // the last one used first
  // Of two kinds with one hash only one is kept.
  absl::flat_hash_map<size_t, typename std::list<Entry>::iterator> by_hash_;
  // When kinds came last, and for whom first, by hash.
  struct Seen {
    uint64_t use;
    size_t asker;
  };
  absl::flat_hash_map<size_t, Seen> seen_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_EQUIVALENCE_CACHE_H_
