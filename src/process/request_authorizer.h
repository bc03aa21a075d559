// SPDX-License-Identifier: Apache-2.0
// Who sends a request to the secure port, and whether that user may: delegated to an API server, as
// kube-scheduler v1.35 does.
#ifndef BERTH_SRC_PROCESS_REQUEST_AUTHORIZER_H_
#define BERTH_SRC_PROCESS_REQUEST_AUTHORIZER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kubernetes/api_client.h"
#include "process/http.h"

namespace berth {

// The defaults are kube-scheduler's. A client for this: no deadline of its own, qps 200, burst 400,
// because its rate limits how many users can be distinguished.
struct RequestAuthorizerOptions {
  // --authentication-kubeconfig: TokenReviews, and the ConfigMap that names the authority of client
  // certificates. Null: every request without a certificate is anonymous, whatever its token.
  ApiClient* authentication = nullptr;
  // --authorization-kubeconfig: SubjectAccessReviews. Null: only members of system:masters, and
  // only `always_allow_paths`. Both must be there as long as requests are authorized.
  ApiClient* authorization = nullptr;
  std::string client_ca_file;  // --client-ca-file: in place of the ConfigMap's; followed
  // --authentication-skip-lookup, --authentication-tolerate-lookup-failure
  bool skip_lookup = false;
  bool tolerate_lookup_failure = true;
  // Anyone who is authenticated, or anonymous, may see these. "/healthz/*" is all that begins so.
  std::vector<std::string> always_allow_paths = {"/healthz", "/readyz", "/livez"};
  absl::Duration token_cache_life = absl::Seconds(10);
  absl::Duration allowed_cache_life = absl::Seconds(10);
  absl::Duration denied_cache_life = absl::Seconds(10);
  absl::Duration timeout = absl::Seconds(10);                 // of one review or lookup
  absl::Duration lookup_interval = absl::Minutes(1);          // of the ConfigMap
  absl::Duration failed_lookup_interval = absl::Seconds(10);  // the next one after a failure
  // For people. Called on any thread.
  std::function<void(absl::string_view text)> warn = [](absl::string_view) {};
};

// Needs `create` of tokenreviews.authentication.k8s.io and
// subjectaccessreviews.authorization.k8s.io (ClusterRole system:auth-delegator), and `get` of the
// ConfigMap extension-apiserver-authentication in kube-system (Role
// extension-apiserver-authentication-reader).
class RequestAuthorizer {
 public:
  // Looks the client authority up and waits for it, at most `timeout`. Fails if it cannot be had
  // and that is not tolerated, or if client_ca_file cannot be read.
  static absl::StatusOr<std::unique_ptr<RequestAuthorizer>> Create(
      RequestAuthorizerOptions options);
  ~RequestAuthorizer();

  // The refusal is 401, 403 or, if a review failed, 500, as the API machinery words them. Threads:
  // any. Valid as long as the clients are, also when this is gone.
  AuthorizeRequest Check() const;

 private:
  class State;
  explicit RequestAuthorizer(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_REQUEST_AUTHORIZER_H_
