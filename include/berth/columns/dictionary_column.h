// SPDX-License-Identifier: Apache-2.0
// A column whose values repeat: taints, values of a label.
#ifndef BERTH_COLUMNS_DICTIONARY_COLUMN_H_
#define BERTH_COLUMNS_DICTIONARY_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/segmented_map.h"
#include "berth/framework/node_info.h"

namespace berth {

// Appends the rows that have one of `values`, which are indexes below `value_count` as `indexes`
// has for each row, in order.
void AppendRowsOf(absl::Span<const uint32_t> values, absl::Span<const uint32_t> indexes,
                  size_t value_count, std::vector<NodeRow>& rows);

// A column whose values repeat: each distinct value once, and an index a row. Evaluate each value,
// then map the rows. Values that no row has any more may linger. Belongs to a table and lives as
// long; it may be cached.
template <class T>
class DictionaryColumn {
 public:
  absl::Span<const T> values() const { return values_; }
  uint32_t index(NodeRow row) const { return indexes_[row]; }
  absl::Span<const uint32_t> indexes() const { return indexes_; }
  const T& at(NodeRow row) const { return values_[indexes_[row]]; }
  // The index of `value`, if it is in values().
  std::optional<uint32_t> Find(const T& value) const {
    const uint32_t* const index = index_of_.Find(value);
    return index == nullptr ? std::nullopt : std::optional<uint32_t>(*index);
  }
  // How many rows have the value of that index.
  int row_count(uint32_t index) const { return row_counts_[index]; }
  absl::Span<const int> row_counts() const { return row_counts_; }  // by index
  // Sets `rows` to those that have one of the values of `indexes`, each of which is listed once;
  // ascending. False if they are more than `most`: then `rows` is as before.
  bool SelectRows(absl::Span<const uint32_t> indexes, int most, std::vector<NodeRow>& rows) const {
    int64_t count = 0;
    for (const uint32_t index : indexes) count += row_counts_[index];
    if (count > most) return false;
    rows.clear();
    if (count > 0) AppendRowsOf(indexes, indexes_, values_.size(), rows);
    return true;
  }
  // How many values some row has.
  int values_in_use() const { return values_in_use_; }
  // Changes whenever a row gets another value or another number.
  uint64_t version() const { return version_; }

  // Calls use(i, evaluate(index)) for each rows[i] and the index of its value. `evaluate` is asked
  // once for each distinct value if that is less work.
  template <class Evaluate, class Use>
  void EvaluateRows(absl::Span<const NodeRow> rows, Evaluate evaluate, Use use) const {
    if (values_.size() > rows.size() / 2) {  // nearly every node has its own value
      for (size_t i = 0; i < rows.size(); ++i) use(i, evaluate(indexes_[rows[i]]));
      return;
    }
    absl::InlinedVector<decltype(evaluate(uint32_t{})), 64> of_value;
    for (uint32_t index = 0; index < values_.size(); ++index) of_value.push_back(evaluate(index));
    for (size_t i = 0; i < rows.size(); ++i) use(i, of_value[indexes_[rows[i]]]);
  }

  // Changes whenever a value gets another index.
  uint64_t numbering() const { return numbering_; }

 protected:
  // A table makes it and keeps it in step with its rows.
  DictionaryColumn() = default;
  ~DictionaryColumn() = default;
  DictionaryColumn(const DictionaryColumn&) = default;
  DictionaryColumn& operator=(const DictionaryColumn&) = default;

  std::vector<T> values_;
  std::vector<int> row_counts_;  // by index
  int values_in_use_ = 0;
  std::vector<uint32_t> indexes_;
  SegmentedMap<T, uint32_t> index_of_;
  uint64_t version_ = 0;
  uint64_t numbering_ = 0;
};

}  // namespace berth

#endif  // BERTH_COLUMNS_DICTIONARY_COLUMN_H_
