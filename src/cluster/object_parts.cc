// SPDX-License-Identifier: Apache-2.0
// Implementation of object_parts.h.
#include "cluster/object_parts.h"

namespace berth {

const api::ObjectMeta& MetadataOf(const google::protobuf::Message& message) {
  const auto* const field = message.GetDescriptor()->FindFieldByName("metadata");
  return static_cast<const api::ObjectMeta&>(message.GetReflection()->GetMessage(message, field));
}

api::ObjectMeta& MutableMetadataOf(google::protobuf::Message& message) {
  const auto* const field = message.GetDescriptor()->FindFieldByName("metadata");
  return static_cast<api::ObjectMeta&>(*message.GetReflection()->MutableMessage(&message, field));
}

void CopyStatus(const google::protobuf::Message& from, google::protobuf::Message& to) {
  const auto* const field = from.GetDescriptor()->FindFieldByName("status");
  if (field == nullptr) return;
  to.GetReflection()->ClearField(&to, field);
  if (!from.GetReflection()->HasField(from, field)) return;
  to.GetReflection()
      ->MutableMessage(&to, field)
      ->CopyFrom(from.GetReflection()->GetMessage(from, field));
}

std::shared_ptr<google::protobuf::Message> CopyOf(const google::protobuf::Message& message) {
  std::shared_ptr<google::protobuf::Message> copy(message.New());
  copy->CopyFrom(message);
  return copy;
}

std::shared_ptr<google::protobuf::Message> WithPart(const google::protobuf::Message& current,
                                                    const google::protobuf::Message& message,
                                                    ObjectUpdate::Part part) {
  const bool status_only = part == ObjectUpdate::Part::kStatus;
  auto updated = CopyOf(status_only ? current : message);
  CopyStatus(status_only ? message : current, *updated);
  return updated;
}

}  // namespace berth
