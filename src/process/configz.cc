// SPDX-License-Identifier: Apache-2.0
// Implementation of configz.h.
#include "process/configz.h"

#include <vector>

#include "api/json.h"
#include "berth/api/value.h"
#include "berth/check.h"

namespace berth {
namespace {

constexpr char kNotShown[] = "--- not shown ---";

void Write(Value value, JsonWriter& json) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      json.Null();
      break;
    case Value::Kind::kBool:
      json.Bool(*value.AsBool());
      break;
    case Value::Kind::kInt:
      json.Int(value.AsInt64().value_or(0));
      break;
    case Value::Kind::kFloat:
      json.Double(value.AsDouble().value_or(0));
      break;
    case Value::Kind::kString:
      json.String(value.text());
      break;
    case Value::Kind::kSequence:
      json.BeginArray();
      for (const Value element : value.elements()) Write(element, json);
      json.EndArray();
      break;
    case Value::Kind::kMap:
      json.BeginObject();
      for (const Value::Item item : value.items()) {
        json.Key(item.key);
        if (item.key == "keyData" && !item.value.text().empty()) {
          json.String(kNotShown);
        } else {
          Write(item.value, json);
        }
      }
      json.EndObject();
      break;
  }
}

}  // namespace

std::string ConfigzText(const KubeSchedulerConfiguration& configuration) {
  Problems problems;
  const std::vector<Document> documents =
      ReadDocuments(ConfigurationToYaml(configuration), "", problems);
  BERTH_CHECK(problems.ok() && documents.size() == 1) << "a configuration that we wrote ourselves";
  JsonWriter json;
  json.BeginObject().Key("componentconfig");
  Write(documents[0].root(), json);
  json.EndObject();
  return std::string(json.text());
}

void AddConfigzEndpoint(const KubeSchedulerConfiguration& configuration, Endpoints& endpoints) {
  endpoints.Add("/configz", [text = ConfigzText(configuration)](const ServerRequest&) {
    return ServerResponse{.content_type = "application/json", .body = text};
  });
}

}  // namespace berth
