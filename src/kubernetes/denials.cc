// SPDX-License-Identifier: Apache-2.0
// Implementation of denials.h.
#include "kubernetes/denials.h"

#include "absl/strings/str_cat.h"
#include "kubernetes/api_error.h"

namespace berth {
namespace {

// What stands in quotes after `before`; absent if that is not in `text`.
std::optional<absl::string_view> QuotedAfter(absl::string_view before, absl::string_view text) {
  const size_t found = text.find(before);
  if (found == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(found + before.size());
  return text.substr(0, text.find('"'));
}

}  // namespace

// k8s.io/apiserver v0.35 handlers/responsewriters/errors.go forbiddenMessage:
// User "U" cannot VERB resource "RESOURCE" in API group "GROUP" …
std::optional<std::string> MissingRule(const absl::Status& status) {
  const std::optional<ApiError> error = ApiError::Of(status);
  if (!error.has_value() || error->code != 403) return std::nullopt;
  constexpr absl::string_view kCannot = "\" cannot ";
  absl::string_view text = error->message;
  const size_t cannot = text.find(kCannot);
  if (cannot == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(cannot + kCannot.size());
  const absl::string_view verb = text.substr(0, text.find(' '));
  const auto resource = QuotedAfter("resource \"", text);
  const auto group = QuotedAfter("API group \"", text);
  if (!resource.has_value() || !group.has_value()) return std::nullopt;
  return absl::StrCat("{apiGroups: [\"", *group, "\"], resources: [\"", *resource,
                      "\"], verbs: [\"", verb, "\"]}");
}

void Denials::See(const absl::Status& status) {
  const std::optional<std::string> rule = MissingRule(status);
  if (!rule.has_value()) return;
  {
    MutexLock lock(mutex_);
    if (!said_.insert(*rule).second) return;
  }
  warn_(absl::StrCat("RBAC lacks the rule ", *rule, " for this scheduler: ", status.message()));
}

}  // namespace berth
