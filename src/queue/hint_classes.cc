// SPDX-License-Identifier: Apache-2.0
// Implementation of hint_classes.h.
#include "queue/hint_classes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {

// --- ClassEntries ---

size_t ClassEntries::PlaceOf(uint64_t sequence) const {
  const auto it = std::lower_bound(
      waiting_.begin() + static_cast<std::ptrdiff_t>(first_), waiting_.end(), sequence,
      [](const Waiting& waiting, uint64_t value) { return waiting.sequence < value; });
  return static_cast<size_t>(it - waiting_.begin());
}

void ClassEntries::Add(const Waiting& waiting) {
  const bool is_last = waiting_.empty() || waiting_.back().sequence < waiting.sequence;
  const size_t place = is_last ? waiting_.size() : PlaceOf(waiting.sequence);
  waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(place), waiting);
  first_ = std::min(first_, place);
  ++size_;
}

void ClassEntries::Remove(uint64_t sequence) {
  waiting_[PlaceOf(sequence)].entry = nullptr;
  --size_;
  while (!waiting_.empty() && waiting_.back().entry == nullptr) waiting_.pop_back();
  while (first_ < waiting_.size() && waiting_[first_].entry == nullptr) ++first_;
  if (waiting_.size() > 2 * size_ + 64) {
    std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.entry == nullptr; });
  }
  if (waiting_.size() == size_) first_ = 0;
}

// --- ClassesInOrder ---

size_t ClassesInOrder::PlaceOf(uint64_t number) const {
  const auto it = absl::c_lower_bound(
      listed_, number, [](const Listed& listed, uint64_t value) { return listed.number < value; });
  return static_cast<size_t>(it - listed_.begin());
}

void ClassesInOrder::Remove(const HintClass& kind) {
  listed_[PlaceOf(kind.number)].kind = nullptr;
  ++gaps_;
  for (; !listed_.empty() && listed_.back().kind == nullptr; --gaps_) listed_.pop_back();
  if (gaps_ <= size() + 64) return;
  std::erase_if(listed_, [](const Listed& listed) { return listed.kind == nullptr; });
  gaps_ = 0;
}

void ClassesInOrder::Replace(HintClass& kind) { listed_[PlaceOf(kind.number)].kind = &kind; }

bool ClassesInOrder::Contains(const HintClass& kind) const {
  const size_t place = PlaceOf(kind.number);
  return place < listed_.size() && listed_[place].kind == &kind;
}

absl::Span<const ClassesInOrder::Listed> ClassesInOrder::From(uint64_t first) const {
  return absl::MakeConstSpan(listed_).subspan(first == 0 ? 0 : PlaceOf(first));
}

// --- HintClasses ---

void HintClasses::Set(QueuedGroup& entry, HintClass::Key key, absl::Span<const PluginSlot> slots,
                      uint64_t since) {
  if (entry.kind != nullptr && entry.kind->key == key) return;
  Remove(entry);
  std::unique_ptr<HintClass>& kind = kinds_[key];
  if (kind == nullptr) {
    kind = std::make_unique<HintClass>();
    kind->key = std::move(key);
    kind->slots.assign(slots.begin(), slots.end());
    kind->priority = entry.AnyMember().pod->priority();
    kind->number = next_number_++;
    for (const PluginSlot slot : slots) waiting_for_[slot].Push(*kind);
  }
  entry.kind = kind.get();
  entry.sequence_in_class = entry.sequence;
  kind->entries.Add({&entry, entry.sequence, since});
}

void HintClasses::SetSince(QueuedGroup& entry, uint64_t since) {
  entry.kind->entries.Find(entry.sequence_in_class).since = since;
}

void HintClasses::Remove(QueuedGroup& entry) {
  HintClass* const kind = std::exchange(entry.kind, nullptr);
  if (kind == nullptr) return;
  kind->entries.Remove(entry.sequence_in_class);
  if (kind->entries.empty() && kind->is_indexed) Unlist(*kind);
}

void HintClasses::Unlist(HintClass& kind) {
  for (const PluginSlot slot : kind.slots) waiting_for_[slot].Remove(kind);
  kinds_.Erase(kind.key);
}

std::unique_ptr<HintClass> HintClasses::TakeOut(
    HintClass& kind, absl::FunctionRef<bool(const HintClass::Waiting&)> stays) {
  std::vector<HintClass::Waiting> staying;  // mostly few
  kind.entries.ForEach([&](const HintClass::Waiting& waiting) {
    if (stays(waiting)) staying.push_back(waiting);
  });
  std::unique_ptr<HintClass>& listed = *kinds_.Find(kind.key);
  std::unique_ptr<HintClass> taken = std::move(listed);
  taken->is_indexed = false;
  if (staying.empty()) {
    Unlist(kind);
    return taken;
  }
  listed = std::make_unique<HintClass>();
  listed->key = kind.key;
  listed->slots = kind.slots;
  listed->priority = kind.priority;
  listed->number = kind.number;
  for (const PluginSlot slot : kind.slots) waiting_for_[slot].Replace(*listed);
  for (const HintClass::Waiting& waiting : staying) {
    taken->entries.Remove(waiting.sequence);
    listed->entries.Add(waiting);
    waiting.entry->kind = listed.get();
  }
  return taken;
}

std::vector<HintClass*> HintClasses::WaitingFor(absl::Span<const PluginSlot> slots, uint64_t first,
                                                size_t most) const {
  std::vector<HintClass*> found;
  using RetryBackoff = absl::Span<const ClassesInOrder::Listed>;
  absl::InlinedVector<RetryBackoff, 16> rests;  // of each slot; a kind may be in several
  size_t listed = 0;
  for (const PluginSlot slot : slots) {
    const RetryBackoff rest = waiting_for_[slot].From(first);
    listed += rest.size();
    if (!rest.empty()) rests.push_back(rest);
  }
  found.reserve(std::min(most, listed));
  while (!rests.empty() && found.size() < most) {
    const auto [number, kind] = absl::c_min_element(rests, [](RetryBackoff a, RetryBackoff b) {
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

bool HintClasses::IsConsistent(size_t entries, uint64_t next_event) const {
  size_t counted = 0, listed = 0, slots = 0;
  bool is_sound = true;
  kinds_.ForEach([&](const HintClass::Key& key, const std::unique_ptr<HintClass>& kind) {
    is_sound &= !kind->entries.empty() && kind->key == key && kind->is_indexed;
    size_t found = 0;
    kind->entries.ForEach([&](const HintClass::Waiting& waiting) {
      const QueuedGroup& entry = *waiting.entry;
      is_sound &= entry.kind == kind.get() && waiting.since <= next_event;
      is_sound &= entry.sequence == waiting.sequence && entry.sequence_in_class == waiting.sequence;
      is_sound &= kind->entries.Find(waiting.sequence).entry == &entry;
      ++found;
    });
    is_sound &= found == kind->entries.size();
    for (const PluginSlot slot : kind->slots) is_sound &= waiting_for_[slot].Contains(*kind);
    counted += kind->entries.size();
    slots += kind->slots.size();
  });
  for (const ClassesInOrder& kinds : waiting_for_) listed += kinds.size();
  return is_sound && counted == entries && listed == slots;
}

}  // namespace berth
