// Implementation of waiting_kinds.h.
#include "queue/waiting_kinds.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

// --- KindsInOrder ---

size_t KindsInOrder::PlaceOf(uint64_t number) const {
  const auto it = absl::c_lower_bound(
      listed_, number, [](const Listed& listed, uint64_t value) { return listed.number < value; });
  return static_cast<size_t>(it - listed_.begin());
}

void KindsInOrder::Remove(const WaitingKind& kind) {
  listed_[PlaceOf(kind.number)].kind = nullptr;
  ++gaps_;
  for (; !listed_.empty() && listed_.back().kind == nullptr; --gaps_) listed_.pop_back();
  if (gaps_ <= size() + 64) return;
  std::erase_if(listed_, [](const Listed& listed) { return listed.kind == nullptr; });
  gaps_ = 0;
}

bool KindsInOrder::Contains(const WaitingKind& kind) const {
  const size_t place = PlaceOf(kind.number);
  return place < listed_.size() && listed_[place].kind == &kind;
}

absl::Span<const KindsInOrder::Listed> KindsInOrder::From(uint64_t first) const {
  return absl::MakeConstSpan(listed_).subspan(first == 0 ? 0 : PlaceOf(first));
}

// --- WaitingKinds ---

void WaitingKinds::Set(QueuedGroup& entry, WaitingKind::Key key, absl::Span<const PluginSlot> slots,
                       uint64_t since) {
  if (entry.kind != nullptr && entry.kind->key == key) return;
  Remove(entry);
  std::unique_ptr<WaitingKind>& kind = kinds_[key];
  if (kind == nullptr) {
    kind = std::make_unique<WaitingKind>();
    kind->key = std::move(key);
    kind->slots.assign(slots.begin(), slots.end());
    kind->priority = entry.AnyMember().pod->priority();
    kind->number = next_number_++;
    for (const PluginSlot slot : slots) waiting_for_[slot].Push(*kind);
  }
  entry.kind = kind.get();
  entry.place_in_kind = kind->entries.size();
  kind->entries.push_back({&entry, entry.sequence, since});
}

void WaitingKinds::SetSince(QueuedGroup& entry, uint64_t since) {
  entry.kind->entries[entry.place_in_kind].since = since;
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
  if (kind->entries.empty()) Unlist(*kind);
}

void WaitingKinds::Unlist(WaitingKind& kind) {
  for (const PluginSlot slot : kind.slots) waiting_for_[slot].Remove(kind);
  kinds_.Erase(kind.key);
}

std::unique_ptr<WaitingKind> WaitingKinds::TakeOut(
    WaitingKind& kind, absl::FunctionRef<bool(const WaitingKind::Waiting&)> stays) {
  auto taken = std::make_unique<WaitingKind>();
  taken->key = kind.key;
  taken->priority = kind.priority;
  taken->is_indexed = false;
  taken->entries = std::move(kind.entries);
  const auto staying =
      std::partition(taken->entries.begin(), taken->entries.end(), std::not_fn(stays));
  kind.entries.assign(staying, taken->entries.end());
  taken->entries.erase(staying, taken->entries.end());
  absl::c_sort(taken->entries, [](const WaitingKind::Waiting& a, const WaitingKind::Waiting& b) {
    return a.sequence > b.sequence;
  });
  for (WaitingKind* const part : {&kind, taken.get()}) {
    for (size_t i = 0; i < part->entries.size(); ++i) {
      part->entries[i].entry->kind = part;
      part->entries[i].entry->place_in_kind = i;
    }
  }
  if (kind.entries.empty()) Unlist(kind);
  return taken;
}

std::vector<WaitingKind*> WaitingKinds::WaitingFor(absl::Span<const PluginSlot> slots,
                                                   uint64_t first, size_t most) const {
  std::vector<WaitingKind*> found;
  using Rest = absl::Span<const KindsInOrder::Listed>;
  absl::InlinedVector<Rest, 16> rests;  // of each slot; a kind may be in several
  size_t listed = 0;
  for (const PluginSlot slot : slots) {
    const Rest rest = waiting_for_[slot].From(first);
    listed += rest.size();
    if (!rest.empty()) rests.push_back(rest);
  }
  found.reserve(std::min(most, listed));
  while (!rests.empty() && found.size() < most) {
    const auto [number, kind] = absl::c_min_element(rests, [](Rest a, Rest b) {
                                  return a.front().number < b.front().number;
                                })->front();
    if (kind != nullptr) found.push_back(kind);
    for (size_t i = rests.size(); i-- > 0;) {
      if (rests[i].front().number == number) rests[i].remove_prefix(1);
      if (!rests[i].empty()) continue;
      rests[i] = rests.back();
      rests.pop_back();
    }
  }
  return found;
}

bool WaitingKinds::IsConsistent(size_t entries, uint64_t next_event) const {
  size_t counted = 0, listed = 0, slots = 0;
  bool is_sound = true;
  kinds_.ForEach([&](const WaitingKind::Key& key, const std::unique_ptr<WaitingKind>& kind) {
    is_sound &= !kind->entries.empty() && kind->key == key && kind->is_indexed;
    for (size_t i = 0; i < kind->entries.size(); ++i) {
      const auto& [entry, sequence, since] = kind->entries[i];
      is_sound &= entry->kind == kind.get() && entry->place_in_kind == i;
      is_sound &= entry->sequence == sequence && since <= next_event;
    }
    for (const PluginSlot slot : kind->slots) is_sound &= waiting_for_[slot].Contains(*kind);
    counted += kind->entries.size();
    slots += kind->slots.size();
  });
  for (const KindsInOrder& kinds : waiting_for_) listed += kinds.size();
  return is_sound && counted == entries && listed == slots;
}

}  // namespace berth
