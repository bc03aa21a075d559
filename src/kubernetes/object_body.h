// SPDX-License-Identifier: Apache-2.0
// Messages and objects as the bodies of requests and answers.
#ifndef BERTH_SRC_KUBERNETES_OBJECT_BODY_H_
#define BERTH_SRC_KUBERNETES_OBJECT_BODY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace berth {

// `message` in protobuf or JSON, whichever `content_type` says. JSON leaves unknown fields out.
std::string EncodeObject(absl::string_view content_type, absl::string_view api_version,
                         absl::string_view kind, const google::protobuf::Message& message);

// The object that an answer is, as the watch would deliver it: see object_reader.h. DataLoss, in
// words, if it is none.
absl::StatusOr<Object> DecodeObject(Kind kind, absl::string_view content_type,
                                    absl::string_view body);

// The objects of a list, or of a page of one; what cannot be used is left out.
struct ObjectList {
  std::vector<Object> objects;
  std::string continue_token;  // of the next page; empty: there is none
};
absl::StatusOr<ObjectList> DecodeList(Kind kind, absl::string_view content_type,
                                      absl::string_view body);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_OBJECT_BODY_H_
