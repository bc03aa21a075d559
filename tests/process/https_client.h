// SPDX-License-Identifier: Apache-2.0
// A client of the secure port, as Prometheus or a kubelet is one.
#ifndef BERTH_TESTS_PROCESS_HTTPS_CLIENT_H_
#define BERTH_TESTS_PROCESS_HTTPS_CLIENT_H_

#include <map>
#include <string>
#include <vector>

namespace berth {

struct HttpsCall {
  std::string url;
  std::string method = "GET";
  std::string authority_pem;  // empty: the server's certificate is not verified
  std::string client_pem, client_key_pem;
  std::vector<std::string> headers;  // "Authorization: Bearer t"
  std::string body;
  bool only_tls12 = false;
  long timeout_ms = 10000;
};

struct HttpsAnswer {
  int code = 0;  // 0: there was no answer, and `error` says why
  std::string content_type, body, error;
  std::map<std::string, std::string> headers;  // names in lower case
};

HttpsAnswer Fetch(const HttpsCall& call);

}  // namespace berth

#endif  // BERTH_TESTS_PROCESS_HTTPS_CLIENT_H_
