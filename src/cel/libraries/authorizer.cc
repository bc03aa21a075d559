// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/authz.go: functions of an authorizer, of which there is none here. They
// are declared, as upstream, and no value has them.
#include "absl/strings/str_cat.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {

void AddAuthorizer(Environment& environment) {
  const auto type = [](absl::string_view name) {
    return Type::Struct(absl::StrCat("kubernetes.authorization.", name));
  };
  const Type authorizer = type("Authorizer"), path = type("PathCheck"), group = type("GroupCheck");
  const Type resource = type("ResourceCheck"), decision = type("Decision");
  const Type string = Type::String();
  const struct {
    absl::string_view name, id;
    std::vector<Type> parameters;
    Type result;
  } kFunctions[] = {
      {"path", "authorizer_path", {authorizer, string}, path},
      {"group", "authorizer_group", {authorizer, string}, group},
      {"serviceAccount", "authorizer_serviceaccount", {authorizer, string, string}, authorizer},
      {"resource", "groupcheck_resource", {group, string}, resource},
      {"subresource", "resourcecheck_subresource", {resource, string}, resource},
      {"namespace", "resourcecheck_namespace", {resource, string}, resource},
      {"name", "resourcecheck_name", {resource, string}, resource},
      {"fieldSelector", "authorizer_fieldselector", {resource, string}, resource},
      {"labelSelector", "authorizer_labelselector", {resource, string}, resource},
      {"check", "pathcheck_check", {path, string}, decision},
      {"check", "resourcecheck_check", {resource, string}, decision},
      {"errored", "decision_errored", {decision}, Type::Bool()},
      {"error", "decision_error", {decision}, string},
      {"allowed", "decision_allowed", {decision}, Type::Bool()},
      {"reason", "decision_reason", {decision}, string},
  };
  for (const auto& f : kFunctions) {
    environment.AddMember(f.name, f.id, f.parameters, f.result,
                          [](Budget&, Arguments) { return Value::NoSuchOverload(); });
  }
}

}  // namespace berth::cel
