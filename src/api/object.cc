// SPDX-License-Identifier: Apache-2.0
// What every object has: namespace, name and uid, taken from the metadata of its message.
#include "berth/api/object.h"

#include "absl/strings/str_cat.h"
#include "api/object_meta.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/registered_object.pb.h"

namespace berth {

namespace {

IdentityPtr Identify(Kind kind, const google::protobuf::Message& message) {
  const api::ObjectMeta& meta = ObjectMetaOf(kind, message);
  return std::make_shared<const Identity>(kind, meta.namespace_(), meta.name(), meta.uid());
}

}  // namespace

Object::Object(Kind kind, std::shared_ptr<const google::protobuf::Message> message,
               SourceLocation where)
    : where_(where), message_(std::move(message)) {
  BERTH_CHECK(message_ != nullptr);
  identity_ = Identify(kind, *message_);
}

Object::Object(std::shared_ptr<const PackedPod> pod, SourceLocation where)
    : where_(where), identity_(pod->identity()), packed_(std::move(pod)) {}

const google::protobuf::Message& Object::message() const {
  if (packed_ != nullptr) return packed_->message();
  return *message_;
}

std::shared_ptr<const google::protobuf::Message> Object::shared_message() const {
  return packed_ != nullptr ? packed_->Unpack() : message_;
}

std::shared_ptr<const PackedPod> Object::packed() const {
  if (packed_ != nullptr) return packed_;
  return PackedPod::Pack(As<api::Pod>());
}

const std::string& Object::json() const {
  BERTH_CHECK(IsRegisteredKind(kind())) << ToString() << " has a message of its own";
  return static_cast<const api::RegisteredObject&>(message()).berth_json();
}

std::string Object::ToString() const { return absl::StrCat(KindName(kind()), " ", key()); }

}  // namespace berth
