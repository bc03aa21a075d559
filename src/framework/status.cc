// Status: a plugin's verdict.
#include "berth/framework/status.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {
namespace {

std::vector<std::string> OneReason(std::string reason) {
  std::vector<std::string> reasons;
  reasons.push_back(std::move(reason));
  return reasons;
}

}  // namespace

absl::string_view CodeName(Code code) {
  switch (code) {
    case Code::kSuccess:
      return "Success";
    case Code::kError:
      return "Error";
    case Code::kUnschedulable:
      return "Unschedulable";
    case Code::kUnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
    case Code::kWait:
      return "Wait";
    case Code::kSkip:
      return "Skip";
    case Code::kPending:
      return "Pending";
  }
  return "unknown code";  // a plugin may return any number
}

Status Status::Unschedulable(std::string reason) {
  return Status(Code::kUnschedulable, OneReason(std::move(reason)));
}
Status Status::UnschedulableAndUnresolvable(std::string reason) {
  return Status(Code::kUnschedulableAndUnresolvable, OneReason(std::move(reason)));
}
Status Status::Pending(std::string reason) {
  return Status(Code::kPending, OneReason(std::move(reason)));
}
Status Status::Error(std::string message) {
  return Status(Code::kError, OneReason(std::move(message)));
}

bool Status::IsRejected() const {
  return code_ == Code::kUnschedulable || code_ == Code::kUnschedulableAndUnresolvable ||
         code_ == Code::kPending;
}

std::string Status::message() const { return absl::StrJoin(reasons_, ", "); }

std::string Status::ToString() const {
  std::string text(CodeName(code_));
  if (!plugin_.empty()) absl::StrAppend(&text, " by ", plugin());
  if (!reasons_.empty()) absl::StrAppend(&text, ": ", message());
  return text;
}

}  // namespace berth
