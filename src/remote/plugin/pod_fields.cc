// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_fields.h.
#include "remote/plugin/pod_fields.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The part that pods of one shape do not share (PackedPod).
constexpr absl::string_view kOwnFields[] = {"nodeName", "hostname",
                                            "terminationGracePeriodSeconds"};

const FieldDescriptor* FindByJsonName(const google::protobuf::Descriptor& type,
                                      absl::string_view name) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (absl::string_view(type.field(i)->json_name()) == name) return type.field(i);
  }
  return nullptr;
}

// Equal messages, maps included, give equal bytes.
void AddBytes(const Message& message, PodSignature& signature) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  signature.Add(absl::string_view(bytes));
}

// The rest of a path below `message`: the value of its field, by a message that has nothing else.
void AddField(const Message& message, absl::Span<const absl::string_view> path,
              PodSignature& signature) {
  if (path.empty()) return AddBytes(message, signature);
  const FieldDescriptor* const field = FindByJsonName(*message.GetDescriptor(), path[0]);
  if (field == nullptr) return;  // CheckPodField() found it
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (path.size() > 1) {
    signature.Add(int64_t{reflection.HasField(message, field)});
    return AddField(reflection.GetMessage(message, field), path.subspan(1), signature);
  }
  const std::unique_ptr<Message> alone(message.New());
  std::vector<const FieldDescriptor*> others;
  alone->CopyFrom(message);
  reflection.ListFields(*alone, &others);
  for (const FieldDescriptor* const other : others) {
    if (other != field) reflection.ClearField(alone.get(), other);
  }
  reflection.MutableUnknownFields(alone.get())->Clear();
  AddBytes(*alone, signature);
}

bool IsOfSpec(absl::string_view field) {
  return field == "spec" || absl::StartsWith(field, "spec.");
}

// CheckPodField() keeps out what pods of one shape do not share.
void AddSpecField(const std::string& field, const PodInfo& pod, PodSignature& signature) {
  if (field == "spec") return signature.Add(absl::string_view(pod.packed()->shape()->bytes()));
  const std::vector<absl::string_view> path = absl::StrSplit(field, '.');
  AddField(pod.spec(), absl::MakeConstSpan(path).subspan(1), signature);
}

absl::optional<absl::string_view> AnnotationOf(absl::string_view field) {
  if (!absl::ConsumePrefix(&field, "metadata.annotations[") || !absl::ConsumeSuffix(&field, "]") ||
      field.empty()) {
    return absl::nullopt;
  }
  return field;
}

void AddOwnField(const std::string& field, const PodInfo& pod, PodSignature& signature) {
  if (field == "metadata.namespace") return signature.Add(pod.namespace_name().view());
  if (field == "metadata.labels") {
    for (const auto& [key, value] : pod.labels().entries()) {
      signature.Add(key.view());
      signature.Add(value.view());
    }
    return signature.Add(static_cast<int64_t>(pod.labels().size()));
  }
  const absl::optional<absl::string_view> key = AnnotationOf(field);
  const std::optional<absl::string_view> value = pod.annotation(key.value_or(""));
  signature.Add(int64_t{value.has_value()});
  signature.Add(value.value_or(""));
}

}  // namespace

absl::Status CheckPodField(const std::string& field) {
  if (field == "spec" || field == "metadata.labels" || field == "metadata.namespace" ||
      AnnotationOf(field).has_value()) {
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> path = absl::StrSplit(field, '.');
  const google::protobuf::Descriptor* type = api::PodSpec::descriptor();
  bool good = path.size() > 1 && path[0] == "spec";
  for (size_t i = 1; good && i < path.size(); ++i) {
    const FieldDescriptor* const found = type == nullptr ? nullptr : FindByJsonName(*type, path[i]);
    good = found != nullptr;
    if (i == 1) {
      for (const absl::string_view own : kOwnFields) good = good && path[1] != own;
    }
    type = good && !found->is_repeated() ? found->message_type() : nullptr;
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "signature: \"", field,
      "\" cannot be signed; spec, fields below it, metadata.labels, metadata.namespace and "
      "metadata.annotations[KEY] can"));
}

PodFieldSigner::PodFieldSigner(const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    (IsOfSpec(field) ? spec_fields_ : own_fields_).push_back(field);
  }
}

std::string PodFieldSigner::Sign(const PodInfo& pod) {
  PodSignature signature;
  if (!spec_fields_.empty()) {
    if (shape_ != pod.packed()->shape()) {
      PodSignature of_shape;
      for (const std::string& field : spec_fields_) AddSpecField(field, pod, of_shape);
      shape_ = pod.packed()->shape();
      bytes_of_shape_ = of_shape.bytes();
    }
    signature.Add(absl::string_view(bytes_of_shape_));
  }
  for (const std::string& field : own_fields_) AddOwnField(field, pod, signature);
  return signature.bytes();
}

}  // namespace berth
