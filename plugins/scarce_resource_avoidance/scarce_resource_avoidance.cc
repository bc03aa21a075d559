// SPDX-License-Identifier: Apache-2.0
// The rule of ScarceResourceAvoidance, once for both forms, and its arguments.
#include "plugins/scarce_resource_avoidance/scarce_resource_avoidance.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "berth/columns/node_table.h"

namespace berth {
namespace {

// Whether `pod` leaves the resource unused, were it on its node.
bool LeavesUnused(const PodInfo& pod, ResourceId id) {
  return pod.requests().Get(id) <= 0 &&
         (id <= kEphemeralStorage || IsScalarResourceName(ResourceName(id)));
}

// Koordinator: (unused - scarce) * 100 / unused, truncated.
int64_t ScoreOf(int64_t unused, int64_t scarce) {
  return scarce == 0 ? kMaxNodeScore : (unused - scarce) * kMaxNodeScore / unused;
}

}  // namespace

const FieldTable& ScarceResourceAvoidanceArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<ScarceResourceAvoidanceArgs>("ScarceResourceAvoidanceArgs",
                                                  "Arguments of ScarceResourceAvoidance.")
          .Field("resources", &ScarceResourceAvoidanceArgs::resources,
                 "The scarce resources: nvidia.com/gpu.")
          .Check([](const ScarceResourceAvoidanceArgs& args, FieldProblems& problems) {
            if (args.resources.empty()) {
              problems.AddWarning("resources",
                                  "names none; the plugin ranks no node before another");
            }
          }));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> ScarceResourceAvoidance::Create(const PluginArgs& args,
                                                                        Handle&) {
  return std::make_unique<ScarceResourceAvoidance>(args.As<ScarceResourceAvoidanceArgs>());
}

ScarceResourceAvoidance::ScarceResourceAvoidance(const ScarceResourceAvoidanceArgs& args) {
  for (const std::string& name : args.resources) scarce_.push_back(ResourceIdOf(name));
}

absl::StatusOr<int64_t> ScarceResourceAvoidance::Score(const CycleState&, const PodInfo& pod,
                                                       const NodeInfo& node) const {
  int64_t unused = 0, scarce = 0;
  node.allocatable().ForEach([&](ResourceId id, int64_t amount) {
    if (amount <= 0 || !LeavesUnused(pod, id)) return;
    ++unused;
    if (IsScarce(id)) ++scarce;
  });
  return ScoreOf(unused, scarce);
}

absl::Status ScarceResourceAvoidance::ScoreNodes(const CycleState&, const PodInfo& pod,
                                                 const NodeTable& nodes,
                                                 absl::Span<const NodeRow> rows,
                                                 absl::Span<int64_t> scores) const {
  std::vector<int64_t> unused(rows.size(), 0), scarce(rows.size(), 0);
  for (ResourceId id = 0; id < std::min(ResourceCount(), kCommonResources); ++id) {
    if (!LeavesUnused(pod, id)) continue;
    const absl::Span<const int64_t> allocatable = nodes.allocatable(id);
    const int64_t is_scarce = IsScarce(id);
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t has = allocatable[rows[i]] > 0;
      unused[i] += has;
      scarce[i] += has & is_scarce;
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const auto& [id, amount] : nodes.node(rows[i]).allocatable().rare()) {
      if (amount <= 0 || !LeavesUnused(pod, id)) continue;
      ++unused[i];
      if (IsScarce(id)) ++scarce[i];
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) scores[i] = ScoreOf(unused[i], scarce[i]);
  return absl::OkStatus();
}

Status ScarceResourceAvoidance::SignPod(const PodInfo& pod, PodSignature& signature) const {
  int64_t count = 0;
  pod.requests().ForEach([&](ResourceId, int64_t amount) { count += amount > 0; });
  signature.Add(count);
  pod.requests().ForEach([&](ResourceId id, int64_t amount) {
    if (amount > 0) signature.Add(int64_t{id});
  });
  return Status::Success();
}

bool ScarceResourceAvoidance::IsScarce(ResourceId id) const {
  return absl::c_linear_search(scarce_, id);
}

}  // namespace berth
