// SPDX-License-Identifier: Apache-2.0
// Bytes of an API server: watch frames come out the same however the stream is cut; envelopes and
// refusals are read or refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/check.h"
#include "kubernetes/api_error.h"
#include "kubernetes/envelope.h"
#include "kubernetes/watch_frames.h"

namespace {

// The events, and at the end whether the stream was refused.
std::vector<std::string> Frames(berth::WireFormat format, absl::string_view bytes, size_t piece) {
  berth::WatchFrames frames(format);
  std::vector<std::string> taken;
  while (!bytes.empty()) {
    const absl::Status fed = frames.Feed(bytes.substr(0, piece), [&](absl::string_view frame) {
      taken.emplace_back(frame);
      return absl::OkStatus();
    });
    bytes.remove_prefix(std::min(piece, bytes.size()));
    if (!fed.ok()) {
      taken.emplace_back("refused");
      break;
    }
  }
  return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const berth::WireFormat format : {berth::WireFormat::kProtobuf, berth::WireFormat::kJson}) {
    const std::vector<std::string> whole = Frames(format, bytes, size + 1);
    BERTH_CHECK(Frames(format, bytes, 1) == whole);
    BERTH_CHECK(Frames(format, bytes, 7) == whole);
  }
  const absl::StatusOr<berth::Enveloped> opened = berth::OpenEnvelope(bytes);
  if (opened.ok()) {
    const auto again =
        berth::OpenEnvelope(berth::Envelope(opened->api_version, opened->kind, opened->raw));
    BERTH_CHECK(again.ok() && again->raw == opened->raw && again->kind == opened->kind);
  }
  for (const char* const type : {berth::kProtobufType, berth::kJsonType, "text/plain"}) {
    const berth::ApiError error = berth::ParseApiError(500, type, bytes);
    const auto had = berth::ApiError::Of(error.ToStatus());
    BERTH_CHECK(had.has_value() && had->code == 500);
  }
  return 0;
}
