// SPDX-License-Identifier: Apache-2.0
// What becomes of a gang that started and lost members: said in annotations of its PodGroup, or of
// its pods. No other scheduler has these.
#include "absl/strings/str_cat.h"
#include "plugins/coscheduling/gang_settings.h"

namespace berth {
namespace {

constexpr absl::string_view kStaleness = "scheduling.berth.dev/staleness-grace-period";
constexpr absl::string_view kBindFailure = "scheduling.berth.dev/bind-failure-policy";

}  // namespace

FindText AnnotationsOf(const PodInfo& pod) {
  return [&pod](absl::string_view key) { return pod.annotation(key); };
}

FindText AnnotationsOf(const api::ObjectMeta& meta) {
  return [&meta](absl::string_view key) -> std::optional<absl::string_view> {
    const auto found = meta.annotations().find(std::string(key));
    if (found == meta.annotations().end()) return std::nullopt;
    return found->second;
  };
}

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

void DefineLifecycle(const api::ObjectMeta* object, absl::Span<const PodInfo* const> pods,
                     GroupDefinition& definition) {
  GangSettings settings, of_pods;
  if (object != nullptr) ReadLifecycleSettings(AnnotationsOf(*object), settings);
  for (const PodInfo* const pod : pods) {
    GangSettings of_pod;
    ReadLifecycleSettings(AnnotationsOf(*pod), of_pod);
    of_pods.Add(of_pod);
  }
  if (!settings.stale_after.has_value()) settings.stale_after = of_pods.stale_after;
  if (!settings.bind_failure_policy.has_value()) {
    settings.bind_failure_policy = of_pods.bind_failure_policy;
  }
  definition.stale_after = settings.stale_after;
  definition.spec.bind_failure_policy =
      settings.bind_failure_policy.value_or(BindFailurePolicy::kRunInPart);
  for (const GangSettings* const from : {&settings, &of_pods}) {
    definition.notes.insert(definition.notes.end(), from->illegal.begin(), from->illegal.end());
  }
}

void DefineLifecycle(const api::ObjectMeta& object, const GroupMembers* members,
                     GroupDefinition& definition) {
  std::vector<const PodInfo*> pods;
  if (members != nullptr) {
    for (const MemberKind& kind : members->kinds()) pods.push_back(kind.pod.get());
  }
  DefineLifecycle(&object, pods, definition);
}

void AppendLifecycleWords(const FindText& annotation, std::string& text) {
  for (const absl::string_view key : {kStaleness, kBindFailure}) {
    if (const auto value = annotation(key)) absl::StrAppend(&text, "\n", key, ": ", *value);
  }
}

}  // namespace berth
