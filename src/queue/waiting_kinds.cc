// Implementation of waiting_kinds.h.
#include "queue/waiting_kinds.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

void WaitingKinds::Set(QueuedGroup& entry, WaitingKind::Key key,
                       absl::Span<const PluginSlot> slots) {
  if (entry.kind != nullptr && entry.kind->key == key) return;
  Remove(entry);
  std::unique_ptr<WaitingKind>& kind = kinds_[key];
  if (kind == nullptr) {
    kind = std::make_unique<WaitingKind>();
    kind->key = std::move(key);
    kind->slots.assign(slots.begin(), slots.end());
    kind->priority = entry.AnyMember().pod->priority();
    kind->number = next_number_++;
    for (const PluginSlot slot : slots) waiting_for_[slot].insert(kind.get());
  }
  entry.kind = kind.get();
  entry.place_in_kind = kind->entries.size();
  kind->entries.push_back({&entry, entry.sequence});
}

void WaitingKinds::Remove(QueuedGroup& entry) {
  WaitingKind* const kind = std::exchange(entry.kind, nullptr);
  if (kind == nullptr) return;
  if (!kind->is_indexed) {  // the others keep their order
    kind->entries[entry.place_in_kind].entry = nullptr;
    while (!kind->entries.empty() && kind->entries.back().entry == nullptr) {
      kind->entries.pop_back();
    }
    return;
  }
  const WaitingKind::Waiting last = kind->entries.back();
  kind->entries[entry.place_in_kind] = last;
  last.entry->place_in_kind = entry.place_in_kind;
  kind->entries.pop_back();
  if (kind->entries.empty()) TakeOut(*kind);
}

std::unique_ptr<WaitingKind> WaitingKinds::TakeOut(WaitingKind& kind) {
  for (const PluginSlot slot : kind.slots) waiting_for_[slot].erase(&kind);
  const auto it = kinds_.find(kind.key);
  std::unique_ptr<WaitingKind> taken = std::move(it->second);
  kinds_.erase(it);
  taken->is_indexed = false;
  return taken;
}

std::vector<WaitingKind*> WaitingKinds::WaitingFor(absl::Span<const PluginSlot> slots) const {
  std::vector<WaitingKind*> found;
  for (const PluginSlot slot : slots) {
    found.insert(found.end(), waiting_for_[slot].begin(), waiting_for_[slot].end());
  }
  absl::c_sort(found,
               [](const WaitingKind* a, const WaitingKind* b) { return a->number < b->number; });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool WaitingKinds::IsConsistent(size_t entries) const {
  size_t counted = 0, listed = 0, slots = 0;
  for (const auto& [key, kind] : kinds_) {
    if (kind->entries.empty() || !(kind->key == key)) return false;
    for (size_t i = 0; i < kind->entries.size(); ++i) {
      const auto& [entry, sequence] = kind->entries[i];
      if (entry->kind != kind.get() || entry->place_in_kind != i) return false;
      if (entry->sequence != sequence) return false;
    }
    for (const PluginSlot slot : kind->slots) {
      if (!waiting_for_[slot].contains(kind.get())) return false;
    }
    counted += kind->entries.size();
    slots += kind->slots.size();
  }
  for (const auto& kinds : waiting_for_) listed += kinds.size();
  return counted == entries && listed == slots;
}

}  // namespace berth
