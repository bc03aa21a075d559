// SPDX-License-Identifier: Apache-2.0
#include "cel/environment.h"

namespace berth::cel {

Overload& Environment::AddFunction(absl::string_view name, absl::string_view id,
                                   std::vector<Type> parameters, Type result,
                                   Implementation implementation) {
  Function& function = functions_[name];
  function.name = std::string(name);
  return function.overloads.emplace_back(Overload{.id = std::string(id),
                                                  .parameters = std::move(parameters),
                                                  .result = std::move(result),
                                                  .implementation = std::move(implementation)});
}

Overload& Environment::AddMember(absl::string_view name, absl::string_view id,
                                 std::vector<Type> parameters, Type result,
                                 Implementation implementation) {
  Overload& overload =
      AddFunction(name, id, std::move(parameters), std::move(result), std::move(implementation));
  overload.is_member = true;
  return overload;
}

Overload& Environment::AddOperator(absl::string_view name, absl::string_view id,
                                   std::vector<Type> parameters, Type result,
                                   Implementation implementation) {
  Overload& overload =
      AddFunction(name, id, std::move(parameters), std::move(result), std::move(implementation));
  functions_.at(name).is_operator = true;
  return overload;
}

void Environment::AddVariable(absl::string_view name, Type type) {
  variables_.push_back({std::string(name), std::move(type)});
}

void Environment::AddType(Type type) {
  std::string name(type.name());
  types_.insert_or_assign(std::move(name), std::move(type));
}

void Environment::AddField(absl::string_view struct_name, absl::string_view field, Type type) {
  fields_[struct_name].insert_or_assign(field, std::move(type));
}

const Function* Environment::FindFunction(absl::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? nullptr : &found->second;
}

const Type* Environment::FindType(absl::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : &found->second;
}

const Type* Environment::FindField(absl::string_view struct_name, absl::string_view field) const {
  const auto type = fields_.find(struct_name);
  if (type == fields_.end()) return nullptr;
  const auto found = type->second.find(field);
  return found == type->second.end() ? nullptr : &found->second;
}

}  // namespace berth::cel
