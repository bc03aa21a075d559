// SPDX-License-Identifier: Apache-2.0
// The protobuf form of Kubernetes objects: "k8s\0" and a runtime.Unknown that holds the message.
#ifndef BERTH_SRC_KUBERNETES_ENVELOPE_H_
#define BERTH_SRC_KUBERNETES_ENVELOPE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth {

inline constexpr char kProtobufType[] = "application/vnd.kubernetes.protobuf";
inline constexpr char kJsonType[] = "application/json";

struct Enveloped {
  std::string api_version, kind;
  std::string raw;
};

std::string Envelope(absl::string_view api_version, absl::string_view kind, absl::string_view raw);
// InvalidArgument if `bytes` is none, or is of a content type or encoding that is not the plain
// one.
absl::StatusOr<Enveloped> OpenEnvelope(absl::string_view bytes);

// Whether a Content-Type header says protobuf, whatever its parameters.
bool IsProtobuf(absl::string_view content_type);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_ENVELOPE_H_
