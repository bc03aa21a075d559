// SPDX-License-Identifier: Apache-2.0
// The message of a refusal (403): any text is looked through for the rule that is missing, and of
// what the API server writes the rule is found.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/check.h"
#include "kubernetes/api_error.h"
#include "kubernetes/denials.h"

namespace {

std::optional<std::string> RuleIn(absl::string_view message, int code = 403) {
  return berth::MissingRule(
      berth::ApiError{.code = code, .reason = "Forbidden", .message = std::string(message)}
          .ToStatus());
}

bool IsName(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '/' ||
           c == ':';
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::optional<std::string> rule = RuleIn(text);
  if (rule.has_value()) {
    BERTH_CHECK(text.find("\" cannot ") != absl::string_view::npos) << *rule;
  }
  BERTH_CHECK(!RuleIn(text, 404).has_value());
  for (const char* const type : {"application/vnd.kubernetes.protobuf", "application/json", ""}) {
    berth::MissingRule(berth::ParseApiError(403, type, text).ToStatus());
  }

  // A denial is said once, however often it comes.
  int said = 0;
  berth::Denials denials([&](absl::string_view warning) {
    ++said;
    BERTH_CHECK(!warning.empty());
  });
  const absl::Status status = berth::ApiError{.code = 403, .message = std::string(text)}.ToStatus();
  denials.See(status);
  denials.See(status);
  BERTH_CHECK(said == (rule.has_value() ? 1 : 0));

  const std::vector<absl::string_view> settings = absl::StrSplit(text, ' ');
  if (settings.size() < 4 || !std::all_of(settings.begin(), settings.begin() + 4, IsName)) return 0;
  const std::optional<std::string> found = RuleIn(absl::StrCat(
      settings[2], " is forbidden: User \"", settings[0], "\" cannot ", settings[1], " resource \"",
      settings[2], "\" in API group \"", settings[3], "\" at the cluster scope"));
  BERTH_CHECK(found == absl::StrCat("{apiGroups: [\"", settings[3], "\"], resources: [\"",
                                    settings[2], "\"], verbs: [\"", settings[1], "\"]}"))
      << found.value_or("none");
  return 0;
}
