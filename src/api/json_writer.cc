// Messages as JSON in the form of the Kubernetes API.
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <map>
#include <optional>
#include <string>

#include "api/message_plan.h"
#include "api/object_meta.h"
#include "berth/api/decode.h"
#include "berth/api/quantity.h"
#include "berth/api/time.h"

namespace berth {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

template <typename Writer>
class JsonWriter {
 public:
  explicit JsonWriter(Writer& out) : out_(out) {}

  void WriteObject(const Message& message) {
    out_.StartObject();
    if (const std::optional<Kind> kind = KindOfMessage(message)) {
      Key("apiVersion");
      Text(ApiVersion(*kind));
      Key("kind");
      Text(KindName(*kind));
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
      Key(field->json_name());
      if (field->is_map()) {
        WriteMap(message, field);
      } else if (field->is_repeated()) {
        out_.StartArray();
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
    out_.StartObject();
    for (const auto& [name, entry] : entries) {
      Key(name);
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
        return Text(element ? r.GetRepeatedString(message, field, index)
                            : r.GetString(message, field));
      case ValueForm::kInt32:
        out_.Int(element ? r.GetRepeatedInt32(message, field, index) : r.GetInt32(message, field));
        return;
      case ValueForm::kInt64:
        out_.Int64(element ? r.GetRepeatedInt64(message, field, index)
                           : r.GetInt64(message, field));
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
        return Text(quantity.ok() ? quantity->ToString() : text);
      }
      case ValueForm::kIntOrString: {
        const auto& value = static_cast<const api::IntOrString&>(message);
        if (value.type() == 1) return Text(value.str_val());
        out_.Int(value.int_val());
        return;
      }
      case ValueForm::kTime:
        return Text(TimeToString(ToTime(static_cast<const api::Time&>(message))));
      case ValueForm::kMicroTime:
        return Text(MicroTimeToString(ToTime(static_cast<const api::MicroTime&>(message))));
      default:
        out_.StartObject();
        WriteFields(message);
        out_.EndObject();
    }
  }

  void Key(absl::string_view text) {
    out_.Key(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  void Text(absl::string_view text) {
    out_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }

  Writer& out_;
};

}  // namespace

std::string ToJson(const Message& message, JsonStyle style) {
  rapidjson::StringBuffer buffer;
  if (style == JsonStyle::kIndented) {
    rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
    writer.SetIndent(' ', 2);
    JsonWriter(writer).WriteObject(message);
  } else {
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    JsonWriter(writer).WriteObject(message);
  }
  return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace berth
