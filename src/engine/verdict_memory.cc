// Implementation of verdict_memory.h.
#include "engine/verdict_memory.h"

#include <algorithm>

namespace berth {
namespace {

constexpr size_t kMaxSeenOnce = 8192;
// A remembered row takes some 50 bytes.
constexpr size_t kMaxRows = size_t{8} << 20;
constexpr size_t kMinEntries = 8;

}  // namespace

RankedNodes* VerdictMemory::Find(const Framework& framework,
                                 const std::shared_ptr<const PodInfo>& pod, int rows) {
  signature_.clear();
  signature_.Add(framework.profile().scheduler_name);
  const PluginMask plugins = framework.SignForNodes(*pod, signature_);
  ++uses_;
  if (last_ == nullptr || last_->first != signature_.bytes()) {
    const auto it = entries_.find(signature_.bytes());
    last_ = it == entries_.end() ? nullptr : &*it;
  }
  if (last_ != nullptr) {
    last_->second.last_use = uses_;
    return last_->second.ranked.get();
  }
  if (const auto it = seen_once_.find(signature_.bytes()); it != seen_once_.end()) {
    seen_once_.erase(it);
    MakeRoom(rows);
    auto ranked = std::make_unique<RankedNodes>(framework, pod, plugins);
    return entries_.emplace(signature_.bytes(), Entry{std::move(ranked), uses_})
        .first->second.ranked.get();
  }
  if (seen_once_.size() >= kMaxSeenOnce) seen_once_.clear();
  seen_once_.insert(signature_.bytes());
  return nullptr;
}

void VerdictMemory::Forget(const RankedNodes& ranked) {
  last_ = nullptr;
  absl::erase_if(entries_, [&](const auto& entry) { return entry.second.ranked.get() == &ranked; });
}

// Lets the entries go that were not used for longest.
void VerdictMemory::MakeRoom(int rows) {
  last_ = nullptr;
  const size_t most = std::max(kMinEntries, kMaxRows / static_cast<size_t>(std::max(rows, 1)));
  while (entries_.size() >= most) {
    entries_.erase(std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; }));
  }
}

}  // namespace berth
