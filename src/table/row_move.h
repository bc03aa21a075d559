// SPDX-License-Identifier: Apache-2.0
// How the rows of the node table moved, and what that does to values that are kept by row.
#ifndef BERTH_SRC_TABLE_ROW_MOVE_H_
#define BERTH_SRC_TABLE_ROW_MOVE_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/node_info.h"

namespace berth {

// Nodes that came, went or changed places.
class RowMove {
 public:
  // So many rows from `from` on, as they were numbered before, are those from `to` on.
  struct Step {
    NodeRow to;
    NodeRow from;
    int count;
  };

  // A node was added at `row`, and there are `size` now; the rows from there on moved up by one.
  static RowMove Came(NodeRow row, int size);
  // The node of the first of `rows` went; there were `size`. Each other of `rows`, which rise, took
  // the place of the one before it in `rows`; all behind the last one moved down by one.
  static RowMove Went(absl::Span<const NodeRow> rows, int size);
  // Any number. `rows`: of each row, which it was of `size_before`, or -1 if its node came.
  static RowMove Rearranged(absl::Span<const NodeRow> rows, int size_before);
  // As above, for `size` rows. `steps`: all nodes that stay, unmoved ones too, by rising `to`.
  static RowMove Rearranged(absl::Span<const Step> steps, int size_before, int size);

  int size() const { return size_; }                        // how many rows there are afterwards
  absl::Span<const NodeRow> came() const { return came_; }  // as they are numbered afterwards
  absl::Span<const NodeRow> gone() const { return gone_; }  // as they were numbered before
  NodeRow first() const { return first_; }                  // those before it are as they were
  // How many came or have another number.
  int64_t moved() const { return renumbered_ + static_cast<int64_t>(came_.size()); }
  // How many it takes note of, about.
  int64_t cost() const { return 1 + std::max(moved(), static_cast<int64_t>(from_.size())); }

  // Does to values by row what it did to the rows. A row that came gets `fresh`.
  template <class T>
  void Apply(std::vector<T>& values, const T& fresh = T()) const {
    if (values.size() < static_cast<size_t>(size_)) values.resize(size_, fresh);
    switch (direction_) {
      case Direction::kDown:
        MoveDown(values.data());
        break;
      case Direction::kUp:
        MoveUp(values.data());
        break;
      case Direction::kEach:
        MoveEach(values.data());
    }
    values.resize(size_, fresh);
    for (const NodeRow row : came_) values[row] = fresh;
  }
  // Calls visit(row) for each row that has another node now.
  template <class Visit>
  void ForEachMoved(Visit visit) const {
    for (const Step& step : steps_) {
      for (NodeRow row = step.to; row < step.to + step.count; ++row) visit(row);
    }
    for (const NodeRow row : came_) visit(row);
  }

 private:
  // If all rows go the same way, none overwrites another, and long runs of rows are moved at once.
  // Otherwise each row is moved by itself.
  enum class Direction : uint8_t { kDown, kUp, kEach };

  explicit RowMove(int size) : size_(size) {}
  void Add(Step step);
  void Finish();

  template <class T>
  void MoveDown(T* values) const {
    for (const Step& step : steps_) {
      if (step.count == 1) {  // as of nodes whose zone lost one, if there are other zones
        values[step.to] = std::move(values[step.from]);
        continue;
      }
      std::move(values + step.from, values + step.from + step.count, values + step.to);
    }
  }
  template <class T>
  void MoveUp(T* values) const {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (step->count == 1) {
        values[step->to] = std::move(values[step->from]);
        continue;
      }
      std::move_backward(values + step->from, values + step->from + step->count,
                         values + step->to + step->count);
    }
  }
  // A window of rows at a time. It is put down when the next one, which may come from its place,
  // was taken up: so little is under way at once that it stays in the processor's cache.
  template <class T>
  void MoveEach(T* values) const {
    const auto end = first_ + static_cast<NodeRow>(from_.size());
    const NodeRow window = std::min(std::max(kWindow, most_up_), end - first_);
    std::vector<T> held(window), next(window);
    NodeRow held_begin = first_, held_end = first_;
    const auto put_down = [&] {
      std::move(held.begin(), held.begin() + (held_end - held_begin), values + held_begin);
    };
    while (held_end < end) {
      const NodeRow next_begin = held_end, next_end = std::min(next_begin + window, end);
      for (NodeRow row = next_begin; row < next_end; ++row) {
        const NodeRow from = from_[row - first_];
        if (from >= 0) next[row - next_begin] = std::move(values[from]);
      }
      put_down();
      std::swap(held, next);
      held_begin = next_begin;
      held_end = next_end;
    }
    put_down();
  }

  static constexpr NodeRow kWindow = 1024;

  int size_;
  std::vector<Step> steps_;  // of those that have another number, by rising `to`
  // For kEach, from first_ to the last row that moved: which row it was, or -1 if its node came.
  std::vector<NodeRow> from_;
  NodeRow most_up_ = 0;  // the most rows that one moves up
  std::vector<NodeRow> came_, gone_;
  NodeRow first_ = 0;
  int64_t renumbered_ = 0;
  Direction direction_ = Direction::kDown;
};

}  // namespace berth

#endif  // BERTH_SRC_TABLE_ROW_MOVE_H_
