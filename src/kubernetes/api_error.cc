// SPDX-License-Identifier: Apache-2.0
// Implementation of api_error.h.
#include "kubernetes/api_error.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/envelope.h"

namespace berth {
namespace {

constexpr char kPayload[] = "berth.dev/api-error";
constexpr absl::Duration kLongestRetryAfter = absl::Minutes(2);
constexpr size_t kMaxText = 512;  // of a body that is no Status

absl::StatusCode CodeOf(const ApiError& error) {
  switch (error.code) {
    case 400:
    case 422:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 405:
    case 406:
    case 415:
      return absl::StatusCode::kUnimplemented;
    case 409:
      return error.reason == "AlreadyExists" ? absl::StatusCode::kAlreadyExists
                                             : absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 412:
      return absl::StatusCode::kFailedPrecondition;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    default:
      // A server that failed may have done it.
      return error.code >= 500 ? absl::StatusCode::kUnavailable : absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status ApiError::ToStatus() const {
  absl::Status status(CodeOf(*this),
                      absl::StrCat(reason.empty() ? absl::StrCat("HTTP ", code) : reason,
                                   message.empty() ? "" : ": ", message));
  const std::string payload =
      absl::StrCat(code, " ", retry_after ? absl::ToInt64Milliseconds(*retry_after) : -1, " ",
                   reason, "\n", message);
  // By a view: newer clang names the constructor from a string otherwise than the library's
  // compiler.
  status.SetPayload(kPayload, absl::Cord(absl::string_view(payload)));
  return status;
}

std::optional<ApiError> ApiError::Of(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('\n', 1));
  const std::vector<absl::string_view> head = absl::StrSplit(parts.first, absl::MaxSplits(' ', 2));
  ApiError error;
  int64_t milliseconds = -1;
  if (head.size() != 3 || !absl::SimpleAtoi(head[0], &error.code) ||
      !absl::SimpleAtoi(head[1], &milliseconds)) {
    return std::nullopt;
  }
  error.reason = std::string(head[2]);
  error.message = std::string(parts.second);
  if (milliseconds >= 0) error.retry_after = absl::Milliseconds(milliseconds);
  return error;
}

std::optional<absl::Duration> RetryAfter(int64_t seconds) {
  if (seconds <= 0) return std::nullopt;
  return std::min(absl::Seconds(seconds), kLongestRetryAfter);
}

ApiError ToApiError(const kubernetes_wire::Status& status) {
  ApiError error;
  error.code = status.code();
  error.reason = status.reason();
  error.message = status.message();
  error.retry_after = RetryAfter(status.details().retry_after_seconds());
  return error;
}

ApiError ToApiError(Value status) {
  ApiError error;
  error.code = static_cast<int>(status.Find("code").AsInt64().value_or(0));
  error.reason = std::string(status.Find("reason").text());
  error.message = std::string(status.Find("message").text());
  error.retry_after =
      RetryAfter(status.Find("details").Find("retryAfterSeconds").AsInt64().value_or(0));
  return error;
}

ApiError ParseApiError(int code, absl::string_view content_type, absl::string_view body) {
  ApiError error;
  if (IsProtobuf(content_type)) {
    const absl::StatusOr<Enveloped> opened = OpenEnvelope(body);
    kubernetes_wire::Status status;
    if (opened.ok() && opened->kind == "Status" && status.ParseFromString(opened->raw)) {
      error = ToApiError(status);
    }
  } else if (absl::StartsWith(content_type, kJsonType)) {
    Problems problems;
    const std::vector<Document> documents = ReadDocuments(body, "", problems);
    if (problems.ok() && documents.size() == 1 &&
        documents[0].root().Find("kind").text() == "Status") {
      error = ToApiError(documents[0].root());
    }
  } else {
    error.message = std::string(absl::StripAsciiWhitespace(body.substr(0, kMaxText)));
  }
  error.code = code;
  return error;
}

}  // namespace berth
