// SPDX-License-Identifier: Apache-2.0
// JSON output: a thin word list over RapidJSON's writers, compact or indented.
#ifndef BERTH_SRC_API_JSON_H_
#define BERTH_SRC_API_JSON_H_

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "berth/api/decode.h"
#include "berth/api/value.h"

namespace berth {

class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style = JsonStyle::kCompact) {
    if (style == JsonStyle::kIndented) {
      writer_.emplace<Indented>(buffer_).SetIndent(' ', 2);
    } else {
      writer_.emplace<Compact>(buffer_);
    }
  }
  JsonWriter(const JsonWriter&) = delete;  // the writer holds on to the buffer
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& BeginObject() {
    return With([](auto& out) { out.StartObject(); });
  }
  JsonWriter& EndObject() {
    return With([](auto& out) { out.EndObject(); });
  }
  JsonWriter& BeginArray() {
    return With([](auto& out) { out.StartArray(); });
  }
  JsonWriter& EndArray() {
    return With([](auto& out) { out.EndArray(); });
  }
  JsonWriter& Key(absl::string_view key) {
    return With([&](auto& out) { out.Key(key.data(), static_cast<unsigned>(key.size())); });
  }
  JsonWriter& String(absl::string_view text) {
    return With([&](auto& out) { out.String(text.data(), static_cast<unsigned>(text.size())); });
  }
  JsonWriter& Int(int64_t number) {
    return With([&](auto& out) { out.Int64(number); });
  }
  // JSON has no infinity: null.
  JsonWriter& Double(double number) {
    if (!std::isfinite(number)) return Null();
    return With([&](auto& out) { out.Double(number); });
  }
  JsonWriter& Bool(bool value) {
    return With([&](auto& out) { out.Bool(value); });
  }
  JsonWriter& Null() {
    return With([](auto& out) { out.Null(); });
  }
  // An object that is JSON already.
  JsonWriter& Raw(absl::string_view json) {
    return With([&](auto& out) { out.RawValue(json.data(), json.size(), rapidjson::kObjectType); });
  }
  template <class Strings>
  JsonWriter& StringArray(const Strings& strings) {
    BeginArray();
    for (const auto& text : strings) String(text);
    return EndArray();
  }

  absl::string_view text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

 private:
  using Compact = rapidjson::Writer<rapidjson::StringBuffer>;
  using Indented = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

  template <class Write>
  JsonWriter& With(Write write) {
    if (Compact* const compact = std::get_if<Compact>(&writer_)) {
      write(*compact);
    } else {
      write(std::get<Indented>(writer_));
    }
    return *this;
  }

  rapidjson::StringBuffer buffer_;
  std::variant<std::monostate, Compact, Indented> writer_;
};

// Writes `value` as it is. Integers beyond 64 bits become floats.
void WriteValue(Value value, JsonWriter& out);

}  // namespace berth

#endif  // BERTH_SRC_API_JSON_H_
