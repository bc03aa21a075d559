// SPDX-License-Identifier: Apache-2.0
// As dynamic-resource-allocation/cel/compile.go DeviceMatches.
#include "cel/device.h"

#include <map>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cel/libraries/quantities.h"
#include "cel/libraries/semver_values.h"
#include "cel/value.h"

namespace berth::cel {
namespace {

// Values by domain and name, in order.
using Domains = std::map<std::string, std::map<std::string, Value>>;

void Put(absl::string_view name, const std::string& driver, Value value, Domains& domains) {
  const size_t slash = name.find('/');
  const bool has_domain = slash != absl::string_view::npos;
  const std::string domain = has_domain ? std::string(name.substr(0, slash)) : driver;
  const absl::string_view id = has_domain ? name.substr(slash + 1) : name;
  domains[domain].insert_or_assign(std::string(id), std::move(value));
}

// A domain that is not there is looked up as an empty one.
Value ToValue(const Domains& domains) {
  Map outer;
  for (const auto& [domain, values] : domains) {
    Map inner;
    for (const auto& [name, value] : values) inner.Set(Value::String(name), value);
    outer.Set(Value::String(domain), Value::MakeMap(std::move(inner)));
  }
  outer.set_fallback(Value::MakeMap(Map()));
  return Value::MakeMap(std::move(outer));
}

absl::StatusOr<Value> ToValue(const Attribute& attribute) {
  if (const auto* i = std::get_if<int64_t>(&attribute)) return Value::Int(*i);
  if (const auto* b = std::get_if<bool>(&attribute)) return Value::Bool(*b);
  if (const auto* s = std::get_if<std::string>(&attribute)) return Value::String(*s);
  absl::StatusOr<Semver> semver = Semver::Parse(std::get<Version>(attribute).text);
  if (!semver.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parse semantic version: ", semver.status().message()));
  }
  return SemverValue::Make(*std::move(semver));
}

}  // namespace

Device::Device(const DeviceFields& fields) {
  Domains attributes, capacity;
  for (const auto& [name, attribute] : fields.attributes) {
    absl::StatusOr<Value> value = ToValue(attribute);
    if (!value.ok()) {
      status_.Update(absl::InvalidArgumentError(
          absl::StrCat("attribute ", name, ": ", value.status().message())));
      continue;
    }
    Put(name, fields.driver, *std::move(value), attributes);
  }
  for (const auto& [name, quantity] : fields.capacity) {
    Put(name, fields.driver, QuantityValue::Make(quantity), capacity);
  }
  Map device;
  device.Set(Value::String("driver"), Value::String(fields.driver));
  device.Set(Value::String("allowMultipleAllocations"),
             Value::Bool(fields.allow_multiple_allocations));
  device.Set(Value::String("attributes"), ToValue(attributes));
  device.Set(Value::String("capacity"), ToValue(capacity));
  value_ = std::make_shared<const Value>(Value::MakeMap(std::move(device)));
}

}  // namespace berth::cel
