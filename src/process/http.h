// SPDX-License-Identifier: Apache-2.0
// A request to the secure port and its answer, and what answers requests by their paths.
#ifndef BERTH_SRC_PROCESS_HTTP_H_
#define BERTH_SRC_PROCESS_HTTP_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth {

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

struct ServerRequest {
  std::string method = "GET";
  std::string path;                                 // "/readyz", as it was sent
  std::string query;                                // "verbose&exclude=ping", as it was sent
  std::multimap<std::string, std::string> headers;  // names in lower case
  std::vector<std::string> client_certificates;     // DER, not verified; the client's own is first

  // The first header of that name, or "".
  absl::string_view Header(const std::string& name) const;
};

struct ServerResponse {
  int code = 200;
  std::string content_type = kPlainText;
  std::string body;
};

// As Go's http.Error: the text and a line end.
ServerResponse PlainError(int code, absl::string_view text);

// The values of a parameter of a query, decoded. "verbose" has the value "" in "verbose&a=b".
std::vector<std::string> QueryValues(absl::string_view query, absl::string_view name);

// Whether a request may be answered: calls `done` once, on any thread, with a refusal or nothing.
using AuthorizeRequest = std::function<void(
    const ServerRequest& request, std::function<void(std::optional<ServerResponse> refusal)> done)>;

// What there is at the paths of a server. Complete it before the server starts.
class Endpoints {
 public:
  // Called on the server's thread, which serves no other request meanwhile.
  using Handler = std::function<ServerResponse(const ServerRequest&)>;

  // `path` is all of the path: nothing is below it.
  void Add(const std::string& path, Handler handler) { handlers_[path] = std::move(handler); }
  // NotFound as Go's mux; MethodNotAllowed unless it is GET or HEAD.
  ServerResponse Answer(const ServerRequest& request) const;

 private:
  std::map<std::string, Handler, std::less<>> handlers_;
};

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_HTTP_H_
