// SPDX-License-Identifier: Apache-2.0
// As dynamic-resource-allocation/cel/compile.go: the environment of device selectors.
#include "cel/device_selector.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cel/environment.h"
#include "cel/libraries/libraries.h"
#include "cel/libraries/quantities.h"
#include "cel/program.h"
#include "cel/value.h"

namespace berth::cel {
namespace {

constexpr absl::string_view kDeviceType = "kubernetes.DRADevice";

Environment* NewEnvironment(bool allows_multiple_allocations) {
  auto* environment = new Environment;
  AddKubernetesLibraries(*environment);
  const auto add_field = [&](absl::string_view name, const Type& type) {
    environment->AddField(kDeviceType, name, type);
  };
  const auto domains = [](const Type& type) {
    return Type::Map(Type::String(), Type::Map(Type::String(), type));
  };
  add_field("driver", Type::String());
  add_field("attributes", domains(Type::Any()));
  add_field("capacity", domains(Type::Struct(QuantityValue::kTypeName)));
  if (allows_multiple_allocations) add_field("allowMultipleAllocations", Type::Bool());
  environment->AddType(Type::Struct(kDeviceType));
  environment->AddVariable("device", Type::Struct(kDeviceType));
  return environment;
}

// What is stored may have been accepted by an API server with more features.
const Environment& StoredEnvironment() {
  static const Environment& environment = *NewEnvironment(/*allows_multiple_allocations=*/true);
  return environment;
}
const Environment& NewObjectEnvironment() {
  static const Environment& environment = *NewEnvironment(/*allows_multiple_allocations=*/false);
  return environment;
}

absl::StatusOr<Program> CompileIn(const Environment& environment, absl::string_view expression,
                                  uint64_t* cost_estimate = nullptr) {
  absl::StatusOr<Program> program = Program::Compile(expression, environment, cost_estimate);
  if (!program.ok()) return program;
  const Kind kind = program->type().kind();
  if (kind != Kind::kBool && kind != Kind::kAny) {
    return absl::InvalidArgumentError(absl::StrCat(
        "must evaluate to bool or the unknown type, not ", program->type().DeclaredName()));
  }
  return program;
}

absl::Status NotBool(const Value& value) {
  const absl::string_view type = value.type_name();
  // cel-go words it in two ways.
  const bool is_text = value.IsString() || value.Is<BytesValue>();
  return absl::InvalidArgumentError(absl::StrCat(
      "CEL result of type ", type, " could not be converted to bool: ",
      is_text ? absl::StrCat("unsupported native conversion from ", type, " to 'bool'")
              : absl::StrCat("unsupported type conversion from '", type, "' to bool")));
}

}  // namespace

DeviceSelector::DeviceSelector(std::shared_ptr<const Program> program)
    : program_(std::move(program)) {}

absl::StatusOr<DeviceSelector> DeviceSelector::Compile(absl::string_view expression) {
  absl::StatusOr<Program> program = CompileIn(StoredEnvironment(), expression);
  if (!program.ok()) return program.status();
  return DeviceSelector(std::make_shared<const Program>(*std::move(program)));
}

absl::StatusOr<bool> DeviceSelector::Matches(const Device& device, uint64_t* cost) const {
  if (!device.status().ok()) return device.status();
  const Value value = program_->Run({&device.value(), 1}, kSelectorCostLimit, cost);
  if (value.IsError()) return absl::InvalidArgumentError(value.text());
  if (!value.Is<bool>()) return NotBool(value);
  return value.Get<bool>();
}

const std::vector<PathRead>& DeviceSelector::paths_read() const {
  return program_->paths_read().front();
}

absl::Status ValidateSelector(absl::string_view expression) {
  if (expression.size() > kLongestSelector) {
    return absl::InvalidArgumentError(absl::StrCat("may not be longer than ", kLongestSelector));
  }
  return CompileIn(NewObjectEnvironment(), expression).status();
}

absl::StatusOr<uint64_t> EstimateSelectorCost(absl::string_view expression) {
  uint64_t estimate = 0;
  absl::Status compiled = CompileIn(StoredEnvironment(), expression, &estimate).status();
  if (!compiled.ok()) return compiled;
  return estimate;
}

}  // namespace berth::cel
