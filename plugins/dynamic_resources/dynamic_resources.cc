// SPDX-License-Identifier: Apache-2.0
// The rules of DynamicResources and its arguments.
#include "plugins/dynamic_resources/dynamic_resources.h"

#include <algorithm>

#include "berth/api/core_v1.pb.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

Status CheckClaims(const PodInfo& pod) {
  if (pod.spec().resource_claims().empty()) return Status::Success();
  return Status::UnschedulableAndUnresolvable(
      "resource claims (spec.resourceClaims) are not supported yet");
}

}  // namespace

const FieldTable& DynamicResourcesArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<DynamicResourcesArgs>("DynamicResourcesArgs", "Arguments of DynamicResources.")
          .Field("filterTimeout", &DynamicResourcesArgs::filter_timeout,
                 "The longest that allocating the claims of a pod may take for one node; 0 for no "
                 "limit. Has no effect as long as claims are not supported.")
          .Field("bindingTimeout", &DynamicResourcesArgs::binding_timeout,
                 "Must be left out: the feature gates DRADeviceBindingConditions and "
                 "DRAResourceClaimDeviceStatus that it belongs to are off.")
          .Check([](const DynamicResourcesArgs& args, FieldProblems& problems) {
            if (args.filter_timeout < absl::ZeroDuration()) {
              problems.Invalid("filterTimeout", absl::FormatDuration(args.filter_timeout),
                               "must be zero or positive");
            }
            if (args.binding_timeout.has_value()) {
              problems.Add("bindingTimeout",
                           "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus "
                           "feature gate is disabled");
            }
          }));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> DynamicResources::Create(const PluginArgs&, Handle&) {
  return std::make_unique<DynamicResources>();
}

Status DynamicResources::PreFilter(CycleState&, const PodInfo& pod, const NodeTable&,
                                   PreFilterResult&) {
  Status status = CheckClaims(pod);
  return status.ok() ? Status::Skip() : status;
}

Status DynamicResources::Filter(const CycleState&, const PodInfo& pod, const NodeInfo&) const {
  return CheckClaims(pod);
}

Status DynamicResources::FilterNodes(const CycleState&, const PodInfo& pod, const NodeTable&,
                                     NodeVerdicts& verdicts) const {
  const Code code = CheckClaims(pod).code();
  for (const NodeRow row : verdicts.candidates()) verdicts.Set(row, code, 0);
  return Status::Success();
}

Status DynamicResources::PostFilter(CycleState&, const PodInfo&, const NodeStatuses&,
                                    PostFilterResult&) {
  return Status::Unschedulable("no new claims to deallocate");
}

absl::Status DynamicResources::ScoreNodes(const CycleState&, const PodInfo&, const NodeTable&,
                                          absl::Span<const NodeRow>,
                                          absl::Span<int64_t> scores) const {
  std::fill(scores.begin(), scores.end(), 0);
  return absl::OkStatus();
}

Status DynamicResources::SignPod(const PodInfo& pod, PodSignature&) const {
  if (pod.spec().resource_claims().empty()) return Status::Success();
  return Status::Unschedulable("pods with resource claims are not signable");
}

}  // namespace berth
