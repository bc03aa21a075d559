// Implementation of alike_nodes.h.
#include "engine/alike_nodes.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

constexpr int32_t kNoClass = -1;
// The value of nodes that are in no domain, where nodes are told apart by sums.
constexpr int64_t kNoDomain = std::numeric_limits<int64_t>::min();
// Domains, and classes, that are few whatever the number of nodes; of more nodes, one in
// kRowsAClass.
constexpr int kFew = 64;
constexpr int kRowsAClass = 16;
constexpr int kPauses = 256;

int MostClasses(int rows) { return std::max(kFew, rows / kRowsAClass); }

bool IsByDomain(const DomainSum& sum, const NodeTable& nodes) {
  return sum.column->values_in_use() <= MostClasses(nodes.size());
}

}  // namespace

bool AlikeNodes::Refresh(const RankedNodes& ranked, const NodeTable& nodes,
                         const std::vector<DomainSum>& sums) {
  if (pauses_ > 0) {
    --pauses_;
    return false;
  }
  if (!Follow(ranked, sums) && !Rebuild(ranked, nodes, sums)) {
    kept_.clear();
    pauses_ = kPauses;
    return false;
  }
  ListClasses(ranked);
  return true;
}

// False if all rows are to be looked at.
bool AlikeNodes::Follow(const RankedNodes& ranked, const std::vector<DomainSum>& sums) {
  const auto changes = ranked.changes().Since(ranked_);
  if (!changes.has_value() || kept_.size() != sums.size()) return false;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Kept& kept = kept_[i];
    if (kept.column != sums[i].column || kept.version != kept.column->version()) return false;
    if (kept.way == Way::kByDomain) continue;
    if (kept.of_parts.size() != sums[i].parts.size()) return false;
    for (size_t k = 0; k < kept.of_parts.size(); ++k) {
      if (!sums[i].parts[k].pods->RowsSince(kept.of_parts[k]).has_value()) return false;
    }
  }
  for (const NodeRow row : *changes) {
    if (!Place(ranked, row, sums)) return false;
  }
  ranked_ = ranked.changes().end();
  for (size_t i = 0; i < sums.size(); ++i) {
    for (size_t k = 0; k < kept_[i].of_parts.size(); ++k) {
      const PodCounts& pods = *sums[i].parts[k].pods;
      const auto rows = pods.RowsSince(kept_[i].of_parts[k]);
      for (const NodeRow row : *rows) {
        if (!Place(ranked, row, sums)) return false;
      }
      kept_[i].of_parts[k] = pods.row_version();
    }
  }
  return true;
}

void AlikeNodes::Class::Count(uint8_t extremes, int difference) {
  rows += difference;
  for (size_t bit = 0; extremes >> bit != 0; ++bit) {
    if (extremes >> bit & 1) at_extremes[bit] += difference;
  }
}

uint8_t AlikeNodes::Class::extremes() const {
  uint8_t extremes = 0;
  for (size_t bit = 0; bit < at_extremes.size(); ++bit) {
    if (at_extremes[bit] > 0) extremes |= 1u << bit;
  }
  return extremes;
}

// --- One row -------------------------------------------------------------------------------------

AlikeNodes::Key AlikeNodes::KeyOf(NodeRow row, const std::vector<DomainSum>& sums) const {
  Key key;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (kept_[i].way == Way::kByDomain) {
      key.push_back(kept_[i].column->index(row));
    } else if (!kept_[i].column->at(row).present) {
      key.push_back(kNoDomain);
    } else {
      int64_t sum = 0;
      for (const auto& [pods, weight] : sums[i].parts) sum += weight * pods->of_row(row);
      key.push_back(sum);
    }
  }
  return key;
}

// Puts the row into its class. False if there are too many of them now.
bool AlikeNodes::Place(const RankedNodes& ranked, NodeRow row, const std::vector<DomainSum>& sums) {
  Leave(row);
  const int64_t total = ranked.total(row);
  if (total == RankedNodes::kOut) return true;
  const int number = FindOrAddClass(KeyOf(row, sums));
  const size_t most = 2 * MostClasses(static_cast<int>(class_of_row_.size()));
  if (classes_.size() > most) return false;
  class_of_row_[row] = number;
  extremes_of_row_[row] = ranked.extremes(row);
  Class& its = classes_[number];
  its.Count(extremes_of_row_[row], 1);
  its.heap.push_back({total, row});
  absl::c_push_heap(its.heap);
  if (its.heap.size() > 2 * static_cast<size_t>(its.rows) + kFew) Tidy(ranked, number);
  return true;
}

void AlikeNodes::Leave(NodeRow row) {
  const int number = std::exchange(class_of_row_[row], kNoClass);
  if (number == kNoClass) return;
  Class& its = classes_[number];
  its.Count(extremes_of_row_[row], -1);
  if (its.rows > 0) return;
  class_of_key_.erase(its.key);
  its = {};
  unused_.push_back(number);
}

int AlikeNodes::FindOrAddClass(Key key) {
  const auto [known, is_new] = class_of_key_.try_emplace(key, 0);
  if (!is_new) return known->second;
  if (unused_.empty()) {
    unused_.push_back(static_cast<int>(classes_.size()));
    classes_.emplace_back();
  }
  const int number = unused_.back();
  unused_.pop_back();
  known->second = number;
  classes_[number].key = std::move(key);
  return number;
}

// Leaves in the heap what is true now, each row once.
void AlikeNodes::Tidy(const RankedNodes& ranked, int number) {
  std::vector<Entry>& heap = classes_[number].heap;
  std::erase_if(heap, [&](const Entry& entry) { return !IsNow(ranked, entry, number); });
  std::sort(heap.rbegin(), heap.rend());  // the best first, which makes a heap
  heap.erase(std::unique(heap.begin(), heap.end()), heap.end());
}

void AlikeNodes::ListClasses(const RankedNodes& ranked) {
  best_.clear();
  counts_.clear();
  extremes_.clear();
  for (int number = 0; number < static_cast<int>(classes_.size()); ++number) {
    Class& its = classes_[number];
    if (its.rows == 0) continue;
    while (!IsNow(ranked, its.heap.front(), number)) {
      absl::c_pop_heap(its.heap);
      its.heap.pop_back();
    }
    best_.push_back(its.heap.front().row);
    counts_.push_back(its.rows);
    extremes_.push_back(its.extremes());
  }
}

// --- All rows ------------------------------------------------------------------------------------

void AlikeNodes::Identify(const std::vector<DomainSum>& sums, const NodeTable& nodes,
                          PodSignature& signature) {
  const auto add = [&](const void* address) {
    signature.Add(static_cast<int64_t>(reinterpret_cast<intptr_t>(address)));
  };
  for (const DomainSum& sum : sums) {
    add(sum.column);
    if (IsByDomain(sum, nodes)) continue;
    for (const auto& [pods, weight] : sum.parts) {
      add(pods.get());
      signature.Add(weight);
    }
  }
}

// False if there is a topology by which nodes cannot be told apart.
bool AlikeNodes::FindWays(const NodeTable& nodes, const std::vector<DomainSum>& sums) {
  kept_.clear();
  for (const DomainSum& sum : sums) {
    const LabelColumn& column = *sum.column;
    Kept& kept =
        kept_.emplace_back(Kept{&column, Way::kByDomain, column.version(), /*of_parts=*/{}});
    if (IsByDomain(sum, nodes)) continue;
    if (!EachHasItsOwn(column)) return false;
    kept.way = Way::kBySum;
    for (const auto& [pods, weight] : sum.parts) {
      if (pods == nullptr) return false;  // counted for this cycle only
      kept.of_parts.push_back(pods->row_version());
    }
  }
  return true;
}

bool AlikeNodes::Rebuild(const RankedNodes& ranked, const NodeTable& nodes,
                         const std::vector<DomainSum>& sums) {
  if (!FindWays(nodes, sums)) return false;
  class_of_row_.assign(nodes.size(), kNoClass);
  for (const NodeRow row : ranked.feasible()) class_of_row_[row] = 0;
  int classes = 1;
  std::vector<int64_t> values;
  for (size_t i = 0; i < sums.size(); ++i) {
    ReadValues(kept_[i], sums[i], nodes.size(), values);
    classes = TellApart(values, classes, MostClasses(nodes.size()));
    if (classes == 0) return false;
  }
  classes_.assign(classes, {});
  extremes_of_row_.assign(nodes.size(), 0);
  for (const NodeRow row : ranked.feasible()) {
    extremes_of_row_[row] = ranked.extremes(row);
    classes_[class_of_row_[row]].Count(extremes_of_row_[row], 1);
  }
  for (Class& its : classes_) its.heap.reserve(its.rows);
  for (const NodeRow row : ranked.feasible()) {
    classes_[class_of_row_[row]].heap.push_back({ranked.total(row), row});
  }
  class_of_key_.clear();
  unused_.clear();
  for (int number = 0; number < classes; ++number) {
    Class& its = classes_[number];
    absl::c_make_heap(its.heap);
    its.key = KeyOf(its.heap.front().row, sums);
    class_of_key_.emplace(its.key, number);
  }
  ranked_ = ranked.changes().end();
  return true;
}

// What the nodes of each row are told apart by.
void AlikeNodes::ReadValues(const Kept& kept, const DomainSum& sum, int rows,
                            std::vector<int64_t>& values) {
  const LabelColumn& column = *kept.column;
  if (kept.way == Way::kByDomain) {
    values.assign(column.indexes().begin(), column.indexes().end());
    return;
  }
  values.assign(rows, 0);
  for (const auto& [pods, weight] : sum.parts) pods->AddToRows(weight, absl::MakeSpan(values));
  const std::optional<uint32_t> none = column.Find(LabelValue{});
  if (!none.has_value() || column.row_count(*none) == 0) return;
  const int64_t unlike_all = *absl::c_min_element(values) - 1;
  for (NodeRow row = 0; row < rows; ++row) {
    if (column.index(row) == *none) values[row] = unlike_all;
  }
}

// Parts the classes so that the rows of one have one value. Returns how many there are, 0 if there
// are more than `most`.
int AlikeNodes::TellApart(const std::vector<int64_t>& values, int classes, int most) {
  constexpr uint64_t kMostCells = 1 << 16;
  const auto extremes = absl::c_minmax_element(values);
  const auto low = static_cast<uint64_t>(*extremes.first);
  const uint64_t range = static_cast<uint64_t>(*extremes.second) - low + 1;
  int count = 0;
  const auto tell_apart = [&](auto number_of) {
    for (size_t row = 0; row < values.size() && count <= most; ++row) {
      int32_t& its = class_of_row_[row];
      if (its == kNoClass) continue;
      int32_t& number = number_of(its, values[row]);
      if (number == kNoClass) number = count++;
      its = number;
    }
  };
  if (range != 0 && range <= kMostCells / classes) {
    std::vector<int32_t> numbers(range * classes, kNoClass);
    tell_apart([&](int32_t its, int64_t value) -> int32_t& {
      return numbers[(static_cast<uint64_t>(value) - low) * classes + its];
    });
  } else {
    absl::flat_hash_map<std::pair<int32_t, int64_t>, int32_t> numbers;
    tell_apart([&](int32_t its, int64_t value) -> int32_t& {
      return numbers.try_emplace({its, value}, kNoClass).first->second;
    });
  }
  return count <= most ? count : 0;
}

}  // namespace berth
