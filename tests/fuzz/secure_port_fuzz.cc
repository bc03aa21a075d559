// SPDX-License-Identifier: Apache-2.0
// What clients of the secure port send, and what the API server says of them: any bytes are read,
// or refused in settings, and nobody is let in by nonsense.
#include <cstddef>
#include <cstdint>

#include "berth/check.h"
#include "process/client_certificates.h"
#include "process/http.h"
#include "process/reviews.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& value : berth::QueryValues(text, "exclude")) {
    BERTH_CHECK(value.size() <= size);
  }
  const auto user = berth::ReadTokenReview(text);
  if (user.ok() && user->has_value()) {
    BERTH_CHECK(!berth::SubjectAccessReviewBody(**user, text, "get").empty());
  }
  const auto decision = berth::ReadSubjectAccessReview(text);
  if (decision.ok() && decision->allowed) {
    BERTH_CHECK(text.find("allowed") != absl::string_view::npos);
  }
  const absl::StatusOr<std::string> pem = berth::ReadClientAuthority(text);
  if (!pem.ok()) BERTH_CHECK(!pem.status().message().empty());
  const absl::StatusOr<berth::ClientAuthorities> authorities =
      berth::ClientAuthorities::Parse(pem.ok() ? *pem : std::string(text));
  if (authorities.ok()) {
    const std::string certificate(text);
    BERTH_CHECK(!authorities->Verify({&certificate, 1}).ok());  // PEM is no DER
  }
  return 0;
}
