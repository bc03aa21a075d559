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

void ClassesInOrder::Remove(const HintClass& hint_class) {
  listed_[PlaceOf(hint_class.number)].hint_class = nullptr;
  ++gaps_;
  for (; !listed_.empty() && listed_.back().hint_class == nullptr; --gaps_) listed_.pop_back();
  if (gaps_ <= size() + 64) return;
  std::erase_if(listed_, [](const Listed& listed) { return listed.hint_class == nullptr; });
  gaps_ = 0;
}

void ClassesInOrder::Replace(HintClass& hint_class) {
  listed_[PlaceOf(hint_class.number)].hint_class = &hint_class;
}

bool ClassesInOrder::Contains(const HintClass& hint_class) const {
  const size_t place = PlaceOf(hint_class.number);
  return place < listed_.size() && listed_[place].hint_class == &hint_class;
}

absl::Span<const ClassesInOrder::Listed> ClassesInOrder::From(uint64_t first) const {
  return absl::MakeConstSpan(listed_).subspan(first == 0 ? 0 : PlaceOf(first));
}

// --- HintClasses ---

void HintClasses::Set(QueueEntry& entry, HintClass::Key key, absl::Span<const PluginSlot> slots,
                      FindKeys find_keys, uint64_t since) {
  if (entry.hint_class != nullptr && entry.hint_class->key == key &&
      entry.sequence_in_class == entry.sequence) {
    return;
  }
  Remove(entry);
  std::unique_ptr<HintClass>& hint_class = classes_[key];
  if (hint_class == nullptr) {
    hint_class = std::make_unique<HintClass>();
    hint_class->key = std::move(key);
    hint_class->slots.assign(slots.begin(), slots.end());
    hint_class->priority = entry.AnyMember().pod->priority();
    hint_class->number = next_number_++;
    hint_class->index_keys = find_keys();
    for (const PluginSlot slot : slots) waiting_for_[slot].Push(*hint_class);
    for (const IndexKey& index_key : hint_class->index_keys) indexed_[index_key].Push(*hint_class);
  }
  entry.hint_class = hint_class.get();
  entry.sequence_in_class = entry.sequence;
  hint_class->entries.Add({&entry, entry.sequence, since});
}

void HintClasses::SetSince(QueueEntry& entry, uint64_t since) {
  entry.hint_class->entries.Find(entry.sequence_in_class).since = since;
}

void HintClasses::Remove(QueueEntry& entry) {
  HintClass* const hint_class = std::exchange(entry.hint_class, nullptr);
  if (hint_class == nullptr) return;
  hint_class->entries.Remove(entry.sequence_in_class);
  if (hint_class->entries.empty() && hint_class->is_indexed) Unlist(*hint_class);
}

void HintClasses::Unlist(HintClass& hint_class) {
  for (const PluginSlot slot : hint_class.slots) waiting_for_[slot].Remove(hint_class);
  for (const IndexKey& index_key : hint_class.index_keys) {
    ClassesInOrder& found = *indexed_.Find(index_key);
    found.Remove(hint_class);
    if (found.empty()) indexed_.Erase(index_key);
  }
  classes_.Erase(hint_class.key);
}

std::unique_ptr<HintClass> HintClasses::TakeOut(
    HintClass& hint_class, absl::FunctionRef<bool(const HintClass::Waiting&)> stays) {
  std::vector<HintClass::Waiting> staying;  // mostly few
  hint_class.entries.ForEach([&](const HintClass::Waiting& waiting) {
    if (stays(waiting)) staying.push_back(waiting);
  });
  std::unique_ptr<HintClass>& listed = *classes_.Find(hint_class.key);
  std::unique_ptr<HintClass> taken = std::move(listed);
  taken->is_indexed = false;
  if (staying.empty()) {
    Unlist(hint_class);
    return taken;
  }
  listed = std::make_unique<HintClass>();
  listed->key = hint_class.key;
  listed->slots = hint_class.slots;
  listed->index_keys = hint_class.index_keys;
  listed->priority = hint_class.priority;
  listed->number = hint_class.number;
  for (const PluginSlot slot : hint_class.slots) waiting_for_[slot].Replace(*listed);
  for (const IndexKey& index_key : hint_class.index_keys) {
    indexed_.Find(index_key)->Replace(*listed);
  }
  for (const HintClass::Waiting& waiting : staying) {
    taken->entries.Remove(waiting.sequence);
    listed->entries.Add(waiting);
    waiting.entry->hint_class = listed.get();
  }
  return taken;
}

std::vector<HintClass*> HintClasses::WaitingFor(absl::Span<const PluginSlot> slots,
                                                absl::Span<const IndexKey> index_keys,
                                                uint64_t first, size_t most) const {
  std::vector<HintClass*> found;
  using Remaining = absl::Span<const ClassesInOrder::Listed>;
  absl::InlinedVector<Remaining, 16> spans;  // of each list; a class may be in several
  size_t listed = 0;
  const auto add = [&](const ClassesInOrder& classes) {
    const Remaining remaining = classes.From(first);
    listed += remaining.size();
    if (!remaining.empty()) spans.push_back(remaining);
  };
  for (const PluginSlot slot : slots) add(waiting_for_[slot]);
  for (const IndexKey& index_key : index_keys) {
    if (const ClassesInOrder* const classes = indexed_.Find(index_key)) add(*classes);
  }
  found.reserve(std::min(most, listed));
  while (!spans.empty() && found.size() < most) {
    const auto [number, hint_class] = absl::c_min_element(spans, [](Remaining a, Remaining b) {
                                        return a.front().number < b.front().number;
                                      })->front();
    if (hint_class != nullptr) found.push_back(hint_class);
    for (size_t i = spans.size(); i-- > 0;) {
      if (spans[i].front().number == number) spans[i].remove_prefix(1);
      if (!spans[i].empty()) continue;
      spans[i] = spans.back();
      spans.pop_back();
    }
  }
  return found;
}

bool HintClasses::IsConsistent(size_t entries, uint64_t next_event) const {
  size_t counted = 0, listed = 0, slots = 0, index_keys = 0;
  bool is_sound = true;
  classes_.ForEach([&](const HintClass::Key& key, const std::unique_ptr<HintClass>& hint_class) {
    is_sound &= !hint_class->entries.empty() && hint_class->key == key && hint_class->is_indexed;
    size_t found = 0;
    hint_class->entries.ForEach([&](const HintClass::Waiting& waiting) {
      const QueueEntry& entry = *waiting.entry;
      is_sound &= entry.hint_class == hint_class.get() && waiting.since <= next_event;
      is_sound &= entry.sequence == waiting.sequence && entry.sequence_in_class == waiting.sequence;
      is_sound &= hint_class->entries.Find(waiting.sequence).entry == &entry;
      ++found;
    });
    is_sound &= found == hint_class->entries.size();
    for (const PluginSlot slot : hint_class->slots)
      is_sound &= waiting_for_[slot].Contains(*hint_class);
    for (const IndexKey& index_key : hint_class->index_keys) {
      const ClassesInOrder* const classes = indexed_.Find(index_key);
      is_sound &= classes != nullptr && classes->Contains(*hint_class);
    }
    counted += hint_class->entries.size();
    slots += hint_class->slots.size();
    index_keys += hint_class->index_keys.size();
  });
  for (const ClassesInOrder& classes : waiting_for_) listed += classes.size();
  indexed_.ForEach([&](const IndexKey&, const ClassesInOrder& classes) {
    is_sound &= !classes.empty();
    listed += classes.size();
  });
  return is_sound && counted == entries && listed == slots + index_keys;
}

}  // namespace berth
