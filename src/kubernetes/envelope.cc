// SPDX-License-Identifier: Apache-2.0
// Implementation of envelope.h.
#include "kubernetes/envelope.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/kubernetes/wire.pb.h"

namespace berth {
namespace {

constexpr absl::string_view kMagic("k8s\0", 4);

}  // namespace

std::string Envelope(absl::string_view api_version, absl::string_view kind, absl::string_view raw) {
  kubernetes_wire::Unknown unknown;
  unknown.mutable_type_meta()->set_api_version(std::string(api_version));
  unknown.mutable_type_meta()->set_kind(std::string(kind));
  unknown.set_raw(std::string(raw));
  return absl::StrCat(kMagic, unknown.SerializeAsString());
}

absl::StatusOr<Enveloped> OpenEnvelope(absl::string_view bytes) {
  if (!absl::ConsumePrefix(&bytes, kMagic)) {
    return absl::InvalidArgumentError("is no Kubernetes protobuf: it does not begin with k8s");
  }
  kubernetes_wire::Unknown unknown;
  if (!unknown.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("is a broken runtime.Unknown");
  }
  if (!unknown.content_encoding().empty() ||
      (!unknown.content_type().empty() && !IsProtobuf(unknown.content_type()))) {
    return absl::InvalidArgumentError(absl::StrCat("is encoded as ", unknown.content_encoding(),
                                                   " ", unknown.content_type(),
                                                   ", which nobody asked for"));
  }
  Enveloped opened;
  opened.api_version = std::move(*unknown.mutable_type_meta()->mutable_api_version());
  opened.kind = std::move(*unknown.mutable_type_meta()->mutable_kind());
  opened.raw = std::move(*unknown.mutable_raw());
  return opened;
}

bool IsProtobuf(absl::string_view content_type) {
  return absl::StartsWith(content_type, kProtobufType);
}

}  // namespace berth
