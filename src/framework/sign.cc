// SPDX-License-Identifier: Apache-2.0
// PodSignature: bytes that are equal only for equal sequences of values.
#include "berth/incremental/sign.h"

#include <cstring>

namespace berth {
namespace {

// The kind of a value and its number: a length, or the value itself.
void AppendNumber(char kind, uint64_t number, std::string& bytes) {
  char encoded[1 + sizeof(number)] = {kind};
  std::memcpy(encoded + 1, &number, sizeof(number));
  bytes.append(encoded, sizeof(encoded));
}

}  // namespace

void PodSignature::Add(absl::string_view value) {
  AppendNumber('s', value.size(), bytes_);
  bytes_.append(value.data(), value.size());
}

void PodSignature::Add(int64_t value) { AppendNumber('i', static_cast<uint64_t>(value), bytes_); }

}  // namespace berth
