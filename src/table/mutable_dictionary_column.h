// SPDX-License-Identifier: Apache-2.0
// A DictionaryColumn as its table changes it.
#ifndef BERTH_SRC_TABLE_MUTABLE_DICTIONARY_COLUMN_H_
#define BERTH_SRC_TABLE_MUTABLE_DICTIONARY_COLUMN_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "berth/columns/dictionary_column.h"
#include "table/row_move.h"

namespace berth {

template <class T>
class MutableDictionaryColumn final : public DictionaryColumn<T> {
 public:
  // Forgets everything; `rows` rows without a value, which Set() is to give them.
  void Reset(int rows) {
    ++numbering_;
    values_.clear();
    index_of_.clear();
    row_counts_.clear();
    values_in_use_ = 0;
    indexes_.assign(rows, kUnset);
    ++version_;
  }
  void Set(NodeRow row, const T& value) {
    const size_t known = values_.size();
    const uint32_t index = IndexOf(value);
    if (indexes_[row] == index) return;
    if (indexes_[row] != kUnset) Leave(indexes_[row]);
    Join(index);
    indexes_[row] = index;
    ++version_;
    if (index == known) DropUnusedValues();
  }
  // Reset(), and the same value for each row.
  void FillWith(int rows, const T& value) {
    Reset(rows);
    if (rows == 0) return;
    const uint32_t index = IndexOf(value);
    indexes_.assign(rows, index);
    row_counts_[index] = rows;
    values_in_use_ = 1;
  }
  // Reset(), and value_of(row) for each row.
  template <class ValueOf>
  void Fill(int rows, ValueOf value_of) {
    constexpr NodeRow kFew = 256;
    Reset(rows);
    for (NodeRow row = 0; row < rows; ++row) {
      if (row == kFew && values_.size() > kFew / 2) {  // as of names: room for all at once
        index_of_.Reserve(rows);
        values_.reserve(rows);
        row_counts_.reserve(rows);
      }
      indexes_[row] = IndexOf(value_of(row));
      Join(indexes_[row]);
    }
  }
  // Follows the rows; those that came have no value yet. Gives values other indexes if most of them
  // are of no row any more.
  void Move(const RowMove& move) {
    for (const NodeRow row : move.gone()) Leave(indexes_[row]);
    move.Apply(indexes_, kUnset);
    ++version_;
    DropUnusedValues();
  }

 private:
  using Base = DictionaryColumn<T>;
  using Base::index_of_;
  using Base::indexes_;
  using Base::numbering_;
  using Base::row_counts_;
  using Base::values_;
  using Base::values_in_use_;
  using Base::version_;

  static constexpr uint32_t kUnset = std::numeric_limits<uint32_t>::max();

  // A row gets the value of that index, or loses it.
  void Join(uint32_t index) { values_in_use_ += row_counts_[index]++ == 0; }
  void Leave(uint32_t index) { values_in_use_ -= --row_counts_[index] == 0; }

  uint32_t IndexOf(const T& value) {
    const auto [index, is_new] = index_of_.FindOrAdd(value, static_cast<uint32_t>(values_.size()));
    if (is_new) {
      values_.push_back(value);
      row_counts_.push_back(0);
    }
    return *index;
  }

  void DropUnusedValues() {
    if (values_.size() <= 2 * indexes_.size() + 64) return;
    const std::vector<T> values = std::exchange(values_, {});
    std::vector<uint32_t> new_index(values.size(), kUnset);
    index_of_.clear();
    for (uint32_t index = 0; index < values.size(); ++index) {
      if (row_counts_[index] == 0) continue;
      new_index[index] = static_cast<uint32_t>(values_.size());
      row_counts_[values_.size()] = row_counts_[index];
      index_of_.FindOrAdd(values[index], new_index[index]);
      values_.push_back(values[index]);
    }
    row_counts_.resize(values_.size());
    for (uint32_t& index : indexes_) index = index == kUnset ? kUnset : new_index[index];
    ++version_;
    ++numbering_;
  }
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_MUTABLE_DICTIONARY_COLUMN_H_
