// SPDX-License-Identifier: Apache-2.0
// The message of a kind, and its metadata, without knowing its type.
#ifndef BERTH_SRC_API_OBJECT_META_H_
#define BERTH_SRC_API_OBJECT_META_H_

#include <memory>
#include <optional>

#include "berth/api/kinds.h"
#include "berth/api/meta_v1.pb.h"

namespace berth {

// `message` must be of the type that `kind` names.
const api::ObjectMeta& ObjectMetaOf(Kind kind, const google::protobuf::Message& message);
api::ObjectMeta& MutableObjectMetaOf(Kind kind, google::protobuf::Message& message);

// An empty message of the type that `kind` names.
std::shared_ptr<google::protobuf::Message> NewMessage(Kind kind);

// The kind whose message has this type.
std::optional<Kind> KindOfMessage(const google::protobuf::Message& message);

}  // namespace berth

#endif  // BERTH_SRC_API_OBJECT_META_H_
