// SPDX-License-Identifier: Apache-2.0
// Implementation of address.h.
#include "remote/wire/address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace berth {

absl::StatusOr<WireAddress> WireAddress::Parse(absl::string_view text) {
  WireAddress address;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    absl::ConsumePrefix(&rest, "//");
    address.is_unix = true;
    address.path = std::string(rest);
    if (!absl::StartsWith(rest, "/")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", text, "\": name the socket by an absolute path, unix:/run/plugin.sock"));
    }
    if (rest.size() >= sizeof(sockaddr_un::sun_path)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": a socket's path may have ",
                                                     sizeof(sockaddr_un::sun_path) - 1, " bytes"));
    }
    return address;
  }
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(rest.substr(colon + 1), &address.port) || address.port < 0 ||
      address.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no address; write unix:/PATH or HOST:PORT"));
  }
  absl::string_view host = rest.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (host.empty() || (!bracketed && absl::StrContains(host, ":")) ||
      absl::StrContains(host, "/")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text, "\" is no address; write unix:/PATH or HOST:PORT, with IPv6 in [brackets]"));
  }
  address.host = std::string(host);
  return address;
}

bool WireAddress::IsLoopback() const {
  if (is_unix) return false;
  in_addr number = {};
  if (inet_pton(AF_INET, host.c_str(), &number) == 1) return ntohl(number.s_addr) >> 24 == 127;
  return host == "localhost" || host == "::1";
}

std::string WireAddress::ToString() const {
  if (is_unix) return absl::StrCat("unix:", path);
  if (absl::StrContains(host, ":")) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

absl::Status CheckTrust(const WireAddress& address, const TlsFiles& tls) {
  if (!tls.empty() && (tls.ca_file.empty() || tls.cert_file.empty() || tls.key_file.empty())) {
    return absl::InvalidArgumentError("name all of caFile, certFile and keyFile, or none");
  }
  if (address.is_unix) {
    if (tls.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "a Unix socket is protected by its file permissions; leave TLS out");
  }
  if (!tls.empty() || address.IsLoopback()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(address.ToString(),
                   " is not on the loopback interface: give caFile, certFile and "
                   "keyFile for mutual TLS, or use a Unix socket"));
}

}  // namespace berth
