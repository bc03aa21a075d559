// SPDX-License-Identifier: Apache-2.0
// Messages as JSON in the form of the Kubernetes API.
#include <map>
#include <optional>
#include <string>

#include "api/json.h"
#include "api/message_json.h"
#include "api/message_plan.h"
#include "api/object_meta.h"
#include "berth/api/quantity.h"
#include "berth/api/registered_object.pb.h"
#include "berth/api/time.h"

namespace berth {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Writes a text that is no JSON null.
void WriteJson(const std::string& text, JsonWriter& out) {
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(text, "", problems);
  WriteValue(documents.empty() ? Value() : documents.front().root(), out);
}

class MessageWriter {
 public:
  explicit MessageWriter(JsonWriter& out) : out_(out) {}

  void WriteObject(const Message& message, const TypeMeta& type) {
    out_.BeginObject();
    if (!type.kind.empty()) {
      out_.Key("apiVersion");
      out_.String(type.api_version);
      out_.Key("kind");
      out_.String(type.kind);
    }
    WriteFields(message);
    out_.EndObject();
  }

 private:
  // All but the fields' own braces, so that inlined messages can use it too.
  void WriteFields(const Message& message) {
    const Reflection& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->is_extension()) continue;
      if (IsInlined(field)) {
        WriteFields(reflection.GetMessage(message, field));
        continue;
      }
      out_.Key(field->json_name());
      if (field->is_map()) {
        WriteMap(message, field);
      } else if (field->is_repeated()) {
        out_.BeginArray();
        for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
          WriteValue(message, field, i);
        }
        out_.EndArray();
      } else {
        WriteValue(message, field, -1);
      }
    }
  }

  void WriteMap(const Message& message, const FieldDescriptor* field) {
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor* const key = field->message_type()->map_key();
    const FieldDescriptor* const value = field->message_type()->map_value();
    std::map<std::string, const Message*> entries;
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      const Message& entry = reflection.GetRepeatedMessage(message, field, i);
      entries[entry.GetReflection()->GetString(entry, key)] = &entry;
    }
    out_.BeginObject();
    for (const auto& [name, entry] : entries) {
      out_.Key(name);
      WriteValue(*entry, value, -1);
    }
    out_.EndObject();
  }

  // The value of a singular field, or element `index` of a repeated one.
  void WriteValue(const Message& message, const FieldDescriptor* field, int index) {
    const Reflection& r = *message.GetReflection();
    const bool element = index >= 0;
    switch (FormOf(field)) {
      case ValueForm::kString:
        out_.String(element ? r.GetRepeatedString(message, field, index)
                            : r.GetString(message, field));
        return;
      case ValueForm::kInt32:
        out_.Int(element ? r.GetRepeatedInt32(message, field, index) : r.GetInt32(message, field));
        return;
      case ValueForm::kInt64:
        out_.Int(element ? r.GetRepeatedInt64(message, field, index) : r.GetInt64(message, field));
        return;
      case ValueForm::kDouble:
        out_.Double(element ? r.GetRepeatedDouble(message, field, index)
                            : r.GetDouble(message, field));
        return;
      case ValueForm::kBool:
        out_.Bool(element ? r.GetRepeatedBool(message, field, index) : r.GetBool(message, field));
        return;
      default:
        return WriteMessage(
            element ? r.GetRepeatedMessage(message, field, index) : r.GetMessage(message, field),
            FormOf(field));
    }
  }

  void WriteMessage(const Message& message, ValueForm form) {
    switch (form) {
      case ValueForm::kQuantity: {
        const std::string& text = static_cast<const api::Quantity&>(message).string();
        const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
        out_.String(quantity.ok() ? quantity->ToString() : text);
        return;
      }
      case ValueForm::kIntOrString: {
        const auto& value = static_cast<const api::IntOrString&>(message);
        if (value.type() == 1) {
          out_.String(value.str_val());
        } else {
          out_.Int(value.int_val());
        }
        return;
      }
      case ValueForm::kTime:
        out_.String(TimeToString(ToTime(static_cast<const api::Time&>(message))));
        return;
      case ValueForm::kMicroTime:
        out_.String(MicroTimeToString(ToTime(static_cast<const api::MicroTime&>(message))));
        return;
      case ValueForm::kRawExtension:
        return WriteJson(static_cast<const api::RawExtension&>(message).raw(), out_);
      default:
        out_.BeginObject();
        WriteFields(message);
        out_.EndObject();
    }
  }

  JsonWriter& out_;
};

}  // namespace

void WriteValue(Value value, JsonWriter& out) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      out.Null();
      return;
    case Value::Kind::kBool:
      out.Bool(*value.AsBool());
      return;
    case Value::Kind::kInt:
      if (value.AsInt64().has_value()) {
        out.Int(*value.AsInt64());
        return;
      }
      [[fallthrough]];  // beyond 64 bits
    case Value::Kind::kFloat:
      out.Double(value.AsDouble().value_or(0));
      return;
    case Value::Kind::kString:
      out.String(value.text());
      return;
    case Value::Kind::kSequence:
      out.BeginArray();
      for (const Value element : value.elements()) WriteValue(element, out);
      out.EndArray();
      return;
    case Value::Kind::kMap:
      out.BeginObject();
      for (const Value::Item& item : value.items()) {
        out.Key(item.key);
        WriteValue(item.value, out);
      }
      out.EndObject();
      return;
  }
}

std::string ToJson(const Message& message, JsonStyle style) {
  if (message.GetDescriptor() == api::RegisteredObject::descriptor()) {
    JsonWriter writer(style);
    WriteJson(static_cast<const api::RegisteredObject&>(message).berth_json(), writer);
    return std::string(writer.text());
  }
  const std::optional<Kind> kind = KindOfMessage(message);
  return ToJson(message, kind ? TypeMeta{ApiVersion(*kind), KindName(*kind)} : TypeMeta(), style);
}

std::string ToJson(const Message& message, const TypeMeta& type, JsonStyle style) {
  JsonWriter writer(style);
  MessageWriter(writer).WriteObject(message, type);
  return std::string(writer.text());
}

}  // namespace berth
