// SPDX-License-Identifier: Apache-2.0
// The labels of the first Coscheduling of scheduler-plugins, before it had PodGroups.
#include "plugins/coscheduling/gang_words.h"

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

GangWords ReadLabelPair(const PodInfo& pod) {
  static const Symbol kKey = Symbol::Intern(kPairMinAvailable);
  GangWords words;
  const Symbol* const text = pod.labels().Find(kKey);
  if (text != nullptr) words.min_member = ReadCount(kPairMinAvailable, text->view(), words);
  return words;
}

}  // namespace berth
