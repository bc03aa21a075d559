// SPDX-License-Identifier: Apache-2.0
// Certificates for a test: an authority, a server and a client.
#ifndef BERTH_TESTS_KUBERNETES_TEST_CERTIFICATES_H_
#define BERTH_TESTS_KUBERNETES_TEST_CERTIFICATES_H_

#include <string>

#include "absl/time/time.h"

namespace berth {

struct TestCertificates {
  std::string authority_pem;
  std::string server_pem, server_key_pem;  // of `server_name`, an address or a DNS name
  std::string client_pem, client_key_pem;  // of the common name "client"
};

// `server_name`: "IP:127.0.0.1" or "DNS:kube.test". `life` is that of all certificates, from now
// on.
TestCertificates MakeTestCertificates(const std::string& server_name,
                                      absl::Duration life = absl::Hours(24));

}  // namespace berth

#endif  // BERTH_TESTS_KUBERNETES_TEST_CERTIFICATES_H_
