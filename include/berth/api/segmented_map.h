// SPDX-License-Identifier: Apache-2.0
// A hash map for very many entries, none of whose insertions takes long.
#ifndef BERTH_API_SEGMENTED_MAP_H_
#define BERTH_API_SEGMENTED_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace berth {

// Grows in many small steps: it consists of tables that each know a 64th of the entries, so that no
// insertion waits for all of them to be moved. Pointers to values are valid until the next
// insertion or erasure. For objects with an identity, see also IdentityMap.
template <class Key, class Value>
class SegmentedMap {
 public:
  using Table = absl::flat_hash_map<Key, Value>;

  // Null if there is none. Keys may be asked for by whatever the hash map finds them by.
  template <class K = Key>
  const Value* Find(const K& key) const {
    const Table& table = TableOf(key);
    const auto it = table.find(key);
    return it == table.end() ? nullptr : &it->second;
  }
  template <class K = Key>
  Value* Find(const K& key) {
    return const_cast<Value*>(std::as_const(*this).Find(key));
  }
  template <class K = Key>
  bool Contains(const K& key) const {
    return Find(key) != nullptr;
  }
  // The value of `key`, one made of `args` if there was none, and whether it is new.
  template <class... Args>
  std::pair<Value*, bool> FindOrAdd(const Key& key, Args&&... args) {
    const auto [it, is_new] = TableOf(key).try_emplace(key, std::forward<Args>(args)...);
    size_ += is_new ? 1 : 0;
    return {&it->second, is_new};
  }
  Value& operator[](const Key& key) { return *FindOrAdd(key).first; }
  // Whether there was one.
  template <class K = Key>
  bool Erase(const K& key) {
    const bool found = TableOf(key).erase(key) > 0;
    size_ -= found ? 1 : 0;
    return found;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    for (Table& table : tables_) table.clear();
    size_ = 0;
  }
  // Room for so many in all.
  void Reserve(size_t size) {
    constexpr size_t kSpare = 8;  // not all tables get as many
    for (Table& table : tables_) table.reserve(size / kTables + size / kTables / kSpare);
  }
  // Calls visit(key, value) for every entry, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Table& table : tables_) {
      for (const auto& [key, value] : table) visit(key, value);
    }
  }

 private:
  friend struct MapPrefetcher;

  static constexpr int kTableBits = 6;
  static constexpr size_t kTables = size_t{1} << kTableBits;

  // By other bits of the hash than those that a table looks at first.
  template <class K>
  const Table& TableOf(const K& key) const {
    const auto hash = static_cast<uint64_t>(typename Table::hasher{}(key));
    return tables_[hash >> (64 - kTableBits)];
  }
  template <class K>
  Table& TableOf(const K& key) {
    return const_cast<Table&>(std::as_const(*this).TableOf(key));
  }

  std::array<Table, kTables> tables_;
  size_t size_ = 0;
};

}  // namespace berth

#endif  // BERTH_API_SEGMENTED_MAP_H_
