// SPDX-License-Identifier: Apache-2.0
// The fields of NodeResourcesFitArgs and their checks, with kube-scheduler's texts.
#include "plugins/node_resources/node_resources_fit_args.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "berth/api/labels.h"

namespace berth {
namespace {

void CheckName(const std::string& field, const std::string& name, FieldProblems& problems) {
  const std::string wrong = CheckLabelKey(name);
  if (!wrong.empty()) problems.Invalid(field, name, wrong);
}

void CheckIgnored(const NodeResourcesFitArgs& args, FieldProblems& problems) {
  for (size_t i = 0; i < args.ignored_resources.size(); ++i) {
    CheckName(absl::StrFormat("ignoredResources[%d]", i), args.ignored_resources[i], problems);
  }
  for (size_t i = 0; i < args.ignored_resource_groups.size(); ++i) {
    const std::string& group = args.ignored_resource_groups[i];
    const std::string field = absl::StrFormat("ignoredResourceGroups[%d]", i);
    if (absl::StrContains(group, '/')) {
      problems.Invalid(field, group, "resource group name can't contain '/'");
    }
    CheckName(field, group, problems);
  }
}

void CheckShape(const RequestedToCapacityRatioParam& param, FieldProblems& problems) {
  const std::vector<UtilizationShapePoint>& shape = param.shape;
  if (shape.empty()) problems.Required("shape", "at least one point must be specified");
  for (size_t i = 1; i < shape.size(); ++i) {
    if (shape[i - 1].utilization < shape[i].utilization) continue;
    problems.Invalid(absl::StrFormat("shape[%d].utilization", i), shape[i].utilization,
                     "values must be sorted in increasing order");
    break;
  }
}

void CheckStrategy(const ScoringStrategy& strategy, FieldProblems& problems) {
  for (size_t i = 0; i < strategy.resources.size(); ++i) {
    const ResourceSpec& resource = strategy.resources[i];
    if (resource.weight > 0 && resource.weight <= 100) continue;
    problems.Invalid(
        absl::StrFormat("resources[%d].weight", i), static_cast<double>(resource.weight),
        absl::StrFormat("resource weight of %s not in valid range (0, 100]", resource.name));
  }
  // kube-scheduler ends with a null dereference here.
  if (strategy.type == "RequestedToCapacityRatio" &&
      !strategy.requested_to_capacity_ratio.has_value()) {
    problems.Required("requestedToCapacityRatio",
                      "strategy RequestedToCapacityRatio needs a shape");
  }
}

}  // namespace

const FieldTable& UtilizationShapePoint::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<UtilizationShapePoint>("UtilizationShapePoint",
                                            "A point of the scoring function.")
          .Field("utilization", &UtilizationShapePoint::utilization,
                 "Utilization in percent; rising from point to point.", InRange(0, 100))
          .Field("score", &UtilizationShapePoint::score, "The score there.", InRange(0, 10)));
  return table;
}

const FieldTable& RequestedToCapacityRatioParam::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<RequestedToCapacityRatioParam>("RequestedToCapacityRatioParam",
                                                    "A scoring function.")
          .Field("shape", &RequestedToCapacityRatioParam::shape,
                 "The points of the function; linear between them, constant outside.")
          .Check(CheckShape));
  return table;
}

const FieldTable& ScoringStrategy::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<ScoringStrategy>("ScoringStrategy", "How nodes are scored.")
          .Field("type", &ScoringStrategy::type, "The strategy.",
                 OneOf({"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"}))
          .Field(
              "resources", &ScoringStrategy::resources,
              "The resources that count, weight 1 to 100, 1 if not given. Empty: cpu and memory.")
          .Field("requestedToCapacityRatio", &ScoringStrategy::requested_to_capacity_ratio,
                 "The function from utilization to score, for RequestedToCapacityRatio.")
          .Complete([](ScoringStrategy& strategy) { ApplyDefaults(strategy.resources); })
          .Check(CheckStrategy));
  return table;
}

const FieldTable& NodeResourcesFitArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<NodeResourcesFitArgs>("NodeResourcesFitArgs", "Arguments of NodeResourcesFit.")
          .Field("ignoredResources", &NodeResourcesFitArgs::ignored_resources,
                 "Extended resources that the filter does not look at.")
          .Field("ignoredResourceGroups", &NodeResourcesFitArgs::ignored_resource_groups,
                 "Groups of extended resources that the filter does not look at: example.com for "
                 "example.com/gpu.")
          .Field("scoringStrategy", &NodeResourcesFitArgs::scoring_strategy,
                 "How nodes are scored.")
          .Check(CheckIgnored));
  return table;
}

}  // namespace berth
