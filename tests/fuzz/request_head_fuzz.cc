// SPDX-License-Identifier: Apache-2.0
// What clients of the secure port send before anybody knows who they are: however the bytes of a
// request's head are cut, it is the same request, or refused alike.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/ascii.h"
#include "berth/check.h"
#include "process/request_head.h"

namespace {

using berth::RequestHead;

// What Beast counts of a longer head depends on its pieces.
constexpr size_t kSurelyWithinLimits = 16 << 10;

// As boost::beast::http::async_read_header(), from bytes that come in pieces.
std::optional<RequestHead> Read(absl::string_view bytes, size_t piece) {
  berth::RequestParser parser;
  berth::SetLimits(parser);
  boost::system::error_code error;
  size_t used = 0, there = 0;
  while (!parser.is_header_done()) {
    if (there == bytes.size()) {
      if (parser.got_some()) {
        parser.put_eof(error);
      } else {
        error = boost::beast::http::error::end_of_stream;
      }
      break;
    }
    there = std::min(bytes.size(), there + piece);
    used += parser.put(boost::asio::buffer(bytes.data() + used, there - used), error);
    BERTH_CHECK(used <= there);
    if (error == boost::beast::http::error::need_more) error = {};
    if (error) break;
  }
  return berth::TakeHead(parser, error);
}

auto Content(const RequestHead& head) {
  return std::tie(head.request.method, head.request.path, head.request.query, head.request.headers,
                  head.is_head, head.keep_alive);
}

// Beast finds some errors only in a head that has come whole: what is refused in settings then is
// closed without any if it comes in pieces.
bool IsSame(const std::optional<RequestHead>& a, const std::optional<RequestHead>& b) {
  const bool is_read = a.has_value() && !a->refusal.has_value();
  if (is_read != (b.has_value() && !b->refusal.has_value())) return false;
  return !is_read || Content(*a) == Content(*b);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  berth::Endpoints endpoints;
  endpoints.Add("/healthz", [](const berth::ServerRequest&) { return berth::ServerResponse(); });
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::optional<RequestHead> head = Read(bytes, size + 1);
  for (const size_t piece : {1, 7}) {
    const std::optional<RequestHead> again = Read(bytes, piece);
    BERTH_CHECK(size > kSurelyWithinLimits || IsSame(again, head)) << piece;
  }
  if (!head.has_value()) return 0;
  if (head->refusal.has_value()) {
    BERTH_CHECK(head->refusal->code == 400 || head->refusal->code == 431);
    return 0;
  }
  const berth::ServerRequest& request = head->request;
  BERTH_CHECK(!request.method.empty());
  BERTH_CHECK(request.path.find('?') == std::string::npos);
  for (const auto& [name, value] : request.headers) {
    BERTH_CHECK(name == absl::AsciiStrToLower(name)) << name;
    // No value can begin a header of its own.
    BERTH_CHECK(value.find_first_of("\r\n") == std::string::npos) << value;
  }
  const int code = endpoints.Answer(request).code;
  BERTH_CHECK(request.path == "/healthz" ? code == 200 || code == 405 : code == 404) << code;
  return 0;
}
