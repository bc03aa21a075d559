// SPDX-License-Identifier: Apache-2.0
// Koordinator's annotations, as pkg/scheduler/plugins/coscheduling/core/gang.go (v1.6) reads them.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "berth/api/value.h"
#include "plugins/coscheduling/gang_settings.h"

namespace berth {
namespace {

constexpr absl::string_view kGangName = "gang.scheduling.koordinator.sh/name";
constexpr absl::string_view kGangMinAvailable = "gang.scheduling.koordinator.sh/min-available";
constexpr absl::string_view kTotalNumber = "gang.scheduling.koordinator.sh/total-number";
constexpr absl::string_view kGangMode = "gang.scheduling.koordinator.sh/mode";
constexpr absl::string_view kMatchPolicy = "gang.scheduling.koordinator.sh/match-policy";
constexpr absl::string_view kOldMatchPolicy = "pod-group.scheduling.sigs.k8s.io/match-policy";
constexpr absl::string_view kWaitingTime = "gang.scheduling.koordinator.sh/waiting-time";
constexpr absl::string_view kGangGroups = "gang.scheduling.koordinator.sh/groups";

template <class T>
void TakeStricter(std::optional<T>& mine, const std::optional<T>& other, bool other_is_stricter) {
  if (other.has_value() && (!mine.has_value() || other_is_stricter)) mine = other;
}

// Which of two policies lets fewer pods start.
int Strictness(MatchPolicy policy) {
  switch (policy) {
    case MatchPolicy::kOnceSatisfied:
      return 0;
    case MatchPolicy::kWaitingAndRunning:
      return 1;
    case MatchPolicy::kOnlyWaiting:
      return 2;
  }
  return 0;
}

}  // namespace

void GangSettings::Add(const GangSettings& other) {
  TakeStricter(min_member, other.min_member, other.min_member > min_member);
  TakeStricter(total_members, other.total_members, other.total_members > total_members);
  TakeStricter(mode, other.mode, other.mode == GangMode::kStrict);
  TakeStricter(match_policy, other.match_policy,
               match_policy.has_value() && other.match_policy.has_value() &&
                   Strictness(*other.match_policy) > Strictness(*match_policy));
  TakeStricter(waiting_time, other.waiting_time, other.waiting_time < waiting_time);
  TakeStricter(stale_after, other.stale_after, other.stale_after < stale_after);
  TakeStricter(bind_failure_policy, other.bind_failure_policy,
               other.bind_failure_policy == BindFailurePolicy::kGiveUp);
  for (const std::string& mark : other.illegal) {
    if (std::find(illegal.begin(), illegal.end(), mark) == illegal.end()) illegal.push_back(mark);
  }
}

std::optional<int> ReadCount(absl::string_view key, absl::string_view text,
                             GangSettings& settings) {
  int count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1) return count;
  settings.illegal.push_back(absl::StrCat(key, ": \"", text, "\" is no number of pods"));
  return std::nullopt;
}

std::optional<absl::string_view> KoordinatorGangName(const FindText& annotation) {
  const std::optional<absl::string_view> name = annotation(kGangName);
  return name.has_value() && !name->empty() ? name : std::nullopt;
}

GangSettings ReadKoordinatorSettings(const FindText& annotation) {
  GangSettings settings;
  const auto illegal = [&](absl::string_view key, absl::string_view text, absl::string_view legal) {
    settings.illegal.push_back(absl::StrCat(key, ": \"", text, "\" is not ", legal));
  };
  if (const auto text = annotation(kGangMinAvailable)) {
    settings.min_member = ReadCount(kGangMinAvailable, *text, settings);
  }
  if (const auto text = annotation(kTotalNumber)) {
    settings.total_members = ReadCount(kTotalNumber, *text, settings);
  }
  if (const auto text = annotation(kGangMode)) {
    if (*text == "Strict") {
      settings.mode = GangMode::kStrict;
    } else if (*text == "NonStrict") {
      settings.mode = GangMode::kNonStrict;
    } else {
      illegal(kGangMode, *text, "Strict or NonStrict");
    }
  }
  absl::string_view policy_key = kMatchPolicy;
  std::optional<absl::string_view> policy = annotation(policy_key);
  if (!policy.has_value()) policy = annotation(policy_key = kOldMatchPolicy);
  if (policy.has_value()) {
    if (*policy == "only-waiting") {
      settings.match_policy = MatchPolicy::kOnlyWaiting;
    } else if (*policy == "waiting-and-running") {
      settings.match_policy = MatchPolicy::kWaitingAndRunning;
    } else if (*policy == "once-satisfied") {
      settings.match_policy = MatchPolicy::kOnceSatisfied;
    } else {
      illegal(policy_key, *policy, "only-waiting, waiting-and-running or once-satisfied");
    }
  }
  if (const auto text = annotation(kWaitingTime)) {
    absl::Duration time;
    if (absl::ParseDuration(*text, &time) && time > absl::ZeroDuration() &&
        time != absl::InfiniteDuration()) {
      settings.waiting_time = time;
    } else {
      illegal(kWaitingTime, *text, "a time, such as 30s");
    }
  }
  return settings;
}

void AppendKoordinatorWords(const FindText& annotation, std::string& text) {
  for (const absl::string_view key :
       {kGangMinAvailable, kTotalNumber, kGangMode, kMatchPolicy, kOldMatchPolicy, kWaitingTime}) {
    if (const auto value = annotation(key)) absl::StrAppend(&text, "\n", key, ": ", *value);
  }
}

std::vector<std::string> ReadGangGroups(const FindText& annotation) {
  std::vector<std::string> gangs;
  const std::optional<absl::string_view> text = annotation(kGangGroups);
  if (!text.has_value() || text->empty() || text->front() != '[') return gangs;
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(*text, "", problems);
  if (!problems.empty() || documents.size() != 1) return gangs;
  for (const Value gang : documents.front().root().elements()) {
    const std::optional<absl::string_view> name = gang.AsString();
    if (!name.has_value() || absl::c_count(*name, '/') != 1 || absl::c_linear_search(*name, ',')) {
      return {};
    }
    gangs.emplace_back(*name);
  }
  std::sort(gangs.begin(), gangs.end());
  gangs.erase(std::unique(gangs.begin(), gangs.end()), gangs.end());
  return gangs;
}

}  // namespace berth
