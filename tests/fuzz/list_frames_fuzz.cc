// SPDX-License-Identifier: Apache-2.0
// The list of an API server in protobuf: however its bytes are cut, the same items come out, or the
// same refusal; and every list that protobuf reads is read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/check.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/envelope.h"
#include "kubernetes/list_frames.h"

namespace {

struct Read {
  std::vector<std::string> items;
  std::string resource_version, continue_token, refusal;
  bool at_end = false;
  friend bool operator==(const Read&, const Read&) = default;
};

// `piece_of` says how long the next piece is, which begins at that place.
template <class PieceOf>
Read Feed(absl::string_view bytes, PieceOf piece_of) {
  berth::ListFrames frames;
  Read read;
  for (size_t at = 0; at < bytes.size() && read.refusal.empty();) {
    const absl::string_view piece = bytes.substr(at, piece_of(at));
    at += piece.size();
    const absl::Status fed =
        frames.Feed(piece, [&](absl::string_view item) { read.items.emplace_back(item); });
    if (!fed.ok()) read.refusal = std::string(fed.message());
  }
  read.resource_version = frames.resource_version();
  read.continue_token = frames.continue_token();
  read.at_end = read.refusal.empty() && frames.AtEnd();
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto all = [size](size_t) { return size; };
  const Read whole = Feed(bytes, all);
  BERTH_CHECK(Feed(bytes, [](size_t) { return 1; }) == whole);
  BERTH_CHECK(Feed(bytes, [](size_t) { return 7; }) == whole);
  BERTH_CHECK(Feed(bytes, [&](size_t at) { return 1 + data[at] % 16; }) == whole);

  const absl::StatusOr<berth::Enveloped> opened = berth::OpenEnvelope(bytes);
  berth::kubernetes_wire::AnyList list;
  if (!opened.ok() || !list.ParseFromString(opened->raw)) return 0;
  list.DiscardUnknownFields();  // groups are not read
  const std::string again =
      berth::Envelope(opened->api_version, opened->kind, list.SerializeAsString());
  const Read read = Feed(again, all);
  BERTH_CHECK(read.refusal.empty()) << read.refusal;
  BERTH_CHECK(read.at_end);
  BERTH_CHECK(
      std::equal(read.items.begin(), read.items.end(), list.items().begin(), list.items().end()));
  BERTH_CHECK(read.resource_version == list.metadata().resource_version());
  BERTH_CHECK(read.continue_token == list.metadata().continue_());
  return 0;
}
