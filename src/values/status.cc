// SPDX-License-Identifier: Apache-2.0
// Status: a plugin's verdict.
#include "berth/framework/status.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {

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

Status Status::Because(Code code, std::string reason) {
  Status status(code);
  status.AddReason(std::move(reason));
  return status;
}

Status Status::Unschedulable(std::string reason) {
  return Because(Code::kUnschedulable, std::move(reason));
}
Status Status::UnschedulableAndUnresolvable(std::string reason) {
  return Because(Code::kUnschedulableAndUnresolvable, std::move(reason));
}
Status Status::Pending(std::string reason) { return Because(Code::kPending, std::move(reason)); }
Status Status::Error(std::string message) { return Because(Code::kError, std::move(message)); }

Status Status::Make(Code code, std::vector<std::string> reasons) {
  Status status(code);
  for (std::string& reason : reasons) status.AddReason(std::move(reason));
  return status;
}

void Status::AddReason(std::string reason) {
  if (reasons_ == nullptr) reasons_ = std::make_unique<Reasons>();
  reasons_->push_back(std::move(reason));
}

void Status::CopyReasons(const Status& other) {
  reasons_ = std::make_unique<Reasons>(*other.reasons_);
}

bool Status::IsRejected() const {
  return code_ == Code::kUnschedulable || code_ == Code::kUnschedulableAndUnresolvable ||
         code_ == Code::kPending;
}

std::string Status::message() const { return absl::StrJoin(reasons(), ", "); }

std::string Status::ToString() const {
  std::string text(CodeName(code_));
  if (!plugin_.empty()) absl::StrAppend(&text, " by ", plugin());
  if (!reasons().empty()) absl::StrAppend(&text, ": ", message());
  return text;
}

}  // namespace berth
