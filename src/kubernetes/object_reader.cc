// SPDX-License-Identifier: Apache-2.0
// Implementation of object_reader.h.
#include "kubernetes/object_reader.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/object_meta.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/envelope.h"

namespace berth {
namespace {

constexpr char kInitialEventsEnd[] = "k8s.io/initial-events-end";
constexpr char kTokenVolume[] = "kube-api-access";

std::string KeyOf(Kind kind, const api::ObjectMeta& meta) {
  return IsNamespaced(kind) ? absl::StrCat(meta.namespace_(), "/", meta.name()) : meta.name();
}

absl::Status Unusable(absl::string_view why) { return absl::InvalidArgumentError(why); }

// Names become parts of keys.
absl::Status CheckNames(Kind kind, const api::ObjectMeta& meta) {
  if (meta.name().empty()) return Unusable("it has no name");
  if (absl::StrContains(meta.name(), '/')) return Unusable("its name contains a slash");
  if (!IsNamespaced(kind)) return absl::OkStatus();
  if (meta.namespace_().empty()) return Unusable("it has no namespace");
  if (absl::StrContains(meta.namespace_(), '/')) return Unusable("its namespace contains a slash");
  return absl::OkStatus();
}

void RenameTokenVolume(api::PodSpec& spec) {
  for (api::Volume& volume : *spec.mutable_volumes()) {
    // kubernetes v1.35 plugin/pkg/admission/serviceaccount/admission.go.
    if (volume.volume_source().has_projected() &&
        absl::StartsWith(volume.name(), absl::StrCat(kTokenVolume, "-"))) {
      volume.set_name(kTokenVolume);
    }
  }
}

// For a message that was read as far as `problem` says.
ServedObject Serve(Kind kind, std::shared_ptr<google::protobuf::Message> message,
                   absl::Status problem) {
  api::ObjectMeta& meta = MutableObjectMetaOf(kind, *message);
  std::string version = meta.resource_version(), key = KeyOf(kind, meta);
  if (problem.ok()) problem = CheckNames(kind, meta);
  if (!problem.ok()) return {std::move(version), std::move(key), std::move(problem)};
  if (!IsNamespaced(kind)) meta.clear_namespace_();
  if (kind == Kind::kPod) {
    auto& pod = static_cast<api::Pod&>(*message);
    RenameTokenVolume(*pod.mutable_spec());
    return {std::move(version), std::move(key), Object(PackedPod::Pack(pod))};
  }
  return {std::move(version), std::move(key), Object(kind, std::move(message))};
}

absl::Status NoEvent(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("an event of the watch is none: ", why));
}

std::optional<WatchEventType> TypeOf(absl::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  if (name == "ERROR") return WatchEventType::kError;
  return std::nullopt;
}

// An error without a code would look like success.
absl::Status StatusOf(ApiError error) {
  if (error.code == 0) error.code = 500;
  return error.ToStatus();
}

ServedEvent Bookmark(const api::ObjectMeta& meta) {
  const auto end = meta.annotations().find(kInitialEventsEnd);
  return {.type = WatchEventType::kBookmark,
          .object = {meta.resource_version(), "", Unusable("it is a bookmark")},
          .ends_initial_events = end != meta.annotations().end() && end->second == "true",
          .error = absl::OkStatus()};
}

}  // namespace

uint64_t VersionNumber(absl::string_view resource_version) {
  uint64_t number = 0;
  return absl::SimpleAtoi(resource_version, &number) ? number : 0;
}

ServedObject ReadProtobufObject(Kind kind, absl::string_view message) {
  std::shared_ptr<google::protobuf::Message> read = NewMessage(kind);
  const bool parsed = read->ParseFromArray(message.data(), static_cast<int>(message.size()));
  if (parsed) read->DiscardUnknownFields();
  absl::Status problem = parsed ? absl::OkStatus() : Unusable("its protobuf form is broken");
  // Plugins read its JSON.
  if (IsRegisteredKind(kind)) problem = Unusable("it comes in protobuf, not in JSON");
  return Serve(kind, std::move(read), std::move(problem));
}

ServedObject ReadJsonObject(Kind kind, Value value) {
  std::shared_ptr<google::protobuf::Message> read = NewMessage(kind);
  Problems problems;
  const bool decoded = DecodeObjectMessage(kind, value, {}, *read, problems);
  return Serve(kind, std::move(read),
               decoded
                   ? absl::OkStatus()
                   : Unusable(problems.empty() ? "it cannot be read" : problems.list()[0].message));
}

absl::StatusOr<ServedEvent> ReadProtobufEvent(Kind kind, absl::string_view frame) {
  kubernetes_wire::WatchEvent event;
  if (!event.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
    return NoEvent("its protobuf form is broken");
  }
  const std::optional<WatchEventType> type = TypeOf(event.type());
  if (!type.has_value()) return NoEvent(absl::StrCat("its type is ", event.type()));
  const absl::StatusOr<Enveloped> opened = OpenEnvelope(event.object().raw());
  if (!opened.ok()) return NoEvent(opened.status().message());
  if (*type == WatchEventType::kError) {
    kubernetes_wire::Status status;
    if (!status.ParseFromString(opened->raw)) return NoEvent("its status is broken");
    return ServedEvent{
        *type, {"", "", Unusable("it is an error")}, false, StatusOf(ToApiError(status))};
  }
  if (*type == WatchEventType::kBookmark) {
    const std::shared_ptr<google::protobuf::Message> read = NewMessage(kind);
    if (!read->ParseFromString(opened->raw)) return NoEvent("a bookmark is broken");
    return Bookmark(ObjectMetaOf(kind, *read));
  }
  if (opened->kind != KindName(kind)) {
    return NoEvent(absl::StrCat("it is about a ", opened->kind));
  }
  return ServedEvent{*type, ReadProtobufObject(kind, opened->raw), false, absl::OkStatus()};
}

absl::Status ReadJson(absl::string_view text, absl::FunctionRef<void(Value map)> visit) {
  Problems problems;
  int maps = 0, others = 0;
  // Only of JSON: YAML has more ways to be long.
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == absl::string_view::npos || text[begin] != '{') {
    return absl::DataLossError("is no JSON object");
  }
  ReadDocuments(text, "", problems, [&](const Document& document) {
    const bool is_map = document.root().IsMap();
    (is_map ? maps : others) += 1;
    if (is_map && maps == 1) visit(document.root());
  });
  if (maps == 1 && others == 0 && problems.ok()) return absl::OkStatus();
  return absl::DataLossError(problems.empty() ? "is not one JSON object"
                                              : problems.list()[0].message);
}

absl::StatusOr<ServedEvent> ReadJsonEvent(Kind kind, absl::string_view frame) {
  absl::StatusOr<ServedEvent> event = NoEvent("it is empty");
  const absl::Status read = ReadJson(frame, [&](Value map) {
    const absl::string_view type_name = map.Find("type").AsString().value_or("");
    const std::optional<WatchEventType> type = TypeOf(type_name);
    const Value object = map.Find("object");
    if (!type.has_value()) {
      event = NoEvent(absl::StrCat("its type is ", type_name));
    } else if (!object.IsMap()) {
      event = NoEvent("it has no object");
    } else if (*type == WatchEventType::kError) {
      event = ServedEvent{
          *type, {"", "", Unusable("it is an error")}, false, StatusOf(ToApiError(object))};
    } else if (*type == WatchEventType::kBookmark) {
      api::ObjectMeta meta;
      Problems problems;
      DecodeMessage(object.Find("metadata"), {}, meta, problems);
      event = Bookmark(meta);
    } else if (const auto kind_name = object.Find("kind").AsString();
               kind_name.value_or("") != KindName(kind)) {
      event = NoEvent(absl::StrCat("it is about a ", kind_name.value_or("")));
    } else {
      event = ServedEvent{*type, ReadJsonObject(kind, object), false, absl::OkStatus()};
    }
  });
  if (!read.ok()) return NoEvent(read.message());
  return event;
}

}  // namespace berth
