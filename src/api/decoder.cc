// SPDX-License-Identifier: Apache-2.0
// The one decoder: walks a document with the plan of a message type and writes what it finds in
// the protobuf wire format, as an API server would send it, for the generated parser to read. That
// costs less than setting fields by reflection, and maps need no case of their own.
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/duplicate_keys.h"
#include "api/field_error.h"
#include "api/json.h"
#include "api/message_plan.h"
#include "api/near_miss.h"
#include "api/wire_writer.h"
#include "berth/api/decode.h"
#include "berth/api/labels.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/time.h"
#include "berth/check.h"

namespace berth {
namespace {

// The fields that lead to a value, innermost first; a part of the path is either.
struct Path {
  const Path* parent;
  absl::string_view field;  // a field's name, or a map's key
  int index = -1;           // of a list element
  bool is_key = false;

  void AppendTo(std::string& out) const {
    if (parent != nullptr) parent->AppendTo(out);
    if (index >= 0) {
      absl::StrAppend(&out, "[", index, "]");
    } else if (is_key && field.find_first_of("./ ") != absl::string_view::npos) {
      absl::StrAppend(&out, "[", Quoted(field), "]");
    } else {
      absl::StrAppend(&out, out.empty() ? "" : ".", field);
    }
  }
};

// Where fields belong that are often written a level too high or too low; empty for others.
absl::string_view HomeOf(absl::string_view field) {
  constexpr absl::string_view kPodSpec = "the spec of a pod or of a pod template";
  constexpr absl::string_view kMetadata = "metadata";
  constexpr absl::string_view kResources = "the resources of a container";
  constexpr std::pair<absl::string_view, absl::string_view> kHomes[] = {
      {"affinity", kPodSpec},
      {"containers", kPodSpec},
      {"initContainers", kPodSpec},
      {"nodeName", kPodSpec},
      {"nodeSelector", kPodSpec},
      {"priorityClassName", kPodSpec},
      {"runtimeClassName", kPodSpec},
      {"schedulerName", kPodSpec},
      {"schedulingGates", kPodSpec},
      {"tolerations", kPodSpec},
      {"topologySpreadConstraints", kPodSpec},
      {"annotations", kMetadata},
      {"labels", kMetadata},
      {"limits", kResources},
      {"requests", kResources},
  };
  for (const auto& [name, home] : kHomes) {
    if (name == field) return home;
  }
  return "";
}

class Decoder {
 public:
  Decoder(const DecodeOptions& options, Problems& problems)
      : options_(options), problems_(problems) {}

  bool Decode(Value value, google::protobuf::Message& message) {
    const int errors_before = problems_.errors();
    if (value.IsMap()) {
      WriteMessage(value, PlanOf(message.GetDescriptor()), nullptr);
      const bool parsed = message.MergeFromString(out_.bytes());
      BERTH_CHECK(parsed) << message.GetTypeName();
    } else if (!value.IsNull()) {
      ReportKind(value, nullptr, "a map");
    }
    return problems_.errors() == errors_before;
  }

 private:
  bool IsManifest() const {
    return options_.unknown_fields == UnknownFields::kWarnOfMistakes ||
           options_.unknown_fields == UnknownFields::kWarn;
  }

  void WriteMessage(Value value, const MessagePlan& plan, const Path* path) {
    ForEachDuplicateKey(value, [&](const Value::Item& item, SourceLocation first) {
      const Path here{path, item.key};
      ReportTwice(item, first, &here);
    });
    for (const Value::Item& item : value.items()) {
      const FieldPlan* field = plan.Find(item.key);
      if (field == nullptr && IsManifest()) WarnOfMistake(item, plan, path);
      const Path here{path, item.key};
      if (field == nullptr && options_.unknown_fields == UnknownFields::kReport) {
        Report(item.where, &here, "unknown field");
      }
      if (field == nullptr || item.value.IsNull()) continue;
      if (field->wrapper_tag == 0) {
        WriteField(item.value, *field, &here);
      } else {
        const size_t begin = out_.Begin(field->wrapper_tag);
        WriteField(item.value, *field, &here);
        out_.End(begin);
      }
    }
    if (IsManifest()) CheckRequired(value, plan, path);
  }

  void CheckRequired(Value value, const MessagePlan& plan, const Path* path) {
    for (const FieldPlan* field : plan.required) {
      const Value found = value.Find(field->name);
      if (found && !found.IsNull() && !(found.IsString() && found.text().empty())) continue;
      const Path here{path, field->name};
      ReportMistake(found ? found.where() : value.where(), &here, {.message = "is missing"});
    }
  }

  void WarnOfMistake(const Value::Item& item, const MessagePlan& plan, const Path* path) {
    const bool is_type_meta = path == nullptr && (item.key == "apiVersion" || item.key == "kind");
    const auto is_known = [&](const std::string& name) { return name == item.key || name == "*"; };
    if (is_type_meta || absl::c_any_of(plan.api_names, is_known)) return;
    constexpr size_t kFew = 8;
    std::string advice = DidYouMean(item.key, plan.api_names);
    if (const absl::string_view home = HomeOf(item.key); advice.empty() && !home.empty()) {
      advice = absl::StrCat(" here; it belongs to ", home);
    }
    if (advice.empty() && options_.unknown_fields == UnknownFields::kWarnOfMistakes) return;
    if (advice.empty()) {
      advice = "; it is left out, as an API server does";
      if (!plan.api_names.empty() && plan.api_names.size() <= kFew) {
        absl::StrAppend(&advice, "; the fields here are ", absl::StrJoin(plan.api_names, ", "));
      }
    }
    const Path here{path, item.key};
    problems_.AddWarning(item.where, options_.subject,
                         absl::StrCat(PathText(&here), ": unknown field", advice));
  }

  // As the strict decoding of an API server: no key counts more than another.
  void ReportTwice(const Value::Item& item, SourceLocation first, const Path* path) {
    Report(item.where, path, absl::StrCat("appears a second time; first in line ", first.line));
  }

  void WriteField(Value value, const FieldPlan& field, const Path* path) {
    if (field.map) {
      WriteMap(value, field, path);
    } else if (field.repeated) {
      WriteList(value, field, path);
    } else {
      WriteValue(value, field, field.tag, path);
    }
  }

  void WriteList(Value value, const FieldPlan& field, const Path* path) {
    if (!value.IsSequence()) return ReportKind(value, path, "a list");
    int index = 0;
    for (const Value element : value.elements()) {
      const Path here{path, "", index++};
      WriteValue(element, field, field.tag, &here);
    }
  }

  void WriteMap(Value value, const FieldPlan& field, const Path* path) {
    if (!value.IsMap()) return ReportKind(value, path, "a map");
    constexpr uint32_t kMapKeyTag = 1 << 3 | 2;
    ForEachDuplicateKey(value, [&](const Value::Item& item, SourceLocation first) {
      const Path here{path, item.key, -1, true};
      ReportTwice(item, first, &here);
    });
    for (const Value::Item& item : value.items()) {
      const Path here{path, item.key, -1, true};
      if (field.resources != nullptr && ChecksValues())
        CheckResource(item, *field.resources, &here);
      const size_t begin = out_.Begin(field.tag);
      out_.StringField(kMapKeyTag, item.key);
      if (!item.value.IsNull()) {
        WriteValue(item.value, field, field.map_value_tag, &here);
      } else if (field.form == ValueForm::kQuantity) {  // as in Go, null is the zero value
        WriteQuantityText("0", field.map_value_tag);
      }
      out_.End(begin);
    }
  }

  void WriteValue(Value value, const FieldPlan& field, uint32_t tag, const Path* path) {
    switch (field.form) {
      case ValueForm::kString:
        if (!value.IsString()) return ReportKind(value, path, "a string");
        if (field.values != nullptr && ChecksValues()) {
          ReportMistake(value.where(), path, CheckValue(value.text(), *field.values));
        }
        return out_.StringField(tag, value.text());
      case ValueForm::kInt32:
        return WriteInteger(value, tag, std::numeric_limits<int32_t>::min(),
                            std::numeric_limits<int32_t>::max(), path);
      case ValueForm::kInt64:
        return WriteInteger(value, tag, std::numeric_limits<int64_t>::min(),
                            std::numeric_limits<int64_t>::max(), path);
      case ValueForm::kDouble:
        if (!value.IsNumber()) return ReportKind(value, path, "a number");
        return out_.DoubleField(tag, value.AsDouble().value_or(0));
      case ValueForm::kBool:
        if (!value.AsBool()) return ReportKind(value, path, "true or false");
        return out_.VarintField(tag, *value.AsBool() ? 1 : 0);
      case ValueForm::kQuantity:
        return WriteQuantity(value, tag, path);
      case ValueForm::kIntOrString:
        return WriteIntOrString(value, tag, path);
      case ValueForm::kTime:
      case ValueForm::kMicroTime:
        return WriteTime(value, tag, path);
      case ValueForm::kRawExtension:
        return WriteRaw(value, tag);
      case ValueForm::kMessage:
      case ValueForm::kLabelSelector:
        break;
    }
    if (value.IsNull()) value = Value();  // an element that is null: an empty message
    if (value && !value.IsMap()) return ReportKind(value, path, "a map");
    const size_t begin = out_.Begin(tag);
    WriteMessage(value, *field.message, path);
    if (field.form == ValueForm::kLabelSelector) CheckLabelSelector(value, begin, path);
    out_.End(begin);
  }

  // A cluster checked what it stores, by the rules of its own version.
  bool ChecksValues() const { return options_.unknown_fields != UnknownFields::kIgnore; }

  void CheckResource(const Value::Item& item, const ResourceField& field, const Path* path) {
    ReportMistake(item.where, path, CheckResourceName(item.key, field.owner));
    if (item.value.IsString() || item.value.IsNumber()) {
      const absl::string_view amount = absl::StripAsciiWhitespace(item.value.text());
      ReportMistake(item.value.where(), path,
                    {.message = CheckResourceAmount(item.key, amount, field.owner)});
    }
  }

  void ReportMistake(SourceLocation where, const Path* path, const ValueMistake& mistake) {
    if (mistake.message.empty()) return;
    const bool is_stored = options_.unknown_fields == UnknownFields::kWarnOfMistakes;
    if (mistake.is_refused && !is_stored) return Report(where, path, mistake.message);
    problems_.AddWarning(where, options_.subject,
                         absl::StrCat(PathText(path), ": ", mistake.message));
  }

  void WriteInteger(Value value, uint32_t tag, int64_t min, int64_t max, const Path* path) {
    if (!value.IsNumber()) return ReportKind(value, path, "a number");
    const std::optional<int64_t> number = value.AsInt64();
    if (!number) {
      return Report(value.where(), path,
                    absl::StrCat(value.text(), " is not a whole number in range"));
    }
    if (*number < min || *number > max) {
      return Report(value.where(), path,
                    absl::StrCat(*number, " is not between ", min, " and ", max));
    }
    out_.VarintField(tag, static_cast<uint64_t>(*number));
  }

  void WriteQuantity(Value value, uint32_t tag, const Path* path) {
    if (!value.IsString() && !value.IsNumber()) return ReportKind(value, path, "a quantity");
    // Quantity.UnmarshalJSON trims spaces.
    const absl::string_view text = absl::StripAsciiWhitespace(value.text());
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
    if (!quantity.ok()) {
      return Report(
          value.where(), path,
          absl::StrCat(Quoted(text), " is not a quantity (", quantity.status().message(), ")"));
    }
    if (quantity->IsNegative()) {
      return Report(value.where(), path, absl::StrCat(text, " is negative"));
    }
    WriteQuantityText(text, tag);
  }

  void WriteQuantityText(absl::string_view text, uint32_t tag) {
    constexpr uint32_t kStringTag = api::Quantity::kStringFieldNumber << 3 | 2;
    const size_t begin = out_.Begin(tag);
    out_.StringField(kStringTag, text);
    out_.End(begin);
  }

  void WriteIntOrString(Value value, uint32_t tag, const Path* path) {
    constexpr uint32_t kTypeTag = api::IntOrString::kTypeFieldNumber << 3;
    constexpr uint32_t kIntTag = api::IntOrString::kIntValFieldNumber << 3;
    constexpr uint32_t kStringTag = api::IntOrString::kStrValFieldNumber << 3 | 2;
    if (!value.IsString() && !value.IsNumber()) {
      return ReportKind(value, path, "a number or a string");
    }
    const size_t begin = out_.Begin(tag);
    out_.VarintField(kTypeTag, value.IsString() ? 1 : 0);
    if (value.IsString()) {
      out_.StringField(kStringTag, value.text());
    } else {
      WriteInteger(value, kIntTag, std::numeric_limits<int32_t>::min(),
                   std::numeric_limits<int32_t>::max(), path);
    }
    out_.End(begin);
  }

  void WriteTime(Value value, uint32_t tag, const Path* path) {
    if (!value.IsString()) return ReportKind(value, path, "a time");
    if (value.text().empty()) return;  // metav1.Time takes it for none
    const absl::StatusOr<absl::Time> time = ParseTime(value.text());
    if (!time.ok()) return Report(value.where(), path, std::string(time.status().message()));
    api::Time message;  // MicroTime has the same fields
    SetTime(*time, &message);
    out_.StringField(tag, message.SerializeAsString());
  }

  void WriteRaw(Value value, uint32_t tag) {
    constexpr uint32_t kRawTag = api::RawExtension::kRawFieldNumber << 3 | 2;
    JsonWriter json;
    berth::WriteValue(value, json);
    const size_t begin = out_.Begin(tag);
    out_.StringField(kRawTag, json.text());
    out_.End(begin);
  }

  // The selector's fields are what was written from `begin` on.
  void CheckLabelSelector(Value value, size_t begin, const Path* path) {
    api::LabelSelector selector;
    BERTH_CHECK(selector.ParsePartialFromArray(out_.bytes().data() + begin,
                                               static_cast<int>(out_.size() - begin)));
    const absl::StatusOr<LabelSelector> compiled = LabelSelector::FromProto(&selector);
    if (!compiled.ok()) Report(value.where(), path, std::string(compiled.status().message()));
  }

  void ReportKind(Value value, const Path* path, absl::string_view wanted) {
    std::string message = absl::StrCat("is ", value.KindText(), ", not ", wanted);
    if (wanted == "a string" && (value.IsNumber() || value.kind() == Value::Kind::kBool)) {
      absl::StrAppend(&message, "; write it in quotes");
    }
    Report(value.where(), path, message);
  }

  std::string PathText(const Path* path) const {
    std::string text = options_.field_path;
    if (path != nullptr) path->AppendTo(text);
    return text;
  }

  void Report(SourceLocation where, const Path* path, const std::string& message) {
    std::string text = PathText(path);
    absl::StrAppend(&text, text.empty() ? "" : ": ", message);
    problems_.AddError(where, options_.subject, std::move(text));
  }

  const DecodeOptions& options_;
  Problems& problems_;
  WireWriter out_;
};

}  // namespace

bool DecodeMessage(Value value, const DecodeOptions& options, google::protobuf::Message& message,
                   Problems& problems) {
  return Decoder(options, problems).Decode(value, message);
}

}  // namespace berth
