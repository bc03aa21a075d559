// SPDX-License-Identifier: Apache-2.0
// The fields of PodTopologySpreadArgs and their checks, with kube-scheduler's texts.
#include "plugins/pod_topology_spread/pod_topology_spread_args.h"

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/labels.h"

namespace berth {
namespace {

void CheckTopologyKey(const std::string& field, const std::string& key, FieldProblems& problems) {
  if (key.empty()) {
    problems.Required(field, "can not be empty");
    return;
  }
  const std::string wrong = CheckLabelKey(key);
  if (!wrong.empty()) problems.Invalid(field, key, wrong);
}

void CheckAction(const std::string& field, const std::string& action, FieldProblems& problems) {
  if (action.empty()) {
    problems.Required(field, "can not be empty");
    return;
  }
  const std::string wrong = OneOf({"DoNotSchedule", "ScheduleAnyway"}).string(action);
  if (!wrong.empty()) problems.Add(field, wrong);
}

// kube-scheduler v1.35 apis/config/validation ValidatePodTopologySpreadArgs.
void CheckConstraints(const PodTopologySpreadArgs& args, FieldProblems& problems) {
  const auto& constraints = args.default_constraints;
  if (args.defaulting_type == "System" && !constraints.empty()) {
    problems.Invalid("defaultingType", args.defaulting_type,
                     "when .defaultConstraints are not empty");
  }
  for (size_t i = 0; i < constraints.size(); ++i) {
    const std::string field = absl::StrCat("defaultConstraints[", i, "]");
    if (constraints[i] == nullptr) {
      problems.Required(field, "can not be empty");
      continue;
    }
    const api::TopologySpreadConstraint& constraint = *constraints[i];
    if (constraint.max_skew() <= 0) {
      problems.Invalid(absl::StrCat(field, ".maxSkew"), constraint.max_skew(),
                       "not in valid range (0, inf)");
    }
    CheckTopologyKey(absl::StrCat(field, ".topologyKey"), constraint.topology_key(), problems);
    CheckAction(absl::StrCat(field, ".whenUnsatisfiable"), constraint.when_unsatisfiable(),
                problems);
    if (constraint.has_label_selector()) {
      problems.Add(absl::StrCat(field, ".labelSelector"),
                   "Forbidden: constraint must not define a selector, as they deduced for each "
                   "pod");
    }
    for (size_t j = 0; j < i; ++j) {
      if (constraints[j] == nullptr ||
          constraints[j]->topology_key() != constraint.topology_key() ||
          constraints[j]->when_unsatisfiable() != constraint.when_unsatisfiable()) {
        continue;
      }
      problems.Duplicate(field, absl::StrCat("{", constraint.topology_key(), ", ",
                                             constraint.when_unsatisfiable(), "}"));
      break;
    }
  }
}

}  // namespace

const FieldTable& PodTopologySpreadArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<PodTopologySpreadArgs>("PodTopologySpreadArgs",
                                            "Arguments of PodTopologySpread.")
          .Field("defaultConstraints", &PodTopologySpreadArgs::default_constraints,
                 "Constraints of the pods that have none of their own, as in "
                 "spec.topologySpreadConstraints of a pod but without labelSelector: that is "
                 "deduced from the Services and the controller that the pod belongs to.")
          .Field("defaultingType", &PodTopologySpreadArgs::defaulting_type,
                 "System: maxSkew 3 over hosts and 5 over zones, ScheduleAnyway. List: what "
                 "defaultConstraints says.",
                 OneOf({"System", "List"}))
          .Complete([](PodTopologySpreadArgs& args) {
            if (args.defaulting_type.empty()) args.defaulting_type = "System";
          })
          .Check(CheckConstraints));
  return table;
}

}  // namespace berth
