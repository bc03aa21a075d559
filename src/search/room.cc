// SPDX-License-Identifier: Apache-2.0
// Implementation of room.h.
#include "search/room.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/amounts.h"
#include "simd/exact_doubles.h"
#include "simd/vector_clones.h"

namespace berth {
namespace {

constexpr int kBlock = 256;
constexpr int kFirstBlock = 16;  // a small group in a cluster with room looks at no more
using Counts = std::array<double, kBlock>;

// The quotient of operands below 2^53 is rounded right: it is not below a whole number that it
// reaches. For larger ones this makes up for what was lost.
constexpr double kRoundUp = 1 + 4e-16;

// What is left of one resource on the nodes of a block, in pods, as far as it is less than `room`.
void LimitByResource(const int64_t* allocatable, const int64_t* requested, double per_pod, int rows,
                     double* room) {
  for (int i = 0; i < rows; ++i) {
    const double free = static_cast<double>(allocatable[i]) - static_cast<double>(requested[i]);
    room[i] = std::min(room[i], std::max(0.0, std::floor(free / per_pod * kRoundUp)));
  }
}

// The same for numbers below kExactAmounts. Returns all bits of what there is: whether that held.
BERTH_VECTOR_CLONES
uint64_t LimitByExactResource(const int64_t* allocatable, const int64_t* requested, int64_t per_pod,
                              int rows, int64_t* room) {
  auto amounts = static_cast<uint64_t>(per_pod);
  for (int i = 0; i < rows; ++i) {
    const auto of_node = static_cast<uint64_t>(allocatable[i]);
    const auto of_pods = static_cast<uint64_t>(requested[i]);
    amounts |= of_node | of_pods;
    const auto left = static_cast<int64_t>(of_node - of_pods);
    const int64_t fits = Truncated(ToDouble(left > 0 ? left : 0) / ToDouble(per_pod));
    room[i] = fits < room[i] ? fits : room[i];
  }
  return amounts;
}

BERTH_VECTOR_CLONES
void ToDoubles(const int64_t* numbers, int rows, double* doubles) {
  for (int i = 0; i < rows; ++i) doubles[i] = ToDouble(numbers[i]);
}

// The pods of a node, or none.
enum class Beside : uint8_t { kItsPods, kNothing };

void RoomOfBlock(const NeededResources& needed, const NodeTable& nodes, NodeRow first, int rows,
                 Beside beside, double* room) {
  static constexpr std::array<int64_t, kBlock> kZeros = {};
  // Calls limit(allocatable, requested, per_pod) for what a pod takes: a place, and resources.
  const auto for_each_limit = [&](auto limit) {
    const auto used = [&](absl::Span<const int64_t> column) {
      return beside == Beside::kItsPods ? column.data() + first : kZeros.data();
    };
    limit(nodes.allowed_pods().data() + first, used(nodes.pod_count()), 1);
    for (const auto& [resource, amount] : needed.requests) {
      if (amount <= 0) continue;
      limit(nodes.allocatable(resource).data() + first, used(nodes.requested(resource)), amount);
    }
  };
  std::array<int64_t, kBlock> exact;
  std::fill_n(exact.begin(), rows, kExactAmounts);
  uint64_t amounts = 0;
  for_each_limit([&](const int64_t* has, const int64_t* used, int64_t per_pod) {
    amounts |= LimitByExactResource(has, used, per_pod, rows, exact.data());
  });
  if (amounts < static_cast<uint64_t>(kExactAmounts)) return ToDoubles(exact.data(), rows, room);
  std::fill_n(room, rows, std::numeric_limits<double>::max());
  for_each_limit([&](const int64_t* has, const int64_t* used, int64_t per_pod) {
    LimitByResource(has, used, static_cast<double>(per_pod), rows, room);
  });
}

int64_t ToCount(double room) {
  constexpr double kMost = 1e15;
  return static_cast<int64_t>(std::min(room, kMost));
}

int64_t SumOfRoom(const NeededResources& needed, const NodeTable& nodes, Beside beside,
                  int64_t enough) {
  double sum = 0;
  Counts room;
  int most = kFirstBlock;
  for (NodeRow first = 0; first < nodes.size(); first += most, most = kBlock) {
    const int rows = std::min(most, nodes.size() - first);
    RoomOfBlock(needed, nodes, first, rows, beside, room.data());
    for (int i = 0; i < rows; ++i) sum += room[i];
    if (sum >= static_cast<double>(enough)) return enough;
  }
  return ToCount(sum);
}

int64_t SumOfRoom(const NeededResources& needed, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, Beside beside, int64_t enough) {
  double sum = 0;
  for (const NodeRow row : rows) {
    double room = 0;
    RoomOfBlock(needed, nodes, row, 1, beside, &room);
    sum += room;
    if (sum >= static_cast<double>(enough)) return enough;
  }
  return ToCount(sum);
}

// Without the pods of a lower priority.
int64_t RoomOnRowWithout(const NeededResources& needed, const NodeTable& nodes, NodeRow row,
                         int32_t priority) {
  absl::InlinedVector<int64_t, 4> freed(needed.requests.size(), 0);
  int64_t gone = 0;
  for (const auto& pod : nodes.node(row).pods()) {
    if (pod->priority() >= priority) continue;
    ++gone;
    for (size_t i = 0; i < freed.size(); ++i) {
      freed[i] = SaturatingAdd(freed[i], pod->requests().Get(needed.requests[i].first));
    }
  }
  int64_t room = nodes.allowed_pods()[row] - nodes.pod_count()[row] + gone;
  for (size_t i = 0; i < freed.size(); ++i) {
    const auto& [resource, amount] = needed.requests[i];
    if (amount <= 0) continue;
    const int64_t free = SaturatingAdd(
        SaturatingSubtract(nodes.allocatable(resource)[row], nodes.requested(resource)[row]),
        freed[i]);
    room = std::min(room, free / amount);
  }
  return std::max<int64_t>(0, room);
}

}  // namespace

int64_t RoomOnRow(const NeededResources& needed, const NodeTable& nodes, NodeRow row) {
  Counts room;
  RoomOfBlock(needed, nodes, row, 1, Beside::kItsPods, room.data());
  return ToCount(room.front());
}

int64_t Room(const NeededResources& needed, const NodeTable& nodes, int64_t enough) {
  return SumOfRoom(needed, nodes, Beside::kItsPods, enough);
}

int64_t RoomIfEmpty(const NeededResources& needed, const NodeTable& nodes, int64_t enough) {
  return SumOfRoom(needed, nodes, Beside::kNothing, enough);
}

int64_t Room(const NeededResources& needed, const NodeTable& nodes, absl::Span<const NodeRow> rows,
             int64_t enough) {
  return SumOfRoom(needed, nodes, rows, Beside::kItsPods, enough);
}

int64_t RoomIfEmpty(const NeededResources& needed, const NodeTable& nodes,
                    absl::Span<const NodeRow> rows, int64_t enough) {
  return SumOfRoom(needed, nodes, rows, Beside::kNothing, enough);
}

int64_t RoomWithoutPodsBelow(const NeededResources& needed, const NodeTable& nodes,
                             int32_t priority, int64_t enough) {
  const absl::Span<const int32_t> lowest = nodes.lowest_priority();
  int64_t sum = 0;
  Counts room;
  for (NodeRow first = 0; first < nodes.size(); first += kBlock) {
    const int rows = std::min(kBlock, nodes.size() - first);
    RoomOfBlock(needed, nodes, first, rows, Beside::kItsPods, room.data());
    for (int i = 0; i < rows; ++i) {
      const bool is_same = lowest[first + i] >= priority;
      sum += is_same ? ToCount(room[i]) : RoomOnRowWithout(needed, nodes, first + i, priority);
    }
    if (sum >= enough) return enough;
  }
  return sum;
}

int64_t RoomWithoutPodsBelow(const NeededResources& needed, const NodeTable& nodes,
                             absl::Span<const NodeRow> rows, int32_t priority, int64_t enough) {
  int64_t sum = 0;
  for (const NodeRow row : rows) {
    sum += nodes.lowest_priority()[row] >= priority
               ? RoomOnRow(needed, nodes, row)
               : RoomOnRowWithout(needed, nodes, row, priority);
    if (sum >= enough) return enough;
  }
  return sum;
}

void RoomByRow(const NeededResources& needed, const NodeTable& nodes, std::vector<double>& room) {
  room.resize(nodes.size());
  for (NodeRow first = 0; first < nodes.size(); first += kBlock) {
    RoomOfBlock(needed, nodes, first, std::min(kBlock, nodes.size() - first), Beside::kItsPods,
                room.data() + first);
  }
}

namespace {

// The columns of what a pod needs, read once for all rows.
class HeldRoomSummer {
 public:
  HeldRoomSummer(const NeededResources& needed, const NodeTable& nodes,
                 const NominatedRows& nominated)
      : allowed_pods_(nodes.allowed_pods()), pod_count_(nodes.pod_count()), nominated_(nominated) {
    for (const auto& [resource, amount] : needed.requests) {
      if (amount <= 0) continue;
      columns_.push_back(
          {resource, amount, nodes.allocatable(resource), nodes.requested(resource)});
    }
  }

  int64_t OnRow(NodeRow row, int32_t priority, absl::Span<const NodeRow> own_rows) const {
    const int32_t place = nominated_.slot(row);
    if (nominated_.lowest_priority()[place] < priority) return 0;
    const int64_t places = allowed_pods_[row] - pod_count_[row];
    int64_t without = std::max<int64_t>(0, places);
    int64_t beside = std::max<int64_t>(0, places - nominated_.pod_count()[place]);
    for (const Column& column : columns_) {
      const int64_t free =
          std::max<int64_t>(0, SaturatingSubtract(column.has[row], column.used[row]));
      if (free < column.amount) return 0;  // nothing is held where no pod has room
      LimitTo(free, column.amount, without);
      if (beside == 0) continue;
      const int64_t taken = nominated_.at(row).requests.Get(column.resource);
      if (taken >= 0) LimitTo(std::max<int64_t>(0, free - taken), column.amount, beside);
    }
    if (absl::c_linear_search(own_rows, row)) return 0;
    return without - std::min(beside, without);
  }

 private:
  struct Column {
    ResourceId resource;
    int64_t amount;
    absl::Span<const int64_t> has, used;
  };
  // To free / amount; mostly that is more, which takes no division to see.
  static void LimitTo(int64_t free, int64_t amount, int64_t& room) {
    if (__int128{room} * amount > free) room = free / amount;
  }
  const absl::Span<const int64_t> allowed_pods_, pod_count_;
  const NominatedRows& nominated_;
  absl::InlinedVector<Column, 4> columns_;
};

}  // namespace

int64_t HeldRoom(const NeededResources& needed, const NodeTable& nodes,
                 const NominatedRows& nominated, int32_t priority,
                 absl::Span<const NodeRow> own_rows) {
  const HeldRoomSummer summer(needed, nodes, nominated);
  int64_t held = 0;
  for (const NodeRow row : nominated.rows()) held += summer.OnRow(row, priority, own_rows);
  return held;
}

int64_t HeldRoomOnRow(const NeededResources& needed, const NodeTable& nodes,
                      const NominatedRows& nominated, int32_t priority,
                      absl::Span<const NodeRow> own_rows, NodeRow row) {
  return HeldRoomSummer(needed, nodes, nominated).OnRow(row, priority, own_rows);
}

namespace {

// What is free of one resource, and how many pods that is, by nodes in a row.
struct FreeSums {
  uint64_t amounts = 0;  // all bits of what was added up: exact only below kExactAmounts
  int64_t free = 0;
  int64_t room = 0;
};

BERTH_VECTOR_CLONES
void AddFree(const int64_t* has, const int64_t* used, double per_pod, int rows, FreeSums& sums) {
  uint64_t amounts = 0;
  int64_t all_free = 0, room = 0;
  for (int i = 0; i < rows; ++i) {
    const auto of_node = static_cast<uint64_t>(has[i]);
    const auto of_pods = static_cast<uint64_t>(used[i]);
    amounts |= of_node | of_pods;
    const auto left = static_cast<int64_t>(of_node - of_pods);
    const int64_t free = left > 0 ? left : 0;
    all_free += free;
    room += Truncated(ToDouble(free) / per_pod);
  }
  sums.amounts |= amounts;
  sums.free += all_free;
  sums.room += room;
}

// As the plain form below says of all nodes; absent if the numbers are too large for doubles.
std::optional<ShortResource> FindShortResourceByColumns(const NeededResources& needed,
                                                        const NodeTable& nodes) {
  constexpr int kMostRows = 1 << 16;  // the sums end below 2^63
  constexpr auto kLimit = static_cast<uint64_t>(kExactAmounts);
  const int rows = nodes.size();
  if (rows > kMostRows) return std::nullopt;
  FreeSums places;
  AddFree(nodes.allowed_pods().data(), nodes.pod_count().data(), 1, rows, places);
  if (places.amounts >= kLimit) return std::nullopt;
  ShortResource shortest{"pods", 1, places.room, places.free};
  for (const auto& [resource, amount] : needed.requests) {
    if (amount <= 0) continue;
    FreeSums sums{.amounts = static_cast<uint64_t>(amount)};
    AddFree(nodes.allocatable(resource).data(), nodes.requested(resource).data(),
            static_cast<double>(amount), rows, sums);
    if (sums.amounts >= kLimit) return std::nullopt;
    if (sums.room >= shortest.room) continue;
    shortest = {std::string(ResourceName(resource)), amount, sums.room, sums.free};
  }
  return shortest;
}

}  // namespace

ShortResource FindShortResource(const NeededResources& needed, const NodeTable& nodes) {
  std::optional<ShortResource> by_columns = FindShortResourceByColumns(needed, nodes);
  if (by_columns.has_value()) return *std::move(by_columns);
  std::vector<NodeRow> rows(nodes.size());
  absl::c_iota(rows, 0);
  return FindShortResource(needed, nodes, rows);
}

ShortResource FindShortResource(const NeededResources& needed, const NodeTable& nodes,
                                absl::Span<const NodeRow> rows) {
  ShortResource shortest{.name = "pods", .per_pod = 1};
  for (const NodeRow row : rows) {
    shortest.room += std::max<int64_t>(0, nodes.allowed_pods()[row] - nodes.pod_count()[row]);
  }
  shortest.all_free = shortest.room;
  for (const auto& [resource, amount] : needed.requests) {
    if (amount <= 0) continue;
    ShortResource of_this{.name = std::string(ResourceName(resource)), .per_pod = amount};
    const absl::Span<const int64_t> has = nodes.allocatable(resource);
    const absl::Span<const int64_t> used = nodes.requested(resource);
    for (const NodeRow row : rows) {
      const int64_t free = std::max<int64_t>(0, SaturatingSubtract(has[row], used[row]));
      of_this.room = SaturatingAdd(of_this.room, free / amount);
      of_this.all_free = SaturatingAdd(of_this.all_free, free);
    }
    if (of_this.room < shortest.room) shortest = std::move(of_this);
  }
  return shortest;
}

}  // namespace berth
