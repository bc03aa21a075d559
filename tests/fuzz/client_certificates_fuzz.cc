// SPDX-License-Identifier: Apache-2.0
// Certificates that clients of the secure port show: any chain is verified or refused in settings,
// and nobody becomes a user whose certificate the authority did not sign.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/check.h"
#include "process/client_certificates.h"

namespace {

// Signed, besides itself: "client" (with and without organizations, and below an intermediate
// authority), "server" (for servers), and one without a common name.
constexpr char kAuthority[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfzCCASWgAwIBAgIUVIIT857WkrqvYqObdGZqi19JtCQwCgYIKoZIzj0EAwIw\n"
    "FDESMBAGA1UEAwwJYXV0aG9yaXR5MCAXDTI0MDEwMTAwMDAwMVoYDzIwOTcxMjAz\n"
    "MDAwMDAxWjAUMRIwEAYDVQQDDAlhdXRob3JpdHkwWTATBgcqhkjOPQIBBggqhkjO\n"
    "PQMBBwNCAASV6WAwMVltfs/+AgldkEeY+jIu+910WTvOFBWgg7DjE8y6yCgL97XF\n"
    "y6rYOCeCdHBgVvGF5Cbi+OaFx/9dMg+Eo1MwUTAdBgNVHQ4EFgQUo8Js6ItpqVyY\n"
    "48tZpz0Vq4HSZTMwHwYDVR0jBBgwFoAUo8Js6ItpqVyY48tZpz0Vq4HSZTMwDwYD\n"
    "VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiByqweqVsIZmG7Z0yLscz0D\n"
    "98dWXhfcNflGSyHmWwYegAIhALfex5vGP8ZvJ8QMjbydcGt5KQXBzTaTfL0/U9Ko\n"
    "Ka+Y\n"
    "-----END CERTIFICATE-----\n";

}  // namespace

// A chain: each certificate is its length in two bytes, and DER.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const berth::ClientAuthorities& authorities =
      *new berth::ClientAuthorities(berth::ClientAuthorities::Parse(kAuthority).value());
  absl::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> chain;
  while (rest.size() >= 2 && chain.size() < 8) {
    const size_t length =
        static_cast<size_t>(static_cast<uint8_t>(rest[0])) << 8 | static_cast<uint8_t>(rest[1]);
    rest.remove_prefix(2);
    chain.emplace_back(rest.substr(0, length));
    rest.remove_prefix(std::min(length, rest.size()));
  }
  const absl::StatusOr<berth::UserInfo> user = authorities.Verify(chain);
  if (!user.ok()) {
    BERTH_CHECK(!user.status().message().empty());
    return 0;
  }
  BERTH_CHECK(user->name == "client" || user->name == "authority" || user->name == "intermediate")
      << user->name;
  for (const std::string& group : user->groups) {
    BERTH_CHECK(group == "system:masters" || group == "team") << group;
  }
  return 0;
}
