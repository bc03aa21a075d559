// SPDX-License-Identifier: Apache-2.0
// The syntax tree of an expression.
#ifndef BERTH_SRC_CEL_EXPR_H_
#define BERTH_SRC_CEL_EXPR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cel/type.h"
#include "cel/value.h"

namespace berth::cel {

struct Function;
struct Overload;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// Names of the functions that operators are, as cel-go calls them.
namespace operators {
inline constexpr char kAnd[] = "_&&_";
inline constexpr char kOr[] = "_||_";
inline constexpr char kConditional[] = "_?_:_";
inline constexpr char kNot[] = "!_";
inline constexpr char kNegate[] = "-_";
inline constexpr char kEqual[] = "_==_";
inline constexpr char kNotEqual[] = "_!=_";
inline constexpr char kAdd[] = "_+_";
inline constexpr char kIn[] = "@in";
inline constexpr char kIndex[] = "_[_]";
inline constexpr char kOptionalIndex[] = "_[?_]";
inline constexpr char kOptionalSelect[] = "_?._";
inline constexpr char kNotStrictlyFalse[] = "@not_strictly_false";
}  // namespace operators

// One node. Which members have a meaning depends on `kind`.
struct Expr {
  enum class Kind : uint8_t {
    kLiteral,        // literal
    kIdentifier,     // name
    kSelect,         // target, name; is_test for has()
    kCall,           // target or none, name, arguments. && and || have any number of them
    kList,           // arguments, optional
    kMap,            // arguments: keys and values in turns; optional: one for each pair
    kMessage,        // name; refused by the checker
    kComprehension,  // comprehension
  };

  // A loop over a list or a map. Its macros: all, exists, map, …; cel.bind has no range to go over.
  struct Comprehension {
    std::string variable, second_variable, accumulator;
    ExprPtr range, initial, condition, step, result;
  };

  Kind kind = Kind::kLiteral;
  size_t offset = 0;  // of the token that complaints point to
  Value literal;
  std::string name;
  bool is_test = false;
  ExprPtr target;
  std::vector<ExprPtr> arguments;
  std::vector<bool> optional;
  std::unique_ptr<Comprehension> comprehension;
  int depth = 1;

  // Set by the checker.
  Type type;
  std::optional<Value> constant;           // of an identifier that names a type
  const Function* function = nullptr;      // of a call
  std::vector<const Overload*> overloads;  // of a call: those that may be meant
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_EXPR_H_
