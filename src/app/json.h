// JSON output: a thin word list over RapidJSON's writer.
#ifndef BERTH_SRC_APP_JSON_H_
#define BERTH_SRC_APP_JSON_H_

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth {

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return writer_.StartObject(), *this; }
  JsonWriter& EndObject() { return writer_.EndObject(), *this; }
  JsonWriter& BeginArray() { return writer_.StartArray(), *this; }
  JsonWriter& EndArray() { return writer_.EndArray(), *this; }
  JsonWriter& Key(absl::string_view key) {
    return writer_.Key(key.data(), static_cast<unsigned>(key.size())), *this;
  }
  JsonWriter& String(absl::string_view text) {
    return writer_.String(text.data(), static_cast<unsigned>(text.size())), *this;
  }
  JsonWriter& Int(int64_t number) { return writer_.Int64(number), *this; }
  JsonWriter& Double(double number) { return writer_.Double(number), *this; }
  JsonWriter& Bool(bool value) { return writer_.Bool(value), *this; }
  JsonWriter& Null() { return writer_.Null(), *this; }
  template <class Strings>
  JsonWriter& StringArray(const Strings& strings) {
    BeginArray();
    for (const auto& text : strings) String(text);
    return EndArray();
  }

  absl::string_view text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace berth

#endif  // BERTH_SRC_APP_JSON_H_
