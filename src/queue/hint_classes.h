// SPDX-License-Identifier: Apache-2.0
// Entries that wait for events, by class: queueing hints are asked once for a class.
#ifndef BERTH_SRC_QUEUE_HINT_CLASSES_H_
#define BERTH_SRC_QUEUE_HINT_CLASSES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "berth/api/segmented_map.h"
#include "queue/event_table.h"
#include "queue/queue_entry.h"

namespace berth {

// Entries by sequence. Removals keep the order. Operations on many of them do not read the entries
// themselves: very many entries are not in the processor's cache.
class ClassEntries {
 public:
  struct Waiting {
    QueueEntry* entry;  // null where one was removed
    uint64_t sequence;  // the entry's when it was added: QueueEntry::sequence_in_class
    uint64_t since;     // the number of the first event that concerns it
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // Mostly as the last one.
  void Add(const Waiting& waiting);
  void Remove(uint64_t sequence);
  Waiting& Find(uint64_t sequence) { return waiting_[PlaceOf(sequence)]; }
  const Waiting& Find(uint64_t sequence) const { return waiting_[PlaceOf(sequence)]; }
  const Waiting& front() const { return waiting_[first_]; }
  // The first for which is(waiting) returns true, or null.
  template <class Is>
  const Waiting* FindIf(Is is) const {
    for (size_t i = first_; i < waiting_.size(); ++i) {
      if (waiting_[i].entry != nullptr && is(waiting_[i])) return &waiting_[i];
    }
    return nullptr;
  }
  template <class Visit>
  void ForEach(Visit visit) const {
    for (size_t i = first_; i < waiting_.size(); ++i) {
      if (waiting_[i].entry != nullptr) visit(waiting_[i]);
    }
  }

 private:
  size_t PlaceOf(uint64_t sequence) const;

  std::vector<Waiting> waiting_;  // from first_ on rising; the last one has an entry
  size_t first_ = 0;              // that has one
  size_t size_ = 0;               // so many have
};

// Where the classes are found that wait for a plugin with an index (IndexedHints): by each of their
// values; those without values that are asked about every change, by none.
struct IndexKey {
  PluginSlot slot;
  std::optional<uint64_t> value = std::nullopt;

  friend bool operator==(const IndexKey&, const IndexKey&) = default;
  template <class H>
  friend H AbslHashValue(H h, const IndexKey& key) {
    return H::combine(std::move(h), key.slot, key.value);
  }
};

// A class: entries that wait for the same plugins in the same way. An event that concerns one of
// them, and changes none of their pods, concerns all. Not empty, unless it was taken out.
struct HintClass {
  // What they have in common. `who`: what their pods share (PodInfo::shared_spec()), which any of
  // them keeps alive; or the entry itself, if it is a class of its own.
  struct Key {
    const void* who = nullptr;
    absl::InlinedVector<uint32_t, 8> role;  // what they wait for, encoded

    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.who, key.role);
    }
  };
  Key key;
  absl::InlinedVector<PluginSlot, 8> slots;
  std::vector<IndexKey> index_keys;  // each once
  using Waiting = ClassEntries::Waiting;
  ClassEntries entries;
  int32_t priority = 0;    // of their pods, or of one of a group
  uint64_t number = 0;     // by order of creation
  bool is_indexed = true;  // false once it was taken out
};

// Some of the classes, by number.
class ClassesInOrder {
 public:
  struct Listed {
    uint64_t number;
    HintClass* hint_class;  // null where one was removed, but not of the last
  };

  bool empty() const { return listed_.empty(); }
  size_t size() const { return listed_.size() - gaps_; }
  // It is the youngest.
  void Push(HintClass& hint_class) { listed_.push_back({hint_class.number, &hint_class}); }
  void Remove(const HintClass& hint_class);
  // In the place of the one with its number.
  void Replace(HintClass& hint_class);
  bool Contains(const HintClass& hint_class) const;
  // Those with a number of at least `first`.
  absl::Span<const Listed> From(uint64_t first) const;

 private:
  size_t PlaceOf(uint64_t number) const;

  std::vector<Listed> listed_;
  size_t gaps_ = 0;
};

// Belongs to the queue.
class HintClasses {
 public:
  // Where a class that waits for the plugins `slots` is found, by the pod of one of its entries.
  using FindKeys = absl::FunctionRef<std::vector<IndexKey>()>;

  // `slots`: how many plugins there are.
  explicit HintClasses(int slots) : waiting_for_(slots) {}

  // From now on the entry waits for the plugins `slots`, in the class of this key, and events from
  // `since` on concern it. Changes nothing if that is its key already. `find_keys` is called for a
  // new class.
  void Set(QueueEntry& entry, HintClass::Key key, absl::Span<const PluginSlot> slots,
           FindKeys find_keys, uint64_t since);
  // Earlier events do not concern the entry any more.
  void SetSince(QueueEntry& entry, uint64_t since);
  void Remove(QueueEntry& entry);
  // Takes the class out, with all its entries except those that stay. Entries that get its key
  // later join the class that stays, or a new one. Entries of the class that was taken out can
  // still be removed.
  std::unique_ptr<HintClass> TakeOut(HintClass& hint_class,
                                     absl::FunctionRef<bool(const HintClass::Waiting&)> stays);

  // Classes that wait for one of `slots`, or are found under one of `index_keys`, each once, the
  // oldest first: the first `most` of them with a number of at least `first`. Valid until the next
  // change.
  std::vector<HintClass*> WaitingFor(absl::Span<const PluginSlot> slots,
                                     absl::Span<const IndexKey> index_keys, uint64_t first,
                                     size_t most) const;

  bool empty() const { return classes_.empty(); }
  bool AnyWaitsFor(PluginSlot slot) const { return !waiting_for_[slot].empty(); }
  // For tests: whether classes and lists agree, with so many entries in all, and events before
  // `next_event` so far.
  bool IsConsistent(size_t entries, uint64_t next_event) const;

 private:
  void Unlist(HintClass& hint_class);

  SegmentedMap<HintClass::Key, std::unique_ptr<HintClass>> classes_;
  std::vector<ClassesInOrder> waiting_for_;  // by slot
  SegmentedMap<IndexKey, ClassesInOrder> indexed_;
  uint64_t next_number_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_HINT_CLASSES_H_
