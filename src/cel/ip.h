// SPDX-License-Identifier: Apache-2.0
// Addresses and networks of the Internet Protocol, as Go's package netip reads them.
#ifndef BERTH_SRC_CEL_IP_H_
#define BERTH_SRC_CEL_IP_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace berth::cel {

// An IPv4 or IPv6 address. Neither zones nor IPv4 addresses in the form of IPv6 are read.
class IpAddress {
 public:
  static std::optional<IpAddress> Parse(absl::string_view text);

  bool is_v4() const { return is_v4_; }
  int bits() const { return is_v4_ ? 32 : 128; }
  // In the form of RFC 5952.
  std::string ToString() const;

  bool IsUnspecified() const;
  bool IsLoopback() const;
  bool IsMulticast() const;
  bool IsLinkLocalMulticast() const;
  bool IsLinkLocalUnicast() const;
  bool IsGlobalUnicast() const;

  // The first `length` bits; zeros behind them. Requires 0 <= length <= bits().
  IpAddress Masked(int length) const;

  friend bool operator==(const IpAddress& a, const IpAddress& b) {
    return a.is_v4_ == b.is_v4_ && a.bytes_ == b.bytes_;
  }

 private:
  bool is_v4_ = true;
  std::array<uint8_t, 16> bytes_{};  // the first four if is_v4_
};

// An address and how many of its bits name a network: "10.1.2.3/8".
struct IpNetwork {
  IpAddress address;
  int length = 0;

  static std::optional<IpNetwork> Parse(absl::string_view text);
  std::string ToString() const;
  IpNetwork Masked() const { return {address.Masked(length), length}; }
  bool Contains(const IpAddress& other) const;
  bool Contains(const IpNetwork& other) const;

  friend bool operator==(const IpNetwork& a, const IpNetwork& b) {
    return a.address == b.address && a.length == b.length;
  }
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_IP_H_
