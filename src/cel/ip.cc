// SPDX-License-Identifier: Apache-2.0
#include "cel/ip.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace berth::cel {

std::optional<IpAddress> IpAddress::Parse(absl::string_view text) {
  constexpr size_t kLongest = 45;
  if (text.size() > kLongest || absl::StrContains(text, '\0')) return std::nullopt;
  const std::string copy(text);
  IpAddress address;
  if (inet_pton(AF_INET, copy.c_str(), address.bytes_.data()) == 1) return address;
  address.is_v4_ = false;
  if (inet_pton(AF_INET6, copy.c_str(), address.bytes_.data()) != 1) return std::nullopt;
  const auto& bytes = address.bytes_;
  const bool is_mapped =
      std::all_of(bytes.begin(), bytes.begin() + 10, [](int b) { return b == 0; }) &&
      bytes[10] == 0xFF && bytes[11] == 0xFF;
  if (is_mapped) return std::nullopt;
  return address;
}

std::string IpAddress::ToString() const {
  if (is_v4_) {
    return absl::StrCat(int{bytes_[0]}, ".", int{bytes_[1]}, ".", int{bytes_[2]}, ".",
                        int{bytes_[3]});
  }
  int groups[8];
  for (size_t i = 0; i < 8; ++i) groups[i] = bytes_[2 * i] << 8 | bytes_[2 * i + 1];
  // The first of the longest runs of zeros, if it has two or more, is "::".
  int zeros_begin = 8, zeros_end = 8;
  for (int begin = 0; begin < 8; ++begin) {
    int end = begin;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - begin >= 2 && end - begin > zeros_end - zeros_begin) {
      zeros_begin = begin;
      zeros_end = end;
    }
  }
  std::string text;
  for (int i = 0; i < 8;) {
    if (i == zeros_begin) {
      text += "::";
      i = zeros_end;
      continue;
    }
    const bool needs_colon = !text.empty() && text.back() != ':';
    absl::StrAppend(&text, needs_colon ? ":" : "", absl::Hex(groups[i]));
    ++i;
  }
  return text;
}

bool IpAddress::IsUnspecified() const {
  return std::all_of(bytes_.begin(), bytes_.end(), [](int b) { return b == 0; });
}

bool IpAddress::IsLoopback() const {
  if (is_v4_) return bytes_[0] == 127;
  return std::all_of(bytes_.begin(), bytes_.end() - 1, [](int b) { return b == 0; }) &&
         bytes_[15] == 1;
}

bool IpAddress::IsMulticast() const {
  return is_v4_ ? (bytes_[0] & 0xF0) == 0xE0 : bytes_[0] == 0xFF;
}

bool IpAddress::IsLinkLocalMulticast() const {
  if (is_v4_) return bytes_[0] == 224 && bytes_[1] == 0 && bytes_[2] == 0;
  return bytes_[0] == 0xFF && (bytes_[1] & 0x0F) == 2;
}

bool IpAddress::IsLinkLocalUnicast() const {
  if (is_v4_) return bytes_[0] == 169 && bytes_[1] == 254;
  return bytes_[0] == 0xFE && (bytes_[1] & 0xC0) == 0x80;
}

bool IpAddress::IsGlobalUnicast() const {
  const bool is_broadcast =
      is_v4_ && std::all_of(bytes_.begin(), bytes_.begin() + 4, [](int b) { return b == 255; });
  return !is_broadcast && !IsUnspecified() && !IsLoopback() && !IsMulticast() &&
         !IsLinkLocalUnicast();
}

IpAddress IpAddress::Masked(int length) const {
  IpAddress masked = *this;
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(length - 8 * i, 0, 8);
    masked.bytes_[static_cast<size_t>(i)] &= static_cast<uint8_t>(0xFF00 >> kept);
  }
  return masked;
}

std::optional<IpNetwork> IpNetwork::Parse(absl::string_view text) {
  const size_t slash = text.rfind('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  const std::optional<IpAddress> address = IpAddress::Parse(text.substr(0, slash));
  const absl::string_view digits = text.substr(slash + 1);
  const bool is_number = !digits.empty() && digits.size() <= 3 &&
                         std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
                         (digits.size() == 1 || digits[0] != '0');
  int length;
  if (!address || !is_number || !absl::SimpleAtoi(digits, &length)) return std::nullopt;
  if (length > address->bits()) return std::nullopt;
  return IpNetwork{*address, length};
}

std::string IpNetwork::ToString() const { return absl::StrCat(address.ToString(), "/", length); }

bool IpNetwork::Contains(const IpAddress& other) const {
  return other.is_v4() == address.is_v4() && other.Masked(length) == address.Masked(length);
}

bool IpNetwork::Contains(const IpNetwork& other) const {
  return length <= other.length && Contains(other.address);
}

}  // namespace berth::cel
