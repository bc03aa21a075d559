// SPDX-License-Identifier: Apache-2.0
// Implementation of list_frames.h.
#include "kubernetes/list_frames.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/watch_frames.h"

namespace berth {
namespace {

constexpr absl::string_view kMagic("k8s\0", 4);
constexpr size_t kMaxItemBytes = WatchFrames::kMaxFrameBytes;
constexpr int kMaxVarintBytes = 10;

// The beginning of a field: what it is, and how long all of it is.
struct FieldHead {
  int number = 0;
  bool has_length = false;
  size_t head_bytes = 0, value_bytes = 0;
};
enum class Found : uint8_t { kYes, kNotComplete, kBroken };

Found ReadVarint(absl::string_view bytes, size_t& at, uint64_t& value) {
  value = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    if (at >= bytes.size()) return Found::kNotComplete;
    const auto byte = static_cast<uint8_t>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return Found::kYes;
  }
  return Found::kBroken;
}

Found ReadHead(absl::string_view bytes, FieldHead& head) {
  size_t at = 0;
  uint64_t tag = 0, value = 0;
  if (const Found found = ReadVarint(bytes, at, tag); found != Found::kYes) return found;
  if (tag >> 3 == 0 || tag >> 32 != 0) return Found::kBroken;
  head.number = static_cast<int>(tag >> 3);
  head.head_bytes = at;
  switch (tag & 7) {
    case 0: {
      const Found found = ReadVarint(bytes, at, value);
      head.value_bytes = at - head.head_bytes;
      return found;
    }
    case 1:
      head.value_bytes = 8;
      return Found::kYes;
    case 2: {
      const Found found = ReadVarint(bytes, at, value);
      head.has_length = true;
      head.head_bytes = at;
      head.value_bytes = value;
      return found;
    }
    case 5:
      head.value_bytes = 4;
      return Found::kYes;
    default:
      return Found::kBroken;  // groups are not used
  }
}

absl::Status NoList(absl::string_view why) {
  return absl::DataLossError(absl::StrCat("the answer is no list: ", why));
}

}  // namespace

absl::Status ListFrames::Feed(absl::string_view bytes,
                              absl::FunctionRef<void(absl::string_view item)> take) {
  rest_.append(bytes.data(), bytes.size());
  absl::string_view rest = rest_;
  while (true) {
    const absl::StatusOr<bool> stepped = Step(rest, take);
    if (!stepped.ok()) return stepped.status();
    if (!*stepped) break;
  }
  rest_.erase(0, rest_.size() - rest.size());
  return absl::OkStatus();
}

absl::StatusOr<bool> ListFrames::TakeMagic(absl::string_view& bytes) {
  if (!absl::StartsWith(kMagic, bytes.substr(0, kMagic.size()))) {
    return NoList("it does not begin with k8s");
  }
  if (bytes.size() < kMagic.size()) return false;
  bytes.remove_prefix(kMagic.size());
  place_ = Place::kBeforeList;
  return true;
}

absl::StatusOr<bool> ListFrames::Step(absl::string_view& bytes,
                                      absl::FunctionRef<void(absl::string_view item)> take) {
  if (place_ == Place::kStart) return TakeMagic(bytes);
  if (place_ == Place::kInList && left_ == 0) {
    place_ = Place::kBehindList;
    return true;
  }
  FieldHead head;
  if (bytes.empty()) return false;
  switch (ReadHead(bytes, head)) {
    case Found::kBroken:
      return NoList("a field of it is broken");
    case Found::kNotComplete:
      return false;
    case Found::kYes:
      break;
  }
  if (place_ == Place::kBeforeList && head.has_length &&
      head.number == kubernetes_wire::Unknown::kRawFieldNumber) {
    bytes.remove_prefix(head.head_bytes);
    left_ = head.value_bytes;
    place_ = Place::kInList;
    return true;
  }
  if (head.value_bytes > kMaxItemBytes) {
    return NoList(absl::StrCat("a part of it is longer than ", kMaxItemBytes, " bytes"));
  }
  const size_t size = head.head_bytes + head.value_bytes;
  if (place_ == Place::kInList && size > left_) return NoList("an item is longer than the list");
  if (bytes.size() < size) return false;
  const absl::string_view value = bytes.substr(head.head_bytes, head.value_bytes);
  bytes.remove_prefix(size);
  if (place_ != Place::kInList) {
    const bool has_encoding = head.number == kubernetes_wire::Unknown::kContentEncodingFieldNumber;
    if (has_encoding && !value.empty()) return NoList("it is compressed");
    return true;
  }
  left_ -= size;
  if (!head.has_length) return true;
  if (head.number == kubernetes_wire::AnyList::kItemsFieldNumber) {
    take(value);
  } else if (head.number == kubernetes_wire::AnyList::kMetadataFieldNumber) {
    absl::Status read = ReadMetadata(value);
    if (!read.ok()) return read;
  }
  return true;
}

absl::Status ListFrames::ReadMetadata(absl::string_view bytes) {
  kubernetes_wire::ListMeta meta;
  if (!meta.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return NoList("its metadata are broken");
  }
  resource_version_ = meta.resource_version();
  continue_ = meta.continue_();
  return absl::OkStatus();
}

}  // namespace berth
