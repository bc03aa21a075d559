// What is kept for pods that come in numbers or come again: by kind, as much as there is room for.
#ifndef BERTH_SRC_ENGINE_KIND_MEMORY_H_
#define BERTH_SRC_ENGINE_KIND_MEMORY_H_

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"

namespace berth {

// A T for each kind. Scheduling thread.
template <class T>
class KindMemory {
 public:
  bool empty() const { return entries_.empty(); }

  // What is kept of the kind, which counts as a use; null if nothing is.
  T* Find(const std::string& kind) {
    if (entries_.empty()) return nullptr;
    ++uses_;
    if (entries_.front().kind != kind) {  // pods mostly come in runs of alike ones
      const auto it = by_kind_.find(kind);
      if (it == by_kind_.end()) return nullptr;
      entries_.splice(entries_.begin(), entries_, it->second);
    }
    entries_.front().last_use = uses_;
    return entries_.front().value.get();
  }

  // Keeps make() of a kind that is not kept, if that is worth it: if the kind came before, and
  // there is room for `most` or one of them was not used since. Kinds that take turns and are too
  // many so leave each other in place, and a part of them stays. Null if it is not worth it.
  template <class Make>
  T* Add(const std::string& kind, size_t most, Make make) {
    ++uses_;
    if (seen_.size() >= kMaxSeen) seen_.clear();
    const auto [seen, is_new] = seen_.try_emplace(absl::HashOf(kind), uses_);
    const uint64_t before = std::exchange(seen->second, uses_);
    if (is_new) return nullptr;
    while (entries_.size() >= most) {
      if (entries_.back().last_use > before) return nullptr;
      by_kind_.erase(entries_.back().kind);
      entries_.pop_back();
    }
    seen_.erase(seen);
    entries_.push_front({kind, make(), uses_});
    by_kind_.emplace(entries_.front().kind, entries_.begin());
    return entries_.front().value.get();
  }
  // Whether the kind came once, so that Add() would take it if there is room.
  bool Saw(const std::string& kind) const { return seen_.contains(absl::HashOf(kind)); }
  bool saw_nothing() const { return seen_.empty(); }
  void ForgetSeen(const std::string& kind) { seen_.erase(absl::HashOf(kind)); }

  void Forget(const std::string& kind) {
    const auto it = by_kind_.find(kind);
    if (it == by_kind_.end()) return;
    entries_.erase(it->second);
    by_kind_.erase(it);
  }

 private:
  static constexpr size_t kMaxSeen = 65536;
  struct Entry {
    std::string kind;
    std::unique_ptr<T> value;
    uint64_t last_use;
  };

  uint64_t uses_ = 0;
  std::list<Entry> entries_;  // the last one used first
  absl::flat_hash_map<std::string, typename std::list<Entry>::iterator> by_kind_;
  // Kinds that came, by hash, and when. Two with one hash only mean that one is kept too early.
  absl::flat_hash_map<size_t, uint64_t> seen_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_KIND_MEMORY_H_
