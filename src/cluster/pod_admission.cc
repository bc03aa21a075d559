// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_admission.h.
#include "cluster/pod_admission.h"

#include <memory>
#include <string>
#include <utility>

#include "berth/api/packed_pod.h"
#include "berth/api/pod_status.h"

namespace berth {
namespace {

bool HasCondition(const api::Pod& pod, absl::string_view type) {
  for (const api::PodCondition& condition : pod.status().conditions()) {
    if (condition.type() == type) return true;
  }
  return false;
}

}  // namespace

void ApplyCondition(const PodStatusPatch& patch, absl::Time now, api::PodStatus& status) {
  api::PodCondition& condition =
      SetCondition(patch.condition_type, patch.condition_true, now, status);
  if (!patch.condition_reason.empty()) condition.set_reason(patch.condition_reason);
  if (!patch.condition_message.empty()) condition.set_message(patch.condition_message);
}

// kubernetes v1.35 plugin/pkg/admission/priority/admission.go, pkg/registry/core/pod/strategy.go.
Object AdmitPod(Object pod, const Object* stored, const Admission& admission, absl::Time now) {
  if (stored != nullptr && stored->identity()->has_uid() && !pod.identity()->has_uid()) {
    const std::string& uid = stored->identity()->uid();
    auto named = pod.packed()->With([&](api::Pod& own) { own.mutable_metadata()->set_uid(uid); });
    pod = Object(std::move(named), pod.where());
  }
  const api::PodSpec& spec = pod.packed()->shape()->spec();
  if (!spec.has_priority()) {
    std::shared_ptr<const PackedPod> before;
    if (stored != nullptr && stored->uid() == pod.uid()) before = stored->packed();
    const bool had_priority = before != nullptr && before->shape()->spec().has_priority();
    if (had_priority || admission.GivesPriority(spec)) {
      api::Pod changed = *pod.Share<api::Pod>();
      if (had_priority) {
        const api::PodSpec& then = before->shape()->spec();
        changed.mutable_spec()->set_priority(then.priority());
        changed.mutable_spec()->set_priority_class_name(then.priority_class_name());
        changed.mutable_spec()->set_preemption_policy(then.preemption_policy());
      }
      admission.AdmitPriority(*changed.mutable_spec());
      pod = Object(PackedPod::Pack(changed), pod.where());
    }
  }
  if (pod.packed()->shape()->spec().scheduling_gates().empty()) return pod;
  auto gated = pod.packed()->With([now](api::Pod& own) {
    if (HasCondition(own, "PodScheduled")) return;
    PodStatusPatch condition;
    condition.condition_type = "PodScheduled";
    condition.condition_reason = "SchedulingGated";
    condition.condition_message = "Scheduling is blocked due to non-empty scheduling gates";
    ApplyCondition(condition, now, *own.mutable_status());
  });
  return Object(std::move(gated), pod.where());
}

}  // namespace berth
