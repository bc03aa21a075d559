// SPDX-License-Identifier: Apache-2.0
// Who a client certificate stands for, by the authorities that may say so.
#ifndef BERTH_SRC_PROCESS_CLIENT_CERTIFICATES_H_
#define BERTH_SRC_PROCESS_CLIENT_CERTIFICATES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

typedef struct x509_store_st X509_STORE;

namespace berth {

// The user of a request, as reviews know it.
struct UserInfo {
  std::string name, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

// Threads: any.
class ClientAuthorities {
 public:
  // The certificates of `pem`; InvalidArgument if there is none, or one is broken.
  static absl::StatusOr<ClientAuthorities> Parse(absl::string_view pem);

  // The user of a chain (DER, the client's own first) that is valid now, for clients: the common
  // name with the organizations as groups. As apiserver's x509.go. Unauthenticated, with why, if
  // it is not; NotFound if there is no common name.
  absl::StatusOr<UserInfo> Verify(absl::Span<const std::string> chain) const;

 private:
  explicit ClientAuthorities(std::shared_ptr<X509_STORE> store) : store_(std::move(store)) {}

  std::shared_ptr<X509_STORE> store_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_CLIENT_CERTIFICATES_H_
