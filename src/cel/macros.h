// SPDX-License-Identifier: Apache-2.0
// Calls that stand for other expressions: has, all, exists, map, cel.bind, optMap, …
#ifndef BERTH_SRC_CEL_MACROS_H_
#define BERTH_SRC_CEL_MACROS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cel/expr.h"
#include "cel/source.h"

namespace berth::cel {

// Makes nodes, and counts them: some macros copy what they are given.
class ExprFactory {
 public:
  explicit ExprFactory(Problems& problems) : problems_(problems) {}

  ExprPtr Literal(size_t offset, Value value);
  ExprPtr Identifier(size_t offset, absl::string_view name);
  ExprPtr Select(size_t offset, ExprPtr target, absl::string_view name);
  ExprPtr Call(size_t offset, absl::string_view function, std::vector<ExprPtr> arguments);
  ExprPtr MemberCall(size_t offset, ExprPtr target, absl::string_view function,
                     std::vector<ExprPtr> arguments);
  ExprPtr List(size_t offset, std::vector<ExprPtr> elements);
  ExprPtr Map(size_t offset, std::vector<ExprPtr> keys_and_values);
  ExprPtr Comprehension(size_t offset, Expr::Comprehension comprehension);
  ExprPtr Copy(const Expr& expr);

  // Whether so many nodes were made, or so deep, that nothing more should be done with them. It has
  // been complained about then.
  bool exhausted() const { return exhausted_; }
  Problems& problems() { return problems_; }

 private:
  static constexpr int kMostNodes = 20'000;
  static constexpr int kMostDepth = 1'000;

  ExprPtr New(Expr::Kind kind, size_t offset);
  // Sets the depth of `expr`, whose parts are complete.
  ExprPtr Finish(ExprPtr expr);

  Problems& problems_;
  int nodes_ = 0;
  bool exhausted_ = false;
};

// The call as it is, or what it stands for. `target` may be null. Null if it was complained about.
ExprPtr CallOrMacro(ExprFactory& make, size_t offset, ExprPtr target, const std::string& name,
                    std::vector<ExprPtr> arguments);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_MACROS_H_
