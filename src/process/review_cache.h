// SPDX-License-Identifier: Apache-2.0
// Answers that hold for a while.
#ifndef BERTH_SRC_PROCESS_REVIEW_CACHE_H_
#define BERTH_SRC_PROCESS_REVIEW_CACHE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace berth {

// All answers hold equally long; the oldest go when there are too many. One thread at a time.
template <class T>
class ReviewCache {
 public:
  ReviewCache(absl::Duration life, size_t most) : life_(life), most_(most) {}

  std::optional<T> Find(const std::string& key, absl::Time now) {
    DropEnded(now);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return found->second.value;
  }
  void Put(const std::string& key, T value, absl::Time now) {
    DropEnded(now);
    if (entries_.size() >= most_ && !entries_.contains(key)) DropFirst();
    const uint64_t number = ++puts_;
    entries_.insert_or_assign(key, Entry{std::move(value), number});
    order_.push_back({key, number, now + life_});
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    T value;
    uint64_t number;
  };
  struct Turn {
    std::string key;
    uint64_t number;  // of the entry; another: it was put again
    absl::Time end;
  };

  void DropEnded(absl::Time now) {
    while (!order_.empty() && order_.front().end <= now) DropTurn();
  }
  void DropFirst() {
    const size_t before = entries_.size();
    while (entries_.size() == before && !order_.empty()) DropTurn();
  }
  void DropTurn() {
    const auto found = entries_.find(order_.front().key);
    if (found != entries_.end() && found->second.number == order_.front().number) {
      entries_.erase(found);
    }
    order_.pop_front();
  }

  const absl::Duration life_;
  const size_t most_;
  absl::flat_hash_map<std::string, Entry> entries_;
  std::deque<Turn> order_;  // as they were put
  uint64_t puts_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_REVIEW_CACHE_H_
