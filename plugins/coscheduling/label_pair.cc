// SPDX-License-Identifier: Apache-2.0
// The labels of the first Coscheduling of scheduler-plugins, before it had PodGroups.
#include "absl/strings/str_cat.h"
#include "plugins/coscheduling/gang_settings.h"

namespace berth {
namespace {

constexpr absl::string_view kPairMinAvailable = "pod-group.scheduling.sigs.k8s.io/min-available";

}  // namespace

std::optional<absl::string_view> LabelPairGangName(const PodInfo& pod) {
  static const Symbol kPairName = Symbol::Intern("pod-group.scheduling.sigs.k8s.io/name");
  const Symbol* const name = pod.labels().Find(kPairName);
  if (name == nullptr || name->empty()) return std::nullopt;
  return name->view();
}

namespace {

const Symbol* FindMinAvailable(const PodInfo& pod) {
  static const Symbol kKey = Symbol::Intern(kPairMinAvailable);
  return pod.labels().Find(kKey);
}

}  // namespace

void AppendLabelPair(const PodInfo& pod, std::string& text) {
  const Symbol* const value = FindMinAvailable(pod);
  if (value != nullptr) absl::StrAppend(&text, "\n", kPairMinAvailable, ": ", value->view());
}

GangSettings ReadLabelPair(const PodInfo& pod) {
  GangSettings settings;
  const Symbol* const text = FindMinAvailable(pod);
  if (text != nullptr) settings.min_member = ReadCount(kPairMinAvailable, text->view(), settings);
  return settings;
}

}  // namespace berth
