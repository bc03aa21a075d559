// SPDX-License-Identifier: Apache-2.0
// Messages as the Kubernetes API writes them in JSON, with a type of the caller's choice.
#ifndef BERTH_SRC_API_MESSAGE_JSON_H_
#define BERTH_SRC_API_MESSAGE_JSON_H_

#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/decode.h"

namespace google::protobuf {
class Message;
}

namespace berth {

struct TypeMeta {
  absl::string_view api_version, kind;  // empty: neither is written
};

// As ToJson() of berth/api/decode.h, but begins with `type`, whatever Kind the message is of.
std::string ToJson(const google::protobuf::Message& message, const TypeMeta& type,
                   JsonStyle style = JsonStyle::kCompact);

}  // namespace berth

#endif  // BERTH_SRC_API_MESSAGE_JSON_H_
