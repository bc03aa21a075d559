// Implementation of dry_run_cache.h.
#include "preemption/pruning/dry_run_cache.h"

#include <algorithm>
#include <cstddef>

namespace berth {
namespace {

constexpr size_t kMaxSeenOnce = 8192;
// A remembered candidate takes some 300 bytes.
constexpr size_t kMaxRows = size_t{1} << 19;
constexpr size_t kMinEntries = 4;
constexpr int kMostSetbacks = 4;
constexpr int kFew = 64;  // an entry of few rows takes as much as if it had some more

}  // namespace

RememberedSearch* DryRunMemory::Find(const std::string& key, int rows) {
  ++uses_;
  if (const auto it = entries_.find(key); it != entries_.end()) {
    it->second.last_use = uses_;
    return it->second.search.get();
  }
  if (seen_once_.erase(key) > 0) {
    MakeRoom(rows);
    Entry& entry = entries_[key];
    entry.search = std::make_unique<RememberedSearch>();
    entry.last_use = uses_;
    return entry.search.get();
  }
  if (seen_once_.size() >= kMaxSeenOnce) seen_once_.clear();
  seen_once_.insert(key);
  return nullptr;
}

bool DryRunMemory::MayStop(const std::string& key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) {  // it begins again, and then what it finds out is remembered
    if (stopped_once_ == key) return false;
    stopped_once_ = key;
    return true;
  }
  Entry& entry = it->second;
  const int known = entry.search->runs.known_count();
  if (known <= entry.known_at_stop && ++entry.setbacks > kMostSetbacks) return false;
  entry.known_at_stop = known;
  return true;
}

void DryRunMemory::Done(const std::string& key) {
  if (stopped_once_ == key) stopped_once_.clear();
  const auto it = entries_.find(key);
  if (it == entries_.end()) return;
  it->second.known_at_stop = -1;
  it->second.setbacks = 0;
}

// Lets the entries go that were not used for longest.
void DryRunMemory::MakeRoom(int rows) {
  const size_t most = std::max(kMinEntries, kMaxRows / static_cast<size_t>(std::max(rows, kFew)));
  while (entries_.size() >= most) {
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; }));
  }
}

}  // namespace berth
