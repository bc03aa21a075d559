// SPDX-License-Identifier: Apache-2.0
// Implementation of request_head.h.
#include "process/request_head.h"

#include <boost/beast/http/error.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace berth {
namespace {

constexpr uint32_t kMaxHeaderBytes = 16 << 10;

absl::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

void SetLimits(RequestParser& parser) {
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(std::numeric_limits<uint64_t>::max());
}

std::optional<RequestHead> TakeHead(const RequestParser& parser, boost::system::error_code error) {
  using Error = boost::beast::http::error;
  if (error == Error::end_of_stream || error == Error::partial_message) return std::nullopt;
  RequestHead taken;
  if (error == Error::header_limit || error == Error::buffer_overflow) {
    taken.refusal = PlainError(431, "431 Request Header Fields Too Large");
    return taken;
  }
  if (error && error.category() == make_error_code(Error::bad_target).category()) {
    taken.refusal = PlainError(400, "400 Bad Request");
    return taken;
  }
  if (error) return std::nullopt;

  const auto& head = parser.get();
  // What follows a body is not looked for.
  const bool has_body =
      parser.chunked() || parser.content_length().value_or(0) > 0 || head.count("expect") > 0;
  taken.keep_alive = head.keep_alive() && !has_body;
  taken.is_head = head.method() == boost::beast::http::verb::head;
  ServerRequest& request = taken.request;
  request.method = std::string(View(head.method_string()));
  const absl::string_view target = View(head.target());
  const size_t question = target.find('?');
  request.path = std::string(target.substr(0, question));
  if (question != absl::string_view::npos) request.query = std::string(target.substr(question + 1));
  for (const auto& field : head) {
    request.headers.emplace(absl::AsciiStrToLower(View(field.name_string())),
                            std::string(View(field.value())));
  }
  if (!absl::StartsWith(request.path, "/")) taken.refusal = PlainError(400, "400 Bad Request");
  return taken;
}

}  // namespace berth
