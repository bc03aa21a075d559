// SPDX-License-Identifier: Apache-2.0
// The message of a kind, and its metadata, without knowing its type.
#ifndef BERTH_SRC_API_OBJECT_META_H_
#define BERTH_SRC_API_OBJECT_META_H_

#include <memory>
#include <optional>

#include "berth/api/decode.h"
#include "berth/api/kinds.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

// `message` must be of the type that `kind` names.
const api::ObjectMeta& ObjectMetaOf(Kind kind, const google::protobuf::Message& message);
api::ObjectMeta& MutableObjectMetaOf(Kind kind, google::protobuf::Message& message);

// An empty message of the type that `kind` names.
std::shared_ptr<google::protobuf::Message> NewMessage(Kind kind);

// DecodeMessage() of a whole object.
bool DecodeObjectMessage(Kind kind, Value value, const DecodeOptions& options,
                         google::protobuf::Message& message, Problems& problems);

// The kind of the list whose message has this type.
std::optional<Kind> KindOfMessage(const google::protobuf::Message& message);

}  // namespace berth

#endif  // BERTH_SRC_API_OBJECT_META_H_
