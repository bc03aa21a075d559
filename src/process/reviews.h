// SPDX-License-Identifier: Apache-2.0
// What an API server is asked about a request, and what it says: TokenReview, SubjectAccessReview
// and the ConfigMap of client authorities, in JSON.
#ifndef BERTH_SRC_PROCESS_REVIEWS_H_
#define BERTH_SRC_PROCESS_REVIEWS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/client_certificates.h"

namespace berth {

inline constexpr char kTokenReviews[] = "/apis/authentication.k8s.io/v1/tokenreviews";
inline constexpr char kSubjectAccessReviews[] =
    "/apis/authorization.k8s.io/v1/subjectaccessreviews";
inline constexpr char kAuthenticationConfigMap[] =
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

std::string TokenReviewBody(absl::string_view token);
// The user; absent if no user has the token. Otherwise why the server could not tell.
absl::StatusOr<std::optional<UserInfo>> ReadTokenReview(absl::string_view body);

// Whether `user` may `verb` the path. Equal questions have equal texts.
std::string SubjectAccessReviewBody(const UserInfo& user, absl::string_view path,
                                    absl::string_view verb);
struct AccessDecision {
  bool allowed = false;
  std::string reason;
};
absl::StatusOr<AccessDecision> ReadSubjectAccessReview(absl::string_view body);

// The PEM text client-ca-file of the ConfigMap; empty if it names none.
absl::StatusOr<std::string> ReadClientAuthority(absl::string_view body);

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_REVIEWS_H_
