// SPDX-License-Identifier: Apache-2.0
// Metadata and status of a message of any kind, as an API server writes them.
#ifndef BERTH_SRC_CLUSTER_OBJECT_PARTS_H_
#define BERTH_SRC_CLUSTER_OBJECT_PARTS_H_

#include <memory>

#include "berth/api/meta_v1.pb.h"
#include "berth/api/object_update.h"
#include "google/protobuf/message.h"

namespace berth {

const api::ObjectMeta& MetadataOf(const google::protobuf::Message& message);
api::ObjectMeta& MutableMetadataOf(google::protobuf::Message& message);

// Gives `to` the status that `from` has, or none. Both are of one type.
void CopyStatus(const google::protobuf::Message& from, google::protobuf::Message& to);

std::shared_ptr<google::protobuf::Message> CopyOf(const google::protobuf::Message& message);

// `current`, with the part of `message` that is named. Both are of one type.
std::shared_ptr<google::protobuf::Message> WithPart(const google::protobuf::Message& current,
                                                    const google::protobuf::Message& message,
                                                    ObjectUpdate::Part part);

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_OBJECT_PARTS_H_
