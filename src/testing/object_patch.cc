// SPDX-License-Identifier: Apache-2.0
// Implementation of object_patch.h.
#include "testing/object_patch.h"

#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "berth/api/apps_v1.pb.h"
#include "berth/api/coordination_v1.pb.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/manifest.h"
#include "berth/api/kai_scheduler.pb.h"
#include "berth/api/kueue_x_k8s_io.pb.h"
#include "berth/api/policy_v1.pb.h"
#include "berth/api/registered_object.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/scheduling_berth_dev.pb.h"
#include "berth/api/scheduling_koordinator_sh.pb.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/scheduling_v1alpha1.pb.h"
#include "berth/api/scheduling_v1beta1.pb.h"
#include "berth/api/scheduling_volcano_sh.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/api/storage_v1.pb.h"

namespace berth::testing {
namespace {

std::unique_ptr<google::protobuf::Message> NewMessage(Kind kind) {
  switch (kind) {
#define BERTH_KIND(name, kind, group, version, plural, namespaced) \
  case Kind::k##name:                                              \
    return std::make_unique<api::name>();
    BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND
  }
  return std::make_unique<api::RegisteredObject>();
}

void WriteText(absl::string_view text, std::string& json) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&json, "\\u%04x", static_cast<unsigned>(c));
    } else {
      json += c;
    }
  }
  json += '"';
}

void Write(Value value, std::string& json) {
  if (value.IsMap()) {
    const char* separator = "{";
    for (const Value::Item& item : value.items()) {
      json += separator;
      separator = ",";
      WriteText(item.key, json);
      json += ':';
      Write(item.value, json);
    }
    json += value.size() == 0 ? "{}" : "}";
  } else if (value.IsSequence()) {
    const char* separator = "[";
    for (const Value element : value.elements()) {
      json += separator;
      separator = ",";
      Write(element, json);
    }
    json += value.size() == 0 ? "[]" : "]";
  } else if (value.IsNull()) {
    json += "null";
  } else if (const auto truth = value.AsBool(); truth.has_value()) {
    json += *truth ? "true" : "false";
  } else if (const auto number = value.AsInt64(); value.IsNumber() && number.has_value()) {
    absl::StrAppend(&json, *number);
  } else {
    WriteText(value.text(), json);
  }
}

// What `patch` makes of `base`, either of which may be missing.
void Merge(Value base, Value patch, std::string& json) {
  if (!patch) return Write(base, json);
  if (!patch.IsMap()) return Write(patch, json);
  json += '{';
  bool first = true;
  const auto field = [&](absl::string_view key, Value from, Value by) {
    if (by && by.IsNull()) return;
    if (!first) json += ',';
    first = false;
    WriteText(key, json);
    json += ':';
    Merge(from, by, json);
  };
  std::set<absl::string_view> seen;
  for (const Value::Item& item : base.items()) {
    seen.insert(item.key);
    field(item.key, item.value, patch.Find(item.key));
  }
  for (const Value::Item& item : patch.items()) {
    if (seen.insert(item.key).second) field(item.key, Value(), patch.Find(item.key));
  }
  json += '}';
}

}  // namespace

void CheckPatch(Kind kind, Value patch, Problems& problems) {
  const auto message = NewMessage(kind);
  DecodeMessage(patch,
                {.unknown_fields = UnknownFields::kReport, .subject = std::string(KindName(kind))},
                *message, problems);
}

absl::StatusOr<Object> PatchObject(const Object& object, Value patch) {
  Problems problems;
  const std::string text = ToJson(object.message());
  const std::vector<Document> documents = ReadDocuments(text, object.ToString(), problems);
  if (documents.size() != 1) return absl::InternalError("an object is one document");
  std::string json;
  Merge(documents.front().root(), patch, json);
  Manifests read = ParseManifest(json, object.ToString());
  if (!read.problems.ok()) return read.problems.ToStatus();
  if (read.objects.size() != 1 || read.objects.front().kind() != object.kind() ||
      read.objects.front().key() != object.key()) {
    return absl::InvalidArgumentError("an update cannot make another object of it");
  }
  return std::move(read.objects.front());
}

}  // namespace berth::testing
