// SPDX-License-Identifier: Apache-2.0
// Implementation of arguments_schema.h.
#include "remote/plugin/arguments_schema.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"
#include "remote/plugin/remote_args.h"

namespace berth {
namespace {

absl::StatusOr<Document> ReadOne(absl::string_view json, absl::string_view what) {
  Problems problems;
  std::vector<Document> documents = ReadDocuments(json, what, problems);
  if (!problems.ok()) return problems.ToStatus();
  if (documents.size() != 1 || !documents[0].root().IsMap()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is no JSON object"));
  }
  return std::move(documents[0]);
}

constexpr absl::string_view kTypes[] = {"object", "array",   "string", "integer",
                                        "number", "boolean", "null"};

void CheckSchema(Value schema, const std::string& path, std::vector<std::string>& problems) {
  const auto add = [&](absl::string_view text) { problems.push_back(absl::StrCat(path, text)); };
  if (!schema.IsMap()) return add(" is no object");
  for (const Value::Item item : schema.items()) {
    const Value value = item.value;
    if (item.key == "type") {
      if (!absl::c_linear_search(kTypes, value.text())) add(".type is no type of JSON");
    } else if (item.key == "properties") {
      if (!value.IsMap()) add(".properties is no object");
      for (const Value::Item property : value.items()) {
        CheckSchema(property.value, absl::StrCat(path, ".properties.", property.key), problems);
      }
    } else if (item.key == "items") {
      CheckSchema(value, absl::StrCat(path, ".items"), problems);
    } else if (item.key == "enum" || item.key == "required") {
      if (!value.IsSequence()) add(absl::StrCat(".", item.key, " is no list"));
    } else if (item.key == "minimum" || item.key == "maximum" || item.key == "minLength") {
      if (!value.IsNumber()) add(absl::StrCat(".", item.key, " is no number"));
    } else if (item.key == "additionalProperties") {
      if (!value.AsBool().has_value()) add(".additionalProperties must be true or false");
    } else if (item.key != "title" && item.key != "description" && item.key != "default" &&
               item.key != "examples" && item.key != "$schema" && item.key != "$id") {
      add(absl::StrCat(".", item.key, " is not understood here"));
    }
  }
}

bool HasType(Value value, absl::string_view type) {
  if (type == "object") return value.IsMap();
  if (type == "array") return value.IsSequence();
  if (type == "string") return value.IsString();
  if (type == "integer") return value.IsNumber() && value.AsInt64().has_value();
  if (type == "number") return value.IsNumber();
  if (type == "boolean") return value.kind() == Value::Kind::kBool;
  return value.IsNull();
}

void CheckValue(Value schema, Value value, const std::string& path,
                std::vector<std::string>& problems) {
  const auto add = [&](absl::string_view text) {
    problems.push_back(absl::StrCat(path, ": ", text));
  };
  if (const Value type = schema.Find("type"); type && !HasType(value, type.text())) {
    return add(absl::StrCat("must be of type ", type.text(), ", and is ", value.KindText()));
  }
  if (const Value words = schema.Find("enum")) {
    std::vector<std::string> texts;
    for (const Value word : words.elements()) texts.push_back(ToJson(word));
    if (!absl::c_linear_search(texts, ToJson(value))) {
      add(absl::StrCat("must be one of ", absl::StrJoin(texts, ", ")));
    }
  }
  if (const auto number = value.IsNumber() ? value.AsDouble() : std::nullopt) {
    const Value least = schema.Find("minimum"), most = schema.Find("maximum");
    if (least && *number < least.AsDouble().value_or(0)) {
      add(absl::StrCat("must be at least ", least.text()));
    }
    if (most && *number > most.AsDouble().value_or(0)) {
      add(absl::StrCat("must be at most ", most.text()));
    }
  }
  if (value.IsString()) {
    const Value least = schema.Find("minLength");
    if (least && static_cast<double>(value.text().size()) < least.AsDouble().value_or(0)) {
      add(absl::StrCat("must have at least ", least.text(), " bytes"));
    }
  }
  if (value.IsMap()) {
    for (const Value name : schema.Find("required").elements()) {
      if (!value.Find(name.text())) add(absl::StrCat("lacks ", name.text()));
    }
    const Value properties = schema.Find("properties");
    const Value others = schema.Find("additionalProperties");
    for (const Value::Item item : value.items()) {
      if (const Value property = properties.Find(item.key)) {
        CheckValue(property, item.value, absl::StrCat(path, ".", item.key), problems);
      } else if (others && !others.AsBool().value_or(true)) {
        add(absl::StrCat("has no field ", item.key));
      }
    }
  }
  if (const Value items = schema.Find("items")) {
    size_t i = 0;
    for (const Value element : value.elements()) {
      CheckValue(items, element, absl::StrCat(path, "[", i++, "]"), problems);
    }
  }
}

absl::Status StatusOf(const std::vector<std::string>& problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
}

}  // namespace

absl::Status CheckArgumentsSchema(absl::string_view schema_json) {
  if (schema_json.empty()) return absl::OkStatus();
  const absl::StatusOr<Document> schema = ReadOne(schema_json, "arguments_schema");
  if (!schema.ok()) return schema.status();
  std::vector<std::string> problems;
  CheckSchema(schema->root(), "arguments_schema", problems);
  return StatusOf(problems);
}

absl::Status CheckArguments(absl::string_view schema_json, absl::string_view arguments_json) {
  const absl::StatusOr<Document> arguments = ReadOne(arguments_json, "args");
  if (!arguments.ok()) return arguments.status();
  if (schema_json.empty()) {
    if (arguments->root().size() == 0) return absl::OkStatus();
    return absl::InvalidArgumentError("args: the plugin takes none");
  }
  const absl::StatusOr<Document> schema = ReadOne(schema_json, "arguments_schema");
  if (!schema.ok()) return schema.status();
  std::vector<std::string> problems;
  CheckValue(schema->root(), arguments->root(), "args", problems);
  return StatusOf(problems);
}

}  // namespace berth
