// SPDX-License-Identifier: Apache-2.0
// cel-go ext/lists.go, version 3, and what the macros transformMap and transformMapEntry call.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/equality.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {
namespace {

Value Slice(Budget& budget, Arguments a) {
  const std::vector<Value>& list = a[0].elements();
  const int64_t begin = a[1].Get<int64_t>(), end = a[2].Get<int64_t>();
  const std::string call = absl::StrCat("cannot slice(", begin, ", ", end, "), ");
  if (begin < 0 || end < 0) return Value::Error(call + "negative indexes not supported");
  if (begin > end) {
    return Value::Error(call + "start index must be less than or equal to end index");
  }
  if (end > static_cast<int64_t>(list.size())) {
    return Value::Error(absl::StrCat(call, "list is length ", list.size()));
  }
  if (!budget.AllowsElements(static_cast<uint64_t>(end - begin))) return Budget::Exceeded();
  return Value::MakeList({list.begin() + begin, list.begin() + end});
}

// False if it has become too much.
bool FlattenTo(const std::vector<Value>& list, int64_t depth, Budget& budget,
               std::vector<Value>& result) {
  for (const Value& element : list) {
    if (element.IsList() && depth > 0) {
      if (!budget.Work(1) || !FlattenTo(element.elements(), depth - 1, budget, result))
        return false;
    } else {
      result.push_back(element);
      if (!budget.Work(1) || result.size() > Budget::kMostElements) return false;
    }
  }
  return true;
}

Value Flatten(Budget& budget, Arguments a) {
  if (!a[0].IsList() || (a.size() == 2 && !a[1].Is<int64_t>())) {
    return Value::Error(absl::StrCat("no such overload: ", a[0].type_name(), ".flatten(",
                                     a.size() == 2 ? a[1].type_name() : "", ")"));
  }
  const int64_t depth = a.size() == 2 ? a[1].Get<int64_t>() : 1;
  if (depth < 0) return Value::Error("level must be non-negative");
  std::vector<Value> result;
  if (!FlattenTo(a[0].elements(), depth, budget, result)) {
    budget.AllowsElements(UINT64_MAX);
    return Budget::Exceeded();
  }
  return Value::MakeList(std::move(result));
}

Value Range(Budget& budget, Arguments a) {
  const int64_t size = std::max<int64_t>(0, a[0].Get<int64_t>());
  if (!budget.AllowsElements(static_cast<uint64_t>(size))) return Budget::Exceeded();
  std::vector<Value> list;
  list.reserve(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) list.push_back(Value::Int(i));
  return Value::MakeList(std::move(list));
}

Value Reverse(Budget& budget, Arguments a) {
  if (!budget.AllowsElements(a[0].elements().size())) return Budget::Exceeded();
  return Value::MakeList({a[0].elements().rbegin(), a[0].elements().rend()});
}

Value Distinct(Budget& budget, Arguments a) {
  std::vector<Value> list;
  for (const Value& element : a[0].elements()) {
    // The element may be of a kind that compares with its own only: then the others are different.
    if (!Contains(list, element, budget)) list.push_back(element);
    if (!budget.Work(1)) return Budget::Exceeded();
  }
  return Value::MakeList(std::move(list));
}

// The elements of `list` in the order of `keys`, which stands for them one by one.
Value SortByKeys(Budget& budget, const std::vector<Value>& list, const std::vector<Value>& keys) {
  if (list.size() != keys.size()) {
    return Value::Error(absl::StrCat(
        "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but "
        "got ",
        list.size(), " and ", keys.size(), " elements respectively"));
  }
  if (list.empty()) return Value::MakeList({});
  uint64_t longest = 0;
  for (const Value& key : keys) {
    if (key.kind() != keys[0].kind()) return Value::Error("list elements must have the same type");
    // NaN has no place in an order; a sort of them may end anywhere.
    const bool is_nan = key.Is<double>() && std::isnan(key.Get<double>());
    if (is_nan || !HasOrder(key)) return Value::Error("list elements must be comparable");
    const bool is_text = key.IsString() || key.Is<BytesValue>();
    if (is_text) longest = std::max<uint64_t>(longest, key.text().size());
  }
  const uint64_t comparisons = list.size() * static_cast<uint64_t>(absl::bit_width(list.size()));
  if (!budget.WorkOnSearch(comparisons * 16, longest / 16)) return Budget::Exceeded();
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return Compare(keys[i], keys[j]) == -1; });
  std::vector<Value> sorted;
  sorted.reserve(list.size());
  for (const size_t i : order) sorted.push_back(list[i]);
  return Value::MakeList(std::move(sorted));
}

Value Sort(Budget& budget, Arguments a) {
  return SortByKeys(budget, a[0].elements(), a[0].elements());
}
Value SortBy(Budget& budget, Arguments a) {
  return SortByKeys(budget, a[0].elements(), a[1].elements());
}

// --- Costs: 1 for the call, 10 for a list, and a factor for each element ---

uint64_t AllocationCost(double factor, uint64_t size) {
  return 1 + kListCost + static_cast<uint64_t>(factor * static_cast<double>(size));
}

uint64_t ResultCost(absl::Span<const Value>, const Value& result) {
  return AllocationCost(1, SizeOf(result));
}

uint64_t FlattenCost(absl::Span<const Value> a, const Value&) {
  const bool has_depth = a.size() == 2 && a[1].Is<int64_t>();
  const double depth =
      has_depth ? static_cast<double>(std::clamp<int64_t>(a[1].Get<int64_t>(), 0, int64_t{1} << 30))
                : 1;
  return AllocationCost(depth, SizeOf(a[0]));
}

uint64_t SelfCompareCost(const Value& list) {
  const uint64_t size = SizeOf(list);
  double factor = 2;
  if (list.IsList() && !list.elements().empty()) {
    const Kind kind = list.elements()[0].kind();
    if (kind == Kind::kString || kind == Kind::kBytes) factor += 0.1;
  }
  return AllocationCost(factor, size * size);
}

uint64_t SelfCompareFirst(absl::Span<const Value> a, const Value&) { return SelfCompareCost(a[0]); }
uint64_t SelfCompareSecond(absl::Span<const Value> a, const Value&) {
  return SelfCompareCost(a[1]);
}

// --- Maps that macros build ---

Value InsertEntry(Budget& budget, Value& target, const Value& key, const Value& value) {
  auto& map = std::get<MapPointer>(target.content());
  if (map->Find(key) != nullptr) {
    return Value::Error(absl::StrCat("insert failed: key ", ToDisplay(key), " already exists"));
  }
  const bool is_ours = map.use_count() == 1;
  if (!budget.AllowsElements(map->size() + 1, is_ours ? 1 : map->size() + 1))
    return Budget::Exceeded();
  if (!is_ours) map = std::make_shared<Map>(*map);
  if (!map->Set(key, value)) {
    return Value::Error(absl::StrCat("unsupported key type: ", key.type_name()));
  }
  if (map->depth() > kMaxValueDepth) return Value::Error("value is nested too deeply");
  return std::move(target);
}

Value InsertKeyValue(Budget& budget, Arguments a) { return InsertEntry(budget, a[0], a[1], a[2]); }

Value InsertMap(Budget& budget, Arguments a) {
  for (const Map::Entry& entry : a[1].map().entries()) {
    a[0] = InsertEntry(budget, a[0], entry.key, entry.value);
    if (a[0].IsError()) break;
  }
  return std::move(a[0]);
}

}  // namespace

void AddLists(Environment& environment) {
  const Type t = Type::Parameter(0), list = Type::List(t), i = Type::Int();
  const auto add = [&](absl::string_view name, absl::string_view id, std::vector<Type> parameters,
                       const Type& result, Implementation implementation, CostFunction cost) {
    environment.AddMember(name, id, std::move(parameters), result, std::move(implementation)).cost =
        cost;
  };
  add("slice", "list_slice", {list, i, i}, list, Slice, ResultCost);
  Overload& flat =
      environment.AddMember("flatten", "list_flatten", {Type::List(list)}, list, Flatten);
  flat.cost = FlattenCost;
  flat.is_unguarded = true;  // lists that are flat already stay as they are
  const Type any_list = Type::List(Type::Dyn());
  add("flatten", "list_flatten_int", {any_list, i}, any_list, Flatten, FlattenCost);
  add("reverse", "list_reverse", {list}, list, Reverse, ResultCost);
  add("distinct", "list_distinct", {list}, list, Distinct, SelfCompareFirst);
  for (const Type& key : {Type::Int(), Type::Uint(), Type::Double(), Type::Bool(), Type::Duration(),
                          Type::Timestamp(), Type::String(), Type::Bytes()}) {
    add("sort", absl::StrCat("list_", key.name(), "_sort"), {Type::List(key)}, Type::List(key),
        Sort, SelfCompareFirst);
    add("@sortByAssociatedKeys", absl::StrCat("list_", key.name(), "_sortByAssociatedKeys"),
        {list, Type::List(key)}, list, SortBy, SelfCompareSecond);
  }
  environment.AddFunction("lists.range", "lists_range", {i}, Type::List(i), Range).cost =
      ResultCost;
}

void AddMapInsertion(Environment& environment) {
  const Type k = Type::Parameter(0), v = Type::Parameter(1), map = Type::Map(k, v);
  environment.AddFunction("cel.@mapInsert", "@mapInsert_map_key_value", {map, k, v}, map,
                          InsertKeyValue);
  environment.AddFunction("cel.@mapInsert", "@mapInsert_map_map", {map, map}, map, InsertMap);
}

}  // namespace berth::cel
