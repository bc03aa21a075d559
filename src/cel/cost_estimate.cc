// SPDX-License-Identifier: Apache-2.0
// Implementation of cost_estimate.h: the most that each part costs, from how large values can be.
// Of costs only the highest counts; of sizes the lowest does, too, in replace().
#include "cel/cost_estimate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "cel/call_cost_estimate.h"
#include "cel/environment.h"
#include "cel/field_path.h"
#include "cel/utf8.h"

namespace berth::cel {
namespace {

using Size = SizeRange;

// Of the elements of a list or a map that the expression makes.
struct EntrySizes {
  bool is_list = false;
  Size key, value;
};
using MaybeSize = std::optional<Size>;
using MaybeEntries = std::optional<EntrySizes>;

bool IsScalar(const Type& type) {
  if (type.IsOptional()) return IsScalar(type.parameters()[0]);
  constexpr Kind kScalars[] = {Kind::kBool,   Kind::kInt,      Kind::kUint,
                               Kind::kDouble, Kind::kDuration, Kind::kTimestamp};
  return absl::c_linear_search(kScalars, type.kind());
}

class Estimator {
 public:
  uint64_t Cost(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kLiteral:
      case Expr::Kind::kMessage:
        return 0;
      case Expr::Kind::kIdentifier: {
        const Local* const local = Find(expr.name);
        paths_[&expr] = local != nullptr ? local->path : FieldPath(expr.name);
        return 1;
      }
      case Expr::Kind::kSelect:
        return CostOfSelect(expr);
      case Expr::Kind::kCall:
        return CostOfCall(expr);
      case Expr::Kind::kList:
        return CostOfList(expr);
      case Expr::Kind::kMap:
        return CostOfMap(expr);
      case Expr::Kind::kComprehension:
        return IsBind(*expr.comprehension) ? CostOfBind(expr) : CostOfLoop(expr);
    }
    return 0;
  }

 private:
  struct Local {
    std::string name;
    FieldPath path;
    MaybeSize size;
    MaybeEntries entries;
  };

  const Local* Find(absl::string_view name) const {
    const auto local = std::find_if(locals_.rbegin(), locals_.rend(),
                                    [name](const Local& l) { return l.name == name; });
    return local == locals_.rend() ? nullptr : &*local;
  }

  FieldPath PathOf(const Expr& expr) const {
    if (expr.kind == Expr::Kind::kIdentifier) {
      if (const Local* const local = Find(expr.name)) return local->path;
    }
    const auto found = paths_.find(&expr);
    return found == paths_.end() ? FieldPath() : found->second;
  }

  MaybeSize SizeOf(const Expr& expr) {
    if (const auto known = sizes_.find(&expr); known != sizes_.end()) return known->second;
    if (expr.kind == Expr::Kind::kLiteral) {
      if (expr.literal.IsString()) return Size::Exactly(CountRunes(expr.literal.text()));
      if (expr.literal.Is<BytesValue>()) return Size::Exactly(expr.literal.text().size());
      return Size::Exactly(1);
    }
    if (expr.kind == Expr::Kind::kList) return Size::Exactly(expr.arguments.size());
    if (expr.kind == Expr::Kind::kMap) return Size::Exactly(expr.arguments.size() / 2);
    if (const std::optional<uint64_t> most = PathOf(expr).MostElements()) {
      return sizes_[&expr] = Size{0, *most};
    }
    if (IsScalar(expr.type)) return Size::Exactly(1);
    const Local* const local = expr.kind == Expr::Kind::kIdentifier ? Find(expr.name) : nullptr;
    return local == nullptr ? std::nullopt : local->size;
  }
  Size SizeOrUnknown(const Expr& expr) { return SizeOf(expr).value_or(Size()); }

  MaybeEntries EntriesOf(const Expr& expr) const {
    if (const auto known = entries_.find(&expr); known != entries_.end()) return known->second;
    const Local* const local = expr.kind == Expr::Kind::kIdentifier ? Find(expr.name) : nullptr;
    return local == nullptr ? std::nullopt : local->entries;
  }
  void SetSize(const Expr& expr, const MaybeSize& size) {
    if (size.has_value()) sizes_[&expr] = *size;
  }
  void SetEntries(const Expr& expr, const MaybeEntries& entries) {
    if (entries.has_value()) entries_[&expr] = *entries;
  }
  static MaybeEntries Union(const MaybeEntries& a, const MaybeEntries& b) {
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    return EntrySizes{a->is_list, a->key.Union(b->key), a->value.Union(b->value)};
  }

  uint64_t CostOfSelect(const Expr& expr) {
    const uint64_t cost = Cost(*expr.target);
    if (expr.is_test) return cost;
    paths_[&expr] = PathOf(*expr.target).Plus(expr.name);
    const Kind kind = expr.target->type.kind();
    return AddCost(cost, kind == Kind::kMap || kind == Kind::kStruct || kind == Kind::kParameter);
  }

  // All of them, in turns if `step` is 2, and how large they are.
  Size SizesOf(const Expr& expr, size_t first, size_t step) {
    Size sizes{kUnknownCost, 0};
    for (size_t i = first; i < expr.arguments.size(); i += step) {
      sizes = sizes.Union(SizeOrUnknown(*expr.arguments[i]));
    }
    return expr.arguments.empty() ? Size::Exactly(0) : sizes;
  }

  uint64_t CostOfList(const Expr& expr) {
    uint64_t cost = 10;
    for (const ExprPtr& element : expr.arguments) cost = AddCost(cost, Cost(*element));
    entries_[&expr] = {true, Size::Exactly(1), SizesOf(expr, 0, 1)};
    return cost;
  }

  uint64_t CostOfMap(const Expr& expr) {
    uint64_t cost = 30;
    for (const ExprPtr& part : expr.arguments) cost = AddCost(cost, Cost(*part));
    entries_[&expr] = {false, SizesOf(expr, 0, 2), SizesOf(expr, 1, 2)};
    return cost;
  }

  // --- Loops ---

  static bool IsBind(const Expr::Comprehension& loop) {
    return loop.range->kind == Expr::Kind::kList && loop.range->arguments.empty() &&
           loop.condition->kind == Expr::Kind::kLiteral && loop.condition->literal.Is<bool>() &&
           !loop.condition->literal.Get<bool>();
  }

  uint64_t CostOfBind(const Expr& expr) {
    const Expr::Comprehension& bind = *expr.comprehension;
    const uint64_t cost = AddCost(Cost(*bind.range), Cost(*bind.initial));
    locals_.push_back(
        {bind.accumulator, PathOf(*bind.initial), SizeOf(*bind.initial), EntriesOf(*bind.initial)});
    const uint64_t of_result = Cost(*bind.result);
    locals_.pop_back();  // upstream forgets how large the variable is that the result may be
    SetSize(expr, SizeOf(*bind.result));
    SetEntries(expr, EntriesOf(*bind.result));
    return AddCost(cost, of_result);
  }

  uint64_t CostOfLoop(const Expr& expr) {
    const Expr::Comprehension& loop = *expr.comprehension;
    uint64_t cost = AddCost(Cost(*loop.range), Cost(*loop.initial));
    locals_.push_back(
        {loop.accumulator, PathOf(*loop.initial), SizeOf(*loop.initial), EntriesOf(*loop.initial)});
    const MaybeEntries entries = EntriesOf(*loop.range);
    const bool is_list =
        entries.has_value() ? entries->is_list : loop.range->type.kind() == Kind::kList;
    const FieldPath range = PathOf(*loop.range);
    const auto add = [&](const std::string& name, bool is_key) {
      const char* const step =
          is_key ? (is_list ? "@indices" : "@keys") : (is_list ? "@items" : "@values");
      Local& local = locals_.emplace_back(Local{name, range.Plus(step), std::nullopt, {}});
      if (entries.has_value()) local.size = is_key ? entries->key : entries->value;
    };
    const bool two = !loop.second_variable.empty();
    add(loop.variable, two || !is_list);
    if (two) add(loop.second_variable, false);
    const uint64_t of_condition = Cost(*loop.condition);
    const uint64_t of_turn = AddCost(Cost(*loop.step), of_condition);
    const MaybeEntries of_step = EntriesOf(*loop.step);
    locals_.resize(locals_.size() - (two ? 2 : 1));
    cost = AddCost(cost, Cost(*loop.result));
    locals_.pop_back();
    const Size turns = SizeOrUnknown(*loop.range);
    if (loop.initial->kind == Expr::Kind::kLiteral) SetSize(expr, SizeOf(*loop.initial));
    if (loop.initial->kind == Expr::Kind::kList || loop.initial->kind == Expr::Kind::kMap) {
      SetSize(expr, turns);
      SetEntries(expr, of_step);
    }
    return AddCost(cost, MultiplyCost(turns.max, of_turn));
  }

  // --- Calls ---

  uint64_t CostOfCall(const Expr& expr) {
    if (expr.name == "dyn") {
      const Expr& argument = *expr.arguments[0];
      const uint64_t cost = AddCost(1, Cost(argument));
      SetSize(expr, SizeOf(argument));
      SetEntries(expr, EntriesOf(argument));
      return cost;
    }
    std::vector<uint64_t> of_arguments;
    for (const ExprPtr& argument : expr.arguments) of_arguments.push_back(Cost(*argument));
    uint64_t cost = expr.target == nullptr ? 0 : Cost(*expr.target);
    if (expr.name == operators::kConditional) {
      cost = AddCost(of_arguments[0], std::max(of_arguments[1], of_arguments[2]));
      SetEntries(expr, Union(EntriesOf(*expr.arguments[1]), EntriesOf(*expr.arguments[2])));
      SetSize(expr, SizeOrUnknown(*expr.arguments[1]).Union(SizeOrUnknown(*expr.arguments[2])));
      return cost;
    }
    for (const uint64_t of_argument : of_arguments) cost = AddCost(cost, of_argument);
    if (expr.name == operators::kAnd || expr.name == operators::kOr) return cost;
    uint64_t most = expr.overloads.empty() ? 1 : 0;  // of `?.`, which has one
    MaybeSize result;
    for (const Overload* const overload : expr.overloads) {
      const CallEstimate call = CallOf(expr, overload->id);
      most = std::max(most, call.cost);
      if (call.result.has_value()) {
        result = result.has_value() ? result->Union(*call.result) : call.result;
      }
      if (overload->id == "index_list" || overload->id == "index_map") {
        const MaybeEntries entries = EntriesOf(*expr.arguments[0]);
        result = entries.has_value() ? MaybeSize(entries->value) : std::nullopt;
        const bool is_list = overload->id == "index_list";
        paths_[&expr] = PathOf(*expr.arguments[0]).Plus(is_list ? "@items" : "@values");
      }
      if (!result.has_value()) result = SizeOf(expr);
    }
    SetSize(expr, result);
    return AddCost(cost, most);
  }

  // What is said of sizes of arguments is said of the target, which is no argument here.
  CallEstimate CallOf(const Expr& expr, absl::string_view overload) {
    CallSizes sizes;
    if (expr.target != nullptr) sizes.target = SizeOrUnknown(*expr.target);
    for (const ExprPtr& argument : expr.arguments) {
      sizes.arguments.push_back(SizeOrUnknown(*argument));
    }
    if (expr.target != nullptr && !expr.target->type.parameters().empty()) {
      sizes.element = Size{0, PathOf(*expr.target).MostElementsOf("@items").value_or(kUnknownCost)};
    }
    if (expr.name == operators::kAdd && expr.arguments.size() == 2) {
      SetEntries(expr, Union(EntriesOf(*expr.arguments[0]), EntriesOf(*expr.arguments[1])));
    }
    return EstimateCall(expr, overload, sizes);
  }

  std::vector<Local> locals_;
  absl::flat_hash_map<const Expr*, FieldPath> paths_;
  absl::flat_hash_map<const Expr*, Size> sizes_;
  absl::flat_hash_map<const Expr*, EntrySizes> entries_;
};

}  // namespace

uint64_t EstimateCost(const Expr& expr) { return Estimator().Cost(expr); }

}  // namespace berth::cel
