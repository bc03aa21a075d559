// SPDX-License-Identifier: Apache-2.0
// Implementation of group_rules.h, after scheduler-plugins v0.34
// config/crd/bases/scheduling.x-k8s.io_podgroups.yaml and kubernetes
// pkg/apis/scheduling/validation.
#include "api/group_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "api/object_rules.h"

namespace berth {
namespace {

class GroupRules : public ObjectRules {
 public:
  GroupRules(Value object, Problems& problems)
      : ObjectRules("", IsStored(object), problems), spec_(object.Find("spec")) {}

  void MinMember() {
    const Value minimum = spec_.Find("minMember");
    if (IsSet(minimum)) AtLeastOne(minimum, "spec.minMember");
  }

  void Policy(Value policy, const std::string& path, absl::string_view minimum) {
    const Value gang = policy.Find("gang");
    if (!IsSet(gang)) return;
    if (IsSet(policy.Find("basic"))) {
      Refuse(policy, spec_, absl::StrCat(path, ": has gang and basic; it may have one of them"));
    }
    const std::string at = absl::StrCat(path, ".gang.", minimum);
    const Value count = gang.Find(minimum);
    if (IsSet(count)) {
      AtLeastOne(count, at);
    } else {
      Refuse(gang, policy, at + ": is missing");
    }
  }

  void Policies() {
    ForEach(spec_, "podGroups", "spec", [this](Value group, const std::string& path) {
      Policy(group.Find("policy"), path + ".policy", "minCount");
    });
  }
  void SchedulingPolicy(absl::string_view minimum) {
    Policy(spec_.Find("schedulingPolicy"), "spec.schedulingPolicy", minimum);
  }

  void MinimaOfVolcano() {
    const Value whole = spec_.Find("minMember");
    if (IsNegative(whole)) WarnOfNegative(whole, "spec.minMember");
    for (const Value::Item task : spec_.Find("minTaskMember").items()) {
      if (IsNegative(task.value)) {
        WarnOfNegative(task.value, absl::StrCat("spec.minTaskMember[", task.key, "]"));
      }
    }
  }

 private:
  static bool IsNegative(Value count) { return count.AsInt64().value_or(0) < 0; }

  void AtLeastOne(Value count, const std::string& path) {
    const auto number = count.AsInt64();
    if (!number.has_value() || *number >= 1) return;  // what is no number, the decoder tells
    Refuse(count, spec_, absl::StrCat(path, ": is ", *number, ", and has to be at least 1"));
  }
  void WarnOfNegative(Value count, const std::string& path) {
    Warn(count, spec_,
         absl::StrCat(path, ": is ", *count.AsInt64(), "; it counts as if it were not there"));
  }

  const Value spec_;
};

}  // namespace

void CheckGroupRules(Kind kind, Value object, Problems& problems) {
  GroupRules rules(object, problems);
  switch (kind) {
    case Kind::kPodGroup:
      return rules.MinMember();
    case Kind::kVolcanoPodGroup:
      return rules.MinimaOfVolcano();
    case Kind::kAlphaWorkload:
      return rules.Policies();
    case Kind::kKubernetesPodGroup:
      return rules.SchedulingPolicy("minCount");
    case Kind::kCompositePodGroup:
      return rules.SchedulingPolicy("minGroupCount");
    default:
      return;
  }
}

}  // namespace berth
