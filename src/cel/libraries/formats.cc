// SPDX-License-Identifier: Apache-2.0
// apiserver pkg/cel/library/format.go
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "cel/cost.h"
#include "cel/libraries/libraries.h"
#include "cel/name_formats.h"

namespace berth::cel {
namespace {

class FormatValue final : public Opaque {
 public:
  static constexpr absl::string_view kTypeName = "kubernetes.NamedFormat";

  explicit FormatValue(const NameFormat& format) : format_(format) {}
  static Value Make(const NameFormat& format) {
    return Value(Value::Content(OpaquePointer(std::make_shared<const FormatValue>(format))));
  }

  const NameFormat& format() const { return format_; }
  absl::string_view type_name() const override { return kTypeName; }
  std::optional<bool> Equals(const Opaque& other) const override {
    const auto* format = dynamic_cast<const FormatValue*>(&other);
    if (format == nullptr) return std::nullopt;
    return format_.name == format->format_.name;
  }

 private:
  const NameFormat& format_;
};

Value Validate(Budget& budget, Arguments a) {
  if (!budget.WorkOnBytes(a[1].text().size() * 16)) return Budget::Exceeded();
  std::vector<Value> problems;
  for (const std::string& p : a[0].As<FormatValue>()->format().validate(a[1].text())) {
    problems.push_back(Value::String(p));
  }
  if (problems.empty()) return Value::None();
  return Value::Some(Value::MakeList(std::move(problems)));
}

uint64_t ValidateCost(absl::Span<const Value> a, const Value&) {
  const auto* value = a[0].As<FormatValue>();
  return value == nullptr ? 1 : RegexCost(SizeOf(a[1]), value->format().regex_size);
}

Value Named(Budget&, Arguments a) {
  for (const NameFormat& format : NameFormats()) {
    if (format.name == a[0].text()) return Value::Some(FormatValue::Make(format));
  }
  return Value::None();
}

}  // namespace

void AddFormats(Environment& environment) {
  const Type format = Type::Struct(FormatValue::kTypeName), string = Type::String();
  environment.AddType(format);
  environment.AddMember("validate", "format-validate", {format, string},
                        Type::Optional(Type::List(string)), Validate);
  environment.SetCost("validate", ValidateCost);
  environment.AddFunction("format.named", "format-named", {string}, Type::Optional(format), Named);
  for (const NameFormat& named : NameFormats()) {
    const std::string name = absl::StrCat("format.", named.name);
    environment.AddFunction(name, name, {}, format,
                            [&named](Budget&, Arguments) { return FormatValue::Make(named); });
  }
}

}  // namespace berth::cel
