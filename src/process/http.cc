// SPDX-License-Identifier: Apache-2.0
// Implementation of http.h.
#include "process/http.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace berth {
namespace {

// Decodes a query: "+" is a blank. What is no escape is left as it is.
std::string Decoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '%' && i + 2 < text.size() &&
                           absl::ascii_isxdigit(text[i + 1]) && absl::ascii_isxdigit(text[i + 2]);
    if (is_escape) {
      decoded += absl::HexStringToBytes(text.substr(i + 1, 2));
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace

absl::string_view ServerRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? absl::string_view() : absl::string_view(found->second);
}

ServerResponse PlainError(int code, absl::string_view text) {
  return {.code = code, .body = absl::StrCat(text, "\n")};
}

std::vector<std::string> QueryValues(absl::string_view query, absl::string_view name) {
  std::vector<std::string> values;
  for (const absl::string_view parameter : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(parameter, absl::MaxSplits('=', 1));
    if (Decoded(pair.first) == name) values.push_back(Decoded(pair.second));
  }
  return values;
}

ServerResponse Endpoints::Answer(const ServerRequest& request) const {
  const auto found = handlers_.find(request.path);
  if (found == handlers_.end()) return PlainError(404, "404 page not found");
  if (request.method != "GET" && request.method != "HEAD") {
    return PlainError(405, "Method Not Allowed");
  }
  return found->second(request);
}

}  // namespace berth
