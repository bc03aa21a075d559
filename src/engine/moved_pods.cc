// SPDX-License-Identifier: Apache-2.0
// Implementation of moved_pods.h.
#include "engine/moved_pods.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

// From when the pod is gone at the latest. Controllers take seconds.
constexpr absl::Duration kLongestWait = absl::Minutes(1);

// The uid of the controller, or of the first owner.
std::string OwnerOf(const PodInfo& pod) {
  if (!pod.has_owners()) return "";
  const auto& owners = pod.object().metadata().owner_references();
  const auto controller = absl::c_find_if(owners, [](const auto& o) { return o.controller(); });
  return controller != owners.end() ? controller->uid() : owners.Get(0).uid();
}

// Null if there is no such pod, which cannot be.
std::shared_ptr<const PodInfo> StandInFor(const PodInfo& pod) {
  auto object = std::make_shared<api::Pod>(pod.object());
  object->mutable_metadata()->set_uid(absl::StrCat(pod.uid(), "/moved"));
  object->mutable_spec()->clear_node_name();
  object->clear_status();
  absl::StatusOr<std::shared_ptr<const PodInfo>> made =
      PodInfo::Create(std::shared_ptr<const api::Pod>(std::move(object)));
  return made.ok() ? *std::move(made) : nullptr;
}

}  // namespace

void MovedPods::Expect(const AttemptResult::Plan& plan) {
  for (size_t i = 0; i < plan.move_to.size(); ++i) {
    const PodInfo& pod = *plan.result.victims[i];
    std::shared_ptr<const PodInfo> stand_in = StandInFor(pod);
    if (stand_in == nullptr) continue;
    const absl::Duration grace =
        absl::Seconds(pod.object().spec().termination_grace_period_seconds());
    const uint64_t number = ++last_number_;
    const absl::Time now = clock_.Now();
    cluster_.nominations().Nominate(stand_in, plan.move_to[i]);
    expected_[number] = {std::move(stand_in), OwnerOf(pod), plan.move_to[i]};
    timers_.Add(now + grace + kLongestWait, now, [this, number] { OnDue(number); });
  }
}

void MovedPods::TakeOver(const std::shared_ptr<const PodInfo>& pod) {
  if (!pod->has_owners() || !cluster_.nominations().NominatedNode(*pod).empty()) return;
  const std::string owner = OwnerOf(*pod);
  const auto found = absl::c_find_if(expected_, [&](const auto& entry) {
    const Expected& expected = entry.second;
    return expected.taken_by.empty() && expected.owner == owner &&
           expected.stand_in->namespace_name() == pod->namespace_name() &&
           expected.stand_in->requests() == pod->requests();
  });
  if (found == expected_.end()) return;
  Expected& expected = found->second;
  expected.taken_by = pod->uid();
  cluster_.nominations().Nominate(expected.stand_in, "");
  cluster_.nominations().Nominate(pod, expected.node);
}

bool MovedPods::KeepsPlace(const PodInfo& pod) const {
  return absl::c_any_of(expected_,
                        [&](const auto& entry) { return entry.second.taken_by == pod.uid(); });
}

void MovedPods::OnDue(uint64_t number) {
  const auto found = expected_.find(number);
  if (found == expected_.end()) return;
  const Expected expected = std::move(found->second);
  expected_.erase(found);
  if (!expected.taken_by.empty()) return;
  cluster_.nominations().Nominate(expected.stand_in, "");
  failure_handler_.RequeuePodsBlockedByNomination(expected.stand_in, expected.node);
}

}  // namespace berth
