// SPDX-License-Identifier: Apache-2.0
// The one place that knows the message type of every kind.
#include "api/object_meta.h"

#include "api/json.h"
#include "api/resource_versions.h"
#include "berth/api/apps_v1.pb.h"
#include "berth/api/coordination_v1.pb.h"
#include "berth/api/core_v1.pb.h"
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
#include "berth/check.h"

namespace berth {
namespace {

struct MessageType {
  const google::protobuf::Descriptor* descriptor;
  const api::ObjectMeta& (*meta)(const google::protobuf::Message&);
  api::ObjectMeta& (*mutable_meta)(google::protobuf::Message&);
  std::shared_ptr<google::protobuf::Message> (*make)();
};

template <class T>
MessageType TypeOf() {
  return {
      T::descriptor(),
      [](const google::protobuf::Message& m) -> const api::ObjectMeta& {
        return static_cast<const T&>(m).metadata();
      },
      [](google::protobuf::Message& m) -> api::ObjectMeta& {
        return *static_cast<T&>(m).mutable_metadata();
      },
      []() -> std::shared_ptr<google::protobuf::Message> { return std::make_shared<T>(); },
  };
}

const MessageType& TypeOf(Kind kind) {
  static const MessageType registered = TypeOf<api::RegisteredObject>();
  if (IsRegisteredKind(kind)) return registered;
  static const MessageType types[] = {
#define BERTH_KIND(name, kind, group, version, plural, namespaced) TypeOf<api::name>(),
      BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND
  };
  return types[static_cast<int>(kind)];
}

}  // namespace

const api::ObjectMeta& ObjectMetaOf(Kind kind, const google::protobuf::Message& message) {
  BERTH_DCHECK(message.GetDescriptor() == TypeOf(kind).descriptor);
  return TypeOf(kind).meta(message);
}

api::ObjectMeta& MutableObjectMetaOf(Kind kind, google::protobuf::Message& message) {
  BERTH_DCHECK(message.GetDescriptor() == TypeOf(kind).descriptor);
  return TypeOf(kind).mutable_meta(message);
}

std::shared_ptr<google::protobuf::Message> NewMessage(Kind kind) { return TypeOf(kind).make(); }

std::optional<Kind> KindOfMessage(const google::protobuf::Message& message) {
  for (const Kind kind : AllKinds().first(kKindCount)) {
    if (message.GetDescriptor() == TypeOf(kind).descriptor) return kind;
  }
  return std::nullopt;
}

bool DecodeObjectMessage(Kind kind, Value value, const DecodeOptions& options,
                         google::protobuf::Message& message, Problems& problems) {
  const bool decoded = DecodeMessage(value, options, message, problems);
  if (IsRegisteredKind(kind)) {
    JsonWriter json;
    WriteValue(value, json);
    static_cast<api::RegisteredObject&>(message).set_berth_json(std::string(json.text()));
  }
  ConvertFromBeta(kind, message);
  return decoded;
}

}  // namespace berth
