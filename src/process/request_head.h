// SPDX-License-Identifier: Apache-2.0
// The head of an HTTP/1.1 request as Boost.Beast reads it, and what is made of it.
#ifndef BERTH_SRC_PROCESS_REQUEST_HEAD_H_
#define BERTH_SRC_PROCESS_REQUEST_HEAD_H_

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/system/error_code.hpp>
#include <optional>

#include "process/http.h"

namespace berth {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

struct RequestHead {
  ServerRequest request;  // without the certificates of its client
  bool is_head = false;   // it wants an answer without its body
  bool keep_alive = false;
  // What it is answered without being looked at further.
  std::optional<ServerResponse> refusal;
};

// How much a client may send. No body is ever read.
void SetLimits(RequestParser& parser);

// What `parser` has read, which ended with `error`. Absent if that cannot be answered.
std::optional<RequestHead> TakeHead(const RequestParser& parser, boost::system::error_code error);

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_REQUEST_HEAD_H_
