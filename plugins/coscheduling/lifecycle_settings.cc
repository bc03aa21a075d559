// SPDX-License-Identifier: Apache-2.0
// What becomes of a gang that started and lost members: said in annotations of its PodGroup, or of
// its pods if they define it. No other scheduler has these.
#include "absl/strings/str_cat.h"
#include "plugins/coscheduling/gang_settings.h"

namespace berth {
namespace {

constexpr absl::string_view kStaleness = "scheduling.berth.dev/staleness-grace-period";
constexpr absl::string_view kBindFailure = "scheduling.berth.dev/bind-failure-policy";

}  // namespace

void ReadLifecycleSettings(const FindText& annotation, GangSettings& settings) {
  if (const auto text = annotation(kStaleness)) {
    absl::Duration time;
    if (*text == "never") {
      settings.stale_after = absl::InfiniteDuration();
    } else if (absl::ParseDuration(*text, &time) && time >= absl::ZeroDuration()) {
      settings.stale_after = time;
    } else {
      settings.illegal.push_back(
          absl::StrCat(kStaleness, ": \"", *text, "\" is not a time, such as 60s, or never"));
    }
  }
  if (const auto text = annotation(kBindFailure)) {
    if (*text == "RunInPart") {
      settings.bind_failure_policy = BindFailurePolicy::kRunInPart;
    } else if (*text == "GiveUp") {
      settings.bind_failure_policy = BindFailurePolicy::kGiveUp;
    } else {
      settings.illegal.push_back(
          absl::StrCat(kBindFailure, ": \"", *text, "\" is not RunInPart or GiveUp"));
    }
  }
}

void AppendLifecycleWords(const FindText& annotation, std::string& text) {
  for (const absl::string_view key : {kStaleness, kBindFailure}) {
    if (const auto value = annotation(key)) absl::StrAppend(&text, "\n", key, ": ", *value);
  }
}

}  // namespace berth
