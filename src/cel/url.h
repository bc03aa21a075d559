// SPDX-License-Identifier: Apache-2.0
// Addresses of resources, as Go's package net/url reads them.
#ifndef BERTH_SRC_CEL_URL_H_
#define BERTH_SRC_CEL_URL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::cel {

struct Url {
  std::string scheme, opaque, user, host, escaped_path, query, fragment;

  // Error: InvalidArgument with the text of net/url. A fragment may follow.
  static absl::StatusOr<Url> Parse(absl::string_view text);

  // The host without its port and without brackets; the port alone.
  absl::string_view hostname() const;
  absl::string_view port() const;
  // Values by their keys, in order of appearance.
  std::vector<std::pair<std::string, std::vector<std::string>>> QueryValues() const;

  friend bool operator==(const Url& a, const Url& b) {
    return a.scheme == b.scheme && a.opaque == b.opaque && a.user == b.user && a.host == b.host &&
           a.escaped_path == b.escaped_path && a.query == b.query && a.fragment == b.fragment;
  }
};

// Whether `text` is an absolute URI or an absolute path: url.ParseRequestURI. Error:
// InvalidArgument.
absl::Status CheckRequestUri(absl::string_view text);

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_URL_H_
