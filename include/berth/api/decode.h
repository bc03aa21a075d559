// SPDX-License-Identifier: Apache-2.0
// Decoding of documents into messages, and of messages into JSON.
#ifndef BERTH_API_DECODE_H_
#define BERTH_API_DECODE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace berth {

// What to do about a field that the message does not have. Objects of a cluster are read leniently,
// manifests with a warning, configuration strictly. A key that appears twice is an error in all, as
// it is to an API server. Texts that are none of an enumeration's and names of resources that an
// API server refuses are errors in the last two, and warned of in what an API server has stored.
//
// kWarn: of fields that the API does not have there; those that no scheduler reads are known.
// kWarnOfMistakes, for what an API server has stored: it knew every field, so one that is unknown
// here is of a later version, or an extension's. Only those are warned of whose name is near one of
// the API's, or is that of a field of pods or containers.
enum class UnknownFields : uint8_t { kIgnore, kWarnOfMistakes, kWarn, kReport };

struct DecodeOptions {
  UnknownFields unknown_fields = UnknownFields::kIgnore;
  std::string subject;     // Problem::subject of what is reported: "Pod default/p"
  std::string field_path;  // goes before the paths in messages: "profiles[0].pluginConfig[2].args"
};

// Sets the fields of `message` that `value`, a map, has, as the Kubernetes API reads JSON: field
// names in lowerCamelCase, null like absent, quantities as string or number, times as RFC 3339,
// IntOrString as either. Reports each wrong type and unparsable value with its place and field
// path, leaves that field unset and goes on. Returns whether nothing was reported as an error.
bool DecodeMessage(Value value, const DecodeOptions& options, google::protobuf::Message& message,
                   Problems& problems);

enum class JsonStyle : uint8_t { kCompact, kIndented };

// `message` as the Kubernetes API writes it in JSON. Messages of a known Kind begin with their
// apiVersion and kind; map keys are sorted; quantities are in canonical form. Unknown fields are
// left out.
std::string ToJson(const google::protobuf::Message& message, JsonStyle style = JsonStyle::kCompact);

}  // namespace berth

#endif  // BERTH_API_DECODE_H_
