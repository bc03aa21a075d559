// SPDX-License-Identifier: Apache-2.0
// Implementation of profile_handle.h.
#include "engine/profile_handle.h"

#include <utility>

#include "berth/check.h"

namespace berth {

bool ProfileHandle::generates_placements() const {
  return framework_ != nullptr && !framework_->plugins().placement_generate.empty();
}

Status ProfileHandle::RunFilterPlugins(const CycleState& state, const PodInfo& pod,
                                       const NodeInfo& node) {
  BERTH_CHECK(framework_ != nullptr);
  return framework_->filters().RunFilter(state, pod, node);
}

Status ProfileHandle::RunFilterPluginsWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                                        const NodeInfo& node) {
  BERTH_CHECK(framework_ != nullptr);
  return framework_->nomination_filter().RunFilterByNominationRules(state, pod, node);
}

Status ProfileHandle::RunPreFilterExtensionAddPod(CycleState& state, const PodInfo& pod,
                                                  const PodInfo& added, const NodeInfo& node) {
  BERTH_CHECK(framework_ != nullptr);
  return framework_->filters().RunPreFilterAddPod(state, pod, added, node);
}

Status ProfileHandle::RunPreFilterExtensionRemovePod(CycleState& state, const PodInfo& pod,
                                                     const PodInfo& removed, const NodeInfo& node) {
  BERTH_CHECK(framework_ != nullptr);
  return framework_->filters().RunPreFilterRemovePod(state, pod, removed, node);
}

std::optional<ResourceNeed> ProfileHandle::FindNeededResources(const CycleState& state,
                                                               const PodInfo& pod) {
  BERTH_CHECK(framework_ != nullptr);
  return framework_->dependencies().FindNeededResources(state, pod);
}

std::optional<Status> ProfileHandle::FilterWhateverPodsRun(const ResourceNeed& need,
                                                           const CycleState& state,
                                                           const PodInfo& pod, const NodeInfo& node,
                                                           Pods nominated) {
  BERTH_CHECK(framework_ != nullptr);
  if (!framework_->dependencies().HoldWhateverPodsRun(need.plugin, state, pod, node, nominated)) {
    return std::nullopt;
  }
  const ProfilePlugins& plugins = framework_->plugins();
  const PluginMask but = MaskOf(plugins.filter[plugins.FilterIndex(need.plugin)]);
  return framework_->filters().RunFilter(state, pod, node, ~but);
}

bool ProfileHandle::NominationCountsFor(const PodInfo& nominated, const PodInfo& pod) {
  BERTH_CHECK(framework_ != nullptr);
  return framework_->nomination_filter().CountsByRules(nominated, pod);
}

void ProfileHandle::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  if (services_ != nullptr) services_->Activate(pods);
}

void ProfileHandle::ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) {
  if (services_ != nullptr) services_->ForEachWaitingPod(visit);
}

WaitingPod* ProfileHandle::FindWaitingPod(absl::string_view uid) {
  return services_ == nullptr ? nullptr : services_->FindWaitingPod(uid);
}

bool ProfileHandle::RejectWaitingPod(absl::string_view uid) {
  WaitingPod* waiting = FindWaitingPod(uid);
  if (waiting == nullptr) return false;
  waiting->Reject("", "removed");
  return true;
}

bool ProfileHandle::IsPreempting(absl::string_view uid) const {
  return services_ != nullptr && services_->IsPreempting(uid);
}

std::optional<WaitingFor> ProfileHandle::ExplainWaiting(absl::string_view uid) const {
  if (services_ == nullptr) return std::nullopt;
  return services_->ExplainWaiting(uid);
}

absl::Status ProfileHandle::Bind(const PodInfo& pod, absl::string_view node_name,
                                 const BindMetadata& metadata) {
  if (services_ == nullptr) return absl::FailedPreconditionError("no scheduler is running");
  return services_->Bind(pod, node_name, metadata);
}

absl::Status ProfileHandle::Update(const ObjectUpdate& update) {
  if (services_ == nullptr) return absl::FailedPreconditionError("no scheduler is running");
  return services_->Update(update);
}

absl::Status ProfileHandle::Edit(const ObjectEdit& edit) {
  if (services_ == nullptr) return absl::FailedPreconditionError("no scheduler is running");
  return services_->Edit(edit);
}

void ProfileHandle::EditSoon(ObjectEdit edit) {
  if (services_ != nullptr) services_->EditSoon(std::move(edit));
}

absl::StatusOr<Object> ProfileHandle::Create(const Object& object) {
  if (services_ == nullptr) return absl::FailedPreconditionError("no scheduler is running");
  return services_->Create(object);
}

void ProfileHandle::DeleteSoon(ObjectEdit last) {
  if (services_ != nullptr) services_->DeleteSoon(std::move(last));
}

absl::Status ProfileHandle::PatchPodStatus(const PodStatusPatch& patch) {
  if (services_ == nullptr) return absl::FailedPreconditionError("no scheduler is running");
  return services_->PatchPodStatus(patch);
}

void ProfileHandle::Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) {
  if (services_ != nullptr) services_->Warn(pod, reason, text);
}

void ProfileHandle::WarnAbout(const Object& object, absl::string_view reason,
                              absl::string_view text) {
  if (services_ == nullptr) return;
  services_->WarnAbout(object, Symbol::Intern(profile_name()), reason, text);
}

TimerId ProfileHandle::RunAt(absl::string_view plugin, absl::Time time,
                             std::function<void()> work) {
  if (services_ == nullptr) return TimerId::kNone;
  return services_->RunAt(time, [this, plugin = std::string(plugin), work = std::move(work)] {
    framework_->RunDeferred("Timer", plugin, work);
  });
}

bool ProfileHandle::CancelTimer(TimerId timer) {
  return services_ != nullptr && services_->CancelTimer(timer);
}

void ProfileHandle::Post(absl::string_view plugin, std::function<void()> work) {
  if (services_ == nullptr) return;
  services_->Post([this, plugin = std::string(plugin), work = std::move(work)] {
    framework_->RunDeferred("Post", plugin, work);
  });
}

void ProfileHandle::AddFault(absl::string_view plugin, absl::string_view point,
                             absl::string_view what) {
  if (framework_ != nullptr) framework_->fault_log().AddFault(Symbol::Intern(plugin), point, what);
}

std::weak_ptr<void>& ProfileHandle::SharedSlot(absl::string_view type) {
  return shared_[std::string(type)];
}

}  // namespace berth
