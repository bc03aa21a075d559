// SPDX-License-Identifier: Apache-2.0
// Implementation of object_body.h.
#include "kubernetes/object_body.h"

#include <google/protobuf/message.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/message_json.h"
#include "berth/api/value.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/envelope.h"
#include "kubernetes/object_reader.h"

namespace berth {

std::string EncodeObject(absl::string_view content_type, absl::string_view api_version,
                         absl::string_view kind, const google::protobuf::Message& message) {
  if (IsProtobuf(content_type)) return Envelope(api_version, kind, message.SerializeAsString());
  return ToJson(message, TypeMeta{api_version, kind});
}

absl::StatusOr<Object> DecodeObject(Kind kind, absl::string_view content_type,
                                    absl::string_view body) {
  std::optional<ServedObject> served;
  absl::Status opened;
  if (IsProtobuf(content_type)) {
    const absl::StatusOr<Enveloped> envelope = OpenEnvelope(body);
    opened = envelope.status();
    if (envelope.ok()) served = ReadProtobufObject(kind, envelope->raw);
  } else {
    opened = ReadJson(body, [&](Value map) { served = ReadJsonObject(kind, map); });
  }
  if (opened.ok() && served->object.ok()) return *std::move(served->object);
  return absl::DataLossError(
      absl::StrCat("the API server's answer is no ", KindName(kind), ": ",
                   opened.ok() ? served->object.status().message() : opened.message()));
}

absl::StatusOr<ObjectList> DecodeList(Kind kind, absl::string_view content_type,
                                      absl::string_view body) {
  ObjectList decoded;
  const auto take = [&](ServedObject served) {
    if (served.object.ok()) decoded.objects.push_back(*std::move(served.object));
  };
  absl::Status opened;
  if (IsProtobuf(content_type)) {
    const absl::StatusOr<Enveloped> envelope = OpenEnvelope(body);
    kubernetes_wire::AnyList list;
    opened = envelope.status();
    if (opened.ok() && !list.ParseFromString(envelope->raw)) {
      opened = absl::DataLossError("its protobuf form is broken");
    }
    for (const std::string& item : list.items()) take(ReadProtobufObject(kind, item));
    decoded.continue_token = list.metadata().continue_();
  } else {
    opened = ReadJson(body, [&](Value map) {
      for (const Value item : map.Find("items").elements()) take(ReadJsonObject(kind, item));
      const Value token = map.Find("metadata").Find("continue");
      decoded.continue_token = std::string(token.AsString().value_or(""));
    });
  }
  if (opened.ok()) return decoded;
  return absl::DataLossError(
      absl::StrCat("the API server's answer is no list of ", Plural(kind), ": ", opened.message()));
}

}  // namespace berth
