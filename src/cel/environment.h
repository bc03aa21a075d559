// SPDX-License-Identifier: Apache-2.0
// What expressions may name: functions, variables and types.
#ifndef BERTH_SRC_CEL_ENVIRONMENT_H_
#define BERTH_SRC_CEL_ENVIRONMENT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cel/budget.h"
#include "cel/type.h"
#include "cel/value.h"

namespace berth::cel {

// What a call gives for arguments that fit the declared types, of which there are no errors. Of a
// list only the first element is known to fit, of a map the first entry. The arguments are the
// function's to change.
using Implementation = std::function<Value(Budget& budget, absl::Span<Value> arguments)>;
// What a call cost. Arguments may be errors here, and so may the result.
using CostFunction = uint64_t (*)(absl::Span<const Value> arguments, const Value& result);

// One signature of a function.
struct Overload {
  std::string id;  // cel-go's name for it
  bool is_member = false;
  std::vector<Type> parameters;  // the target first, if it is a member
  Type result;
  Implementation implementation;
  CostFunction cost = nullptr;  // null: 1
  // The implementation looks at the kinds of its arguments itself: they may be others than the
  // checker thought.
  bool is_unguarded = false;
  // If not empty: gives an implementation for a literal second argument, or says why that is none.
  std::function<absl::StatusOr<Implementation>(const Value& argument)> prepare = nullptr;
};

struct Function {
  std::string name;
  std::vector<Overload> overloads;
  // Holds for every overload; null: each its own.
  CostFunction cost = nullptr;
  // Operators have one implementation, the first overload's, which looks at the kinds of its
  // arguments itself: values that are dyn for the checker may be of kinds that no overload names.
  bool is_operator = false;
};

// A set of declarations. Built once, then only read, by any thread.
class Environment {
 public:
  // Add a signature. Type::Parameter(0), (1) … stand for types that are the same wherever they
  // stand.
  Overload& AddFunction(absl::string_view name, absl::string_view id, std::vector<Type> parameters,
                        Type result, Implementation implementation);
  Overload& AddMember(absl::string_view name, absl::string_view id, std::vector<Type> parameters,
                      Type result, Implementation implementation);
  // All overloads of an operator have the same implementation.
  Overload& AddOperator(absl::string_view name, absl::string_view id, std::vector<Type> parameters,
                        Type result, Implementation implementation);
  // Requires that the function is there.
  void SetCost(absl::string_view name, CostFunction cost) { functions_.at(name).cost = cost; }

  // Variables are numbered in the order in which they are added.
  void AddVariable(absl::string_view name, Type type);
  // A name for a type.
  void AddType(Type type);
  void AddField(absl::string_view struct_name, absl::string_view field, Type type);

  struct Variable {
    std::string name;
    Type type;
  };

  const Function* FindFunction(absl::string_view name) const;
  const std::vector<Variable>& variables() const { return variables_; }
  const Type* FindType(absl::string_view name) const;
  bool IsStruct(absl::string_view name) const { return fields_.contains(name); }
  const Type* FindField(absl::string_view struct_name, absl::string_view field) const;

 private:
  absl::flat_hash_map<std::string, Function> functions_;
  std::vector<Variable> variables_;
  absl::flat_hash_map<std::string, Type> types_;
  absl::flat_hash_map<std::string, absl::flat_hash_map<std::string, Type>> fields_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_ENVIRONMENT_H_
