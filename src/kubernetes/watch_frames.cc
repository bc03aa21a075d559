// SPDX-License-Identifier: Apache-2.0
// Implementation of watch_frames.h.
#include "kubernetes/watch_frames.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr size_t kPrefixBytes = 4;

size_t LengthAt(absl::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kPrefixBytes; ++i) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return length;
}

}  // namespace

absl::Status WatchFrames::Feed(absl::string_view bytes,
                               absl::FunctionRef<absl::Status(absl::string_view frame)> take) {
  // Events mostly come whole: only what is cut is copied.
  std::string joined;
  if (!rest_.empty()) {
    joined = std::move(rest_);
    joined.append(bytes.data(), bytes.size());
    bytes = joined;
  }
  rest_.clear();
  absl::string_view frame;
  while (Next(bytes, frame)) {
    absl::Status taken = take(frame);
    if (!taken.ok()) return taken;
  }
  if (too_long_ || bytes.size() > kMaxFrameBytes) {
    return absl::DataLossError(
        absl::StrCat("an event of the watch is longer than ", kMaxFrameBytes, " bytes"));
  }
  if (bytes.data() == joined.data() && bytes.size() == joined.size()) {
    rest_ = std::move(joined);  // nothing was taken off: no copy
  } else {
    rest_.assign(bytes.data(), bytes.size());
  }
  return absl::OkStatus();
}

bool WatchFrames::Next(absl::string_view& bytes, absl::string_view& frame) {
  if (format_ == WireFormat::kProtobuf) {
    if (bytes.size() < kPrefixBytes) return false;
    const size_t length = LengthAt(bytes);
    too_long_ = length > kMaxFrameBytes;
    if (too_long_ || bytes.size() - kPrefixBytes < length) return false;
    frame = bytes.substr(kPrefixBytes, length);
    bytes.remove_prefix(kPrefixBytes + length);
    return true;
  }
  while (true) {
    const size_t end = bytes.find('\n', searched_);
    if (end == absl::string_view::npos) {
      searched_ = bytes.size();
      return false;
    }
    searched_ = 0;
    frame = absl::StripAsciiWhitespace(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
    if (!frame.empty()) return true;
  }
}

}  // namespace berth
