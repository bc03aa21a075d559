// A map from objects to what is known of them, for very many objects.
#ifndef BERTH_API_IDENTITY_MAP_H_
#define BERTH_API_IDENTITY_MAP_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "berth/api/identity.h"
#include "berth/prefetch.h"

namespace berth {

// An object is found by its Identity without hashing, and without looking at any name if the map
// has the very same Identity; it can be found by its name as well, which is the uid (ByUid) or the
// key (ByKey).
//
// Values stay where they are until they are erased. The map grows in many small steps: it consists
// of tables that each know a 64th of the entries, so that no insertion waits for all of them to be
// moved. What is looked through is small, 16 bytes an entry, and stays in the processor's cache.
template <class Value, class By>
class IdentityMap {
 public:
  using Ref = ObjectRef<By>;

  // Null if there is none.
  const Value* Find(const Ref& ref) const {
    const Entry* const entry = TableOf(ref.hash()).Find(ref);
    return entry == nullptr ? nullptr : &entry->value;
  }
  Value* Find(const Ref& ref) { return const_cast<Value*>(std::as_const(*this).Find(ref)); }
  bool Contains(const Ref& ref) const { return Find(ref) != nullptr; }
  // Lets the processor fetch what Find() will look at while other work goes on: where the entry is
  // found, then the entry. By the hash alone: comparing names would wait for them.
  void Prefetch(const Ref& ref, Fetch what) const {
    StayCalled();
    const Table& table = TableOf(ref.hash());
    if (what == Fetch::kPlace) return table.PrefetchPlace(ref.hash());
    berth::Prefetch(table.FindHash(ref.hash()));
  }

  // The value of the object, one made of `args` if there was none, and whether it is new.
  template <class... Args>
  std::pair<Value*, bool> FindOrAdd(const IdentityPtr& who, Args&&... args) {
    const Ref ref(*who);
    Table& table = TableOf(ref.hash());
    if (Entry* const entry = table.Find(ref); entry != nullptr) return {&entry->value, false};
    auto added = std::make_unique<Entry>(who, std::forward<Args>(args)...);
    Value* const value = &added->value;
    table.Add(ref.hash(), std::move(added));
    ++size_;
    return {value, true};
  }
  // Whether there was one. `ref` may be made of what goes with it.
  bool Erase(const Ref& ref) {
    const std::unique_ptr<Entry> erased = TableOf(ref.hash()).Take(ref);
    size_ -= erased != nullptr ? 1 : 0;
    return erased != nullptr;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Calls visit(identity, value) for every entry, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Table& table : tables_) {
      table.ForEach([&](const Entry& entry) { visit(*entry.who, entry.value); });
    }
  }

 private:
  struct Entry {
    template <class... Args>
    explicit Entry(const IdentityPtr& w, Args&&... args)
        : who(w), value{std::forward<Args>(args)...} {}
    const IdentityPtr who;
    Value value;
  };

  // GCC takes a function that only prefetches for one that does nothing, and leaves out its calls.
  static void StayCalled() {
#if defined(__GNUC__)
    __asm__ volatile("");
#endif
  }

  // An entry is in the slot that its hash names, or behind it with none free in between, so that
  // nearly always one line of the cache says all.
  class Table {
   public:
    Entry* Find(const Ref& ref) const {
      return FindIf(ref.hash(), [&](const Entry& entry) { return ref.Means(*entry.who); });
    }
    // Any entry of that hash.
    const Entry* FindHash(size_t hash) const {
      return FindIf(hash, [](const Entry&) { return true; });
    }
    void PrefetchPlace(size_t hash) const {
      StayCalled();
      if (slots_.empty()) return;
      berth::Prefetch(&slots_[Home(hash)]);
      berth::Prefetch(&slots_[(Home(hash) + 2) & (slots_.size() - 1)]);  // may be the next line
    }
    void Add(size_t hash, std::unique_ptr<Entry> entry) {
      if (8 * (used_ + 1) > 5 * slots_.size()) Grow();
      ++used_;
      Put({hash, std::move(entry)});
    }
    // Null if there is none.
    std::unique_ptr<Entry> Take(const Ref& ref) {
      const Entry* const found = Find(ref);
      if (found == nullptr) return nullptr;
      size_t hole = Home(ref.hash());
      while (slots_[hole].entry.get() != found) hole = After(hole);
      std::unique_ptr<Entry> taken = std::move(slots_[hole].entry);
      --used_;
      // Whatever is behind its slot and may be nearer to it moves into the hole.
      for (size_t at = After(hole); slots_[at].entry != nullptr; at = After(at)) {
        if (Steps(Home(slots_[at].hash), at) < Steps(hole, at)) continue;
        slots_[hole] = std::move(slots_[at]);
        hole = at;
      }
      return taken;
    }
    template <class Visit>
    void ForEach(const Visit& visit) const {
      for (const Slot& slot : slots_) {
        if (slot.entry != nullptr) visit(std::as_const(*slot.entry));
      }
    }

   private:
    struct Slot {
      size_t hash = 0;
      std::unique_ptr<Entry> entry;  // null if it is free
    };

    size_t Home(size_t hash) const { return hash & (slots_.size() - 1); }
    size_t After(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
    size_t Steps(size_t from, size_t to) const { return (to - from) & (slots_.size() - 1); }

    template <class Is>
    Entry* FindIf(size_t hash, const Is& is) const {
      if (used_ == 0) return nullptr;
      for (size_t at = Home(hash);; at = After(at)) {
        const Slot& slot = slots_[at];
        if (slot.entry == nullptr) return nullptr;
        if (slot.hash == hash && is(*slot.entry)) return slot.entry.get();
      }
    }
    // There is a free slot.
    void Put(Slot slot) {
      size_t at = Home(slot.hash);
      while (slots_[at].entry != nullptr) at = After(at);
      slots_[at] = std::move(slot);
    }
    void Grow() {
      constexpr size_t kLeast = 8;
      std::vector<Slot> before(slots_.empty() ? kLeast : 2 * slots_.size());
      before.swap(slots_);
      for (Slot& slot : before) {
        if (slot.entry != nullptr) Put(std::move(slot));
      }
    }

    std::vector<Slot> slots_;  // a power of two of them, or none
    size_t used_ = 0;
  };

  static constexpr int kTableBits = 6;
  const Table& TableOf(size_t hash) const {
    return tables_[hash >> (8 * sizeof(hash) - kTableBits)];
  }
  Table& TableOf(size_t hash) { return const_cast<Table&>(std::as_const(*this).TableOf(hash)); }

  std::array<Table, size_t{1} << kTableBits> tables_;
  size_t size_ = 0;
};

}  // namespace berth

#endif  // BERTH_API_IDENTITY_MAP_H_
