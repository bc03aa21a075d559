// SPDX-License-Identifier: Apache-2.0
// A map from objects to what is known of them, for very many objects.
#ifndef BERTH_API_IDENTITY_MAP_H_
#define BERTH_API_IDENTITY_MAP_H_

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "berth/api/identity.h"

namespace berth {

// An object is found by its Identity without hashing, and without looking at any name if the map
// has the very same Identity; it can be found by its name as well, which is the uid (ByUid) or the
// key (ByKey).
//
// Values stay where they are until they are erased. The map grows in many small steps: it consists
// of tables that each know a 256th of the entries, so that no insertion waits for all of them to be
// moved. What is looked through is small, 16 bytes an entry, and stays in the processor's cache.
template <class Value, class By>
class IdentityMap {
 public:
  using Ref = ObjectRef<By>;

  // Null if there is none.
  const Value* Find(const Ref& ref) const {
    if (size_ == 0) return nullptr;
    const Table& table = tables_[TableOf(ref.hash())];
    const auto it = table.find(ref);
    return it == table.end() ? nullptr : &it->entry->value;
  }
  Value* Find(const Ref& ref) { return const_cast<Value*>(std::as_const(*this).Find(ref)); }
  bool Contains(const Ref& ref) const { return Find(ref) != nullptr; }
  // The value of the object, one made of `args` if there was none, and whether it is new.
  template <class... Args>
  std::pair<Value*, bool> FindOrAdd(const IdentityPtr& who, Args&&... args) {
    const Ref ref(*who);
    bool is_new = false;
    const auto it = tables_[TableOf(ref.hash())].lazy_emplace(ref, [&](const auto& construct) {
      is_new = true;
      construct(ref.hash(), std::make_unique<Entry>(who, std::forward<Args>(args)...));
    });
    size_ += is_new ? 1 : 0;
    return {&it->entry->value, is_new};
  }
  // Whether there was one.
  bool Erase(const Ref& ref) {
    if (size_ == 0) return false;
    Table& table = tables_[TableOf(ref.hash())];
    const auto it = table.find(ref);
    if (it == table.end()) return false;
    table.erase(it);
    --size_;
    return true;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Calls visit(identity, value) for every entry, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Table& table : tables_) {
      for (const Slot& slot : table) visit(*slot.entry->who, std::as_const(slot.entry->value));
    }
  }

 private:
  friend struct MapPrefetcher;

  struct Entry {
    template <class... Args>
    explicit Entry(const IdentityPtr& w, Args&&... args)
        : who(w), value{std::forward<Args>(args)...} {}
    const IdentityPtr who;
    Value value;
  };
  struct Slot {
    Slot(size_t h, std::unique_ptr<Entry> e) : hash(h), entry(std::move(e)) {}
    size_t hash;
    std::unique_ptr<Entry> entry;
  };
  struct Hash {
    size_t hash;
  };
  struct HashIt {
    using is_transparent = void;
    size_t operator()(const Slot& slot) const { return slot.hash; }
    size_t operator()(const Ref& ref) const { return ref.hash(); }
    size_t operator()(Hash hash) const { return hash.hash; }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return a.entry == b.entry; }
    bool operator()(const Slot& slot, const Ref& ref) const {
      return slot.hash == ref.hash() && ref.Means(*slot.entry->who);
    }
    bool operator()(const Slot& slot, Hash hash) const { return slot.hash == hash.hash; }
  };
  using Table = absl::flat_hash_set<Slot, HashIt, Same>;
  static constexpr int kTableBits = 8;
  static size_t TableOf(size_t hash) { return hash >> (8 * sizeof(hash) - kTableBits); }

  std::array<Table, size_t{1} << kTableBits> tables_;
  size_t size_ = 0;
};

}  // namespace berth

#endif  // BERTH_API_IDENTITY_MAP_H_
