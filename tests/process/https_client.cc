// SPDX-License-Identifier: Apache-2.0
// Implementation of https_client.h, with libcurl.
#include "tests/process/https_client.h"

#include <curl/curl.h>

#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace berth {
namespace {

size_t AppendBody(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

size_t AddHeader(char* data, size_t size, size_t count, void* headers) {
  const absl::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (colon != absl::string_view::npos) {
    (*static_cast<std::map<std::string, std::string>*>(
        headers))[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return size * count;
}

void SetBlob(CURL* curl, CURLoption option, const std::string& pem) {
  if (pem.empty()) return;
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
  curl_easy_setopt(curl, option, &blob);
}

}  // namespace

HttpsAnswer Fetch(const HttpsCall& call) {
  HttpsAnswer answer;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  CURL* const handle = curl.get();
  curl_slist* headers = nullptr;
  for (const std::string& header : call.headers)
    headers = curl_slist_append(headers, header.c_str());
  curl_easy_setopt(handle, CURLOPT_URL, call.url.c_str());
  curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, call.timeout_ms);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  if (call.method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  }
  if (!call.body.empty()) curl_easy_setopt(handle, CURLOPT_COPYPOSTFIELDS, call.body.c_str());
  if (call.only_tls12) {
    curl_easy_setopt(handle, CURLOPT_SSLVERSION,
                     static_cast<long>(CURL_SSLVERSION_TLSv1_2) | CURL_SSLVERSION_MAX_TLSv1_2);
  }
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, call.authority_pem.empty() ? 0L : 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, call.authority_pem.empty() ? 0L : 2L);
  SetBlob(handle, CURLOPT_CAINFO_BLOB, call.authority_pem);
  SetBlob(handle, CURLOPT_SSLCERT_BLOB, call.client_pem);
  SetBlob(handle, CURLOPT_SSLKEY_BLOB, call.client_key_pem);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, AppendBody);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, AddHeader);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &answer.headers);
  const CURLcode result = curl_easy_perform(handle);
  curl_slist_free_all(headers);
  if (result != CURLE_OK) {
    answer.error = curl_easy_strerror(result);
    return answer;
  }
  long code = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  answer.code = static_cast<int>(code);
  answer.content_type = answer.headers["content-type"];
  return answer;
}

}  // namespace berth
