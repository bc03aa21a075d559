// SPDX-License-Identifier: Apache-2.0
// The types that plugin arguments are made of: how each is read, checked and printed.
#include "berth/config/field_type.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/duplicate_keys.h"
#include "api/near_miss.h"
#include "berth/api/decode.h"
#include "berth/api/time.h"
#include "berth/framework/args.h"
#include "config/arguments/field_text.h"

namespace berth {

// --- Checks --------------------------------------------------------------------------------------

namespace {

FieldCheck NumberCheck(std::string text, std::string detail, std::function<bool(double)> allows) {
  return {.text = std::move(text),
          .number = [detail = std::move(detail), allows = std::move(allows)](double value) {
            return allows(value) ? "" : InvalidValue(value, detail);
          }};
}

}  // namespace

FieldCheck NoCheck() { return {}; }

FieldCheck InRange(double low, double high) {
  return NumberCheck(
      absl::StrCat(NumberText(low), " to ", NumberText(high)),
      absl::StrCat("not in valid range [", NumberText(low), ", ", NumberText(high), "]"),
      [low, high](double value) { return value >= low && value <= high; });
}

FieldCheck AtLeast(double low) {
  return NumberCheck(absl::StrCat("at least ", NumberText(low)),
                     absl::StrCat("not in valid range [", NumberText(low), ", inf)"),
                     [low](double value) { return value >= low; });
}

FieldCheck GreaterThan(double low) {
  return NumberCheck(absl::StrCat("greater than ", NumberText(low)),
                     absl::StrCat("not in valid range (", NumberText(low), ", inf)"),
                     [low](double value) { return value > low; });
}

FieldCheck OneOf(std::vector<std::string> words) {
  const auto quoted = [&](absl::string_view mark) {
    return absl::StrJoin(words, ", ", [mark](std::string* out, const std::string& word) {
      absl::StrAppend(out, mark, word, mark);
    });
  };
  std::string text = quoted("`");
  std::string supported = quoted("\"");
  return {.text = std::move(text),
          .string = [words = std::move(words),
                     supported = std::move(supported)](absl::string_view value) -> std::string {
            for (const std::string& word : words) {
              if (word == value) return "";
            }
            return absl::StrCat("Unsupported value: ", YamlQuoted(value),
                                ": supported values: ", supported, DidYouMean(value, words));
          }};
}

// --- Types ---------------------------------------------------------------------------------------

namespace internal {
namespace {

void AddWrongType(Value value, const std::string& path, absl::string_view want, Problems& problems,
                  absl::string_view advice = "") {
  problems.AddError(value.where(), "",
                    absl::StrCat(path, ": is ", value.KindText(), ", not ", want, advice));
}

template <class T>
const T& As(const void* object) {
  return *static_cast<const T*>(object);
}

template <class T>
void CheckNumber(const void* object, const FieldCheck& check, const std::string& field,
                 FieldProblems& problems) {
  if (!check.number) return;
  const std::string message = check.number(static_cast<double>(As<T>(object)));
  if (!message.empty()) problems.Add(field, message);
}

void ReadInteger(Value value, const std::string& path, int64_t low, int64_t high,
                 Problems& problems, const std::function<void(int64_t)>& set) {
  if (!value.IsNumber()) {
    double number = 0;
    const bool is_quoted_number = value.IsString() && absl::SimpleAtod(value.text(), &number);
    AddWrongType(value, path, "an integer", problems,
                 is_quoted_number ? "; remove the quotes" : "");
    return;
  }
  const std::optional<int64_t> number = value.AsInt64();
  if (number.has_value() && *number >= low && *number <= high) {
    set(*number);
    return;
  }
  problems.AddError(
      value.where(), "",
      absl::StrCat(path, ": ", value.text(), " is not an integer between ", low, " and ", high));
}

template <class T>
FieldType IntegerType() {
  return {.name = "integer",
          .read =
              [](Value value, const std::string& path, void* out, Problems& problems) {
                ReadInteger(value, path, std::numeric_limits<T>::min(),
                            std::numeric_limits<T>::max(), problems,
                            [out](int64_t number) { *static_cast<T*>(out) = number; });
              },
          .check = CheckNumber<T>,
          .print = [](const void* object) { return absl::StrCat(As<T>(object)); }};
}

void CheckNothing(const void*, const FieldCheck&, const std::string&, FieldProblems&) {}

}  // namespace

FieldType BoolType() {
  return {.name = "true or false",
          .read =
              [](Value value, const std::string& path, void* out, Problems& problems) {
                if (const std::optional<bool> flag = value.AsBool()) {
                  *static_cast<bool*>(out) = *flag;
                } else {
                  const bool is_quoted = value.text() == "true" || value.text() == "false";
                  AddWrongType(value, path, "true or false", problems,
                               is_quoted ? "; remove the quotes" : "");
                }
              },
          .check = CheckNothing,
          .print = [](const void* object) { return As<bool>(object) ? "true" : "false"; }};
}

FieldType Int32Type() { return IntegerType<int32_t>(); }
FieldType Int64Type() { return IntegerType<int64_t>(); }

FieldType DoubleType() {
  return {.name = "number",
          .read =
              [](Value value, const std::string& path, void* out, Problems& problems) {
                const std::optional<double> number = value.AsDouble();
                if (number.has_value() && std::isfinite(*number)) {
                  *static_cast<double*>(out) = *number;
                } else {
                  AddWrongType(value, path, "a finite number", problems);
                }
              },
          .check = CheckNumber<double>,
          .print = [](const void* object) { return NumberText(As<double>(object)); }};
}

FieldType StringType() {
  return {.name = "string",
          .read =
              [](Value value, const std::string& path, void* out, Problems& problems) {
                if (const std::optional<absl::string_view> text = value.AsString()) {
                  *static_cast<std::string*>(out) = std::string(*text);
                } else {
                  const bool is_scalar = !value.IsMap() && !value.IsSequence();
                  AddWrongType(value, path, "a string", problems,
                               is_scalar ? "; put quotes around it" : "");
                }
              },
          .check =
              [](const void* object, const FieldCheck& check, const std::string& field,
                 FieldProblems& problems) {
                if (!check.string) return;
                const std::string message = check.string(As<std::string>(object));
                if (!message.empty()) problems.Add(field, message);
              },
          .print = [](const void* object) { return YamlScalar(As<std::string>(object)); }};
}

FieldType DurationType() {
  return {.name = "duration",
          .read =
              [](Value value, const std::string& path, void* out, Problems& problems) {
                const std::optional<absl::string_view> text = value.AsString();
                if (!text.has_value()) {
                  AddWrongType(value, path, "a duration such as \"10s\"", problems);
                  return;
                }
                const absl::StatusOr<absl::Duration> duration = ParseDuration(*text);
                if (duration.ok()) {
                  *static_cast<absl::Duration*>(out) = *duration;
                } else {
                  problems.AddError(
                      value.where(), "",
                      absl::StrCat(path, ": ",
                                   InvalidValue(*text,
                                                "must be a duration such as \"10s\" or "
                                                "\"1m30s\"")));
                }
              },
          .check =
              [](const void* object, const FieldCheck& check, const std::string& field,
                 FieldProblems& problems) {
                const double seconds = absl::ToDoubleSeconds(As<absl::Duration>(object));
                CheckNumber<double>(&seconds, check, field, problems);
              },
          .print =
              [](const void* object) {
                return YamlQuoted(FormatDuration(As<absl::Duration>(object)));
              }};
}

FieldType StructType(const FieldTable& table) {
  return {.name = table.name(),
          .table = &table,
          .read = [&table](Value value, const std::string& path, void* out,
                           Problems& problems) { table.Read(value, path, out, problems); },
          .check =
              [&table](const void* object, const FieldCheck&, const std::string& field,
                       FieldProblems& problems) {
                FieldProblems inner = problems.At(field);
                table.RunChecks(object, inner);
              },
          .print = [&table](const void* object) { return table.Print(object); }};
}

FieldType OptionalType(const FieldType& element, OptionalAccess access) {
  return {.name = element.name,
          .table = element.table,
          .read = [read = element.read, access](
                      Value value, const std::string& path, void* out,
                      Problems& problems) { read(value, path, access.emplace(out), problems); },
          .check =
              [check = element.check, access](const void* object, const FieldCheck& rule,
                                              const std::string& field, FieldProblems& problems) {
                const void* value = access.value(object);
                if (value != nullptr) check(value, rule, field, problems);
              },
          .print = [print = element.print, access](const void* object) -> std::string {
            const void* value = access.value(object);
            return value == nullptr ? "null" : print(value);
          }};
}

FieldType ListType(const FieldType& element, ListAccess access) {
  return {.name = absl::StrCat("list of ", element.name),
          .table = element.table,
          .read =
              [read = element.read, access](Value value, const std::string& path, void* out,
                                            Problems& problems) {
                if (!value.IsSequence()) {
                  AddWrongType(value, path, "a list", problems);
                  return;
                }
                access.clear(out);
                size_t index = 0;
                for (const Value item : value.elements()) {
                  const std::string item_path = ElementPath(path, index++);
                  void* slot = access.append(out);  // also for a bad one: indices stay true
                  if (item.IsNull()) {
                    problems.AddError(item.where(), "", absl::StrCat(item_path, ": is empty"));
                  } else {
                    read(item, item_path, slot, problems);
                  }
                }
              },
          .check =
              [check = element.check, access](const void* object, const FieldCheck& rule,
                                              const std::string& field, FieldProblems& problems) {
                for (size_t i = 0; i < access.size(object); ++i) {
                  check(access.at(object, i), rule, ElementPath(field, i), problems);
                }
              },
          .print =
              [print = element.print, access](const void* object) {
                std::vector<std::string> items;
                for (size_t i = 0; i < access.size(object); ++i) {
                  items.push_back(print(access.at(object, i)));
                }
                return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
              }};
}

FieldType MapType(const FieldType& element, MapAccess access) {
  return {.name = absl::StrCat("map of string to ", element.name),
          .table = element.table,
          .read =
              [read = element.read, access](Value value, const std::string& path, void* out,
                                            Problems& problems) {
                if (!value.IsMap()) {
                  AddWrongType(value, path, "a map", problems);
                  return;
                }
                access.clear(out);
                ForEachDuplicateKey(value, [&](const Value::Item& item, SourceLocation first) {
                  problems.AddError(
                      item.where, "",
                      absl::StrCat(KeyPath(path, item.key),
                                   ": appears a second time; first in line ", first.line));
                });
                for (const Value::Item item : value.items()) {
                  const std::string item_path = KeyPath(path, item.key);
                  void* slot = access.insert(out, item.key);
                  if (!item.value.IsNull()) read(item.value, item_path, slot, problems);
                }
              },
          .check =
              [check = element.check, access](const void* object, const FieldCheck& rule,
                                              const std::string& field, FieldProblems& problems) {
                access.visit(object, [&](const std::string& key, const void* value) {
                  check(value, rule, KeyPath(field, key), problems);
                });
              },
          .print =
              [print = element.print, access](const void* object) {
                std::vector<std::string> items;
                access.visit(object, [&](const std::string& key, const void* value) {
                  items.push_back(absl::StrCat(YamlScalar(key), ": ", print(value)));
                });
                return absl::StrCat("{", absl::StrJoin(items, ", "), "}");
              }};
}

FieldType MessageType(MessageAccess access) {
  return {.name = absl::StrCat("Kubernetes ", access.prototype().GetDescriptor()->name()),
          .read =
              [access](Value value, const std::string& path, void* out, Problems& problems) {
                DecodeMessage(value, {.unknown_fields = UnknownFields::kReport, .field_path = path},
                              *access.make(out), problems);
              },
          .check = CheckNothing,
          .print = [access](const void* object) -> std::string {
            const google::protobuf::Message* message = access.value(object);
            return message == nullptr ? "null" : ToJson(*message);
          }};
}

}  // namespace internal
}  // namespace berth
