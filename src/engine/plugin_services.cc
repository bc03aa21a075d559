// SPDX-License-Identifier: Apache-2.0
// Implementation of plugin_services.h.
#include "engine/plugin_services.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// Between questions about a binding whose answer is lost.
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Seconds(8);

// Of a kind that was registered.
absl::Status OnlyRead(Kind kind) {
  if (!IsRegisteredKind(kind)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(KindName(kind), " is a kind that was registered; such objects are only read"));
}

bool MayHaveHappened(const absl::Status& answer) {
  return absl::IsDeadlineExceeded(answer) || absl::IsCancelled(answer) || absl::IsUnknown(answer);
}

}  // namespace

void PluginServices::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  parts_.queue->Activate(pods);
}

void PluginServices::ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) {
  parts_.binder->ForEachWaitingPod(visit);
}

WaitingPod* PluginServices::FindWaitingPod(absl::string_view uid) {
  return parts_.binder->FindWaitingPod(uid);
}

bool PluginServices::IsPreempting(absl::string_view uid) const {
  return parts_.preemption_executor->IsPreempting(uid);
}

std::optional<WaitingFor> PluginServices::ExplainWaiting(absl::string_view uid) const {
  return parts_.unbound_report->ExplainWaiting(uid);
}

void PluginServices::Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) {
  recorder_.Warn(pod, reason, text);
}

void PluginServices::WarnAbout(const Object& object, Symbol scheduler_name,
                               absl::string_view reason, absl::string_view text) {
  recorder_.WarnAbout(object, scheduler_name, reason, text);
}

TimerId PluginServices::RunAt(absl::Time time, std::function<void()> work) {
  if (ending_) return TimerId::kNone;
  return timers_.Add(time, options_.clock->Now(), std::move(work));
}

void PluginServices::Post(std::function<void()> work) {
  inbox_.Post([this, work = std::move(work)] {
    if (ending_) return;
    ++posted_calls_;
    work();
  });
}

absl::Status PluginServices::Bind(const PodInfo& pod, absl::string_view node_name,
                                  const BindMetadata& metadata) {
  const PodBinding binding{pod.identity(), std::string(node_name), metadata.annotations,
                           metadata.labels};
  absl::Status bound = options_.cluster->Bind(binding);
  return MayHaveHappened(bound) ? ResolveLostBinding(binding, std::move(bound)) : bound;
}

absl::Status PluginServices::Update(const ObjectUpdate& update) {
  absl::Status allowed = OnlyRead(update.object.kind());
  return allowed.ok() ? options_.cluster->Update(update) : allowed;
}

absl::Status PluginServices::Edit(const ObjectEdit& edit) {
  absl::Status allowed = OnlyRead(edit.object->kind());
  return allowed.ok() ? options_.cluster->Edit(edit) : allowed;
}

// The cluster outlives what is on the executor; this need not.
void PluginServices::EditSoon(ObjectEdit edit) {
  options_.executor->Run(
      [cluster = options_.cluster, edit = std::move(edit)] { cluster->Edit(edit).IgnoreError(); });
}

absl::StatusOr<Object> PluginServices::Create(const Object& object) {
  absl::Status allowed = OnlyRead(object.kind());
  if (!allowed.ok()) return allowed;
  return options_.cluster->Create(object);
}

absl::Status PluginServices::PatchPodStatus(const PodStatusPatch& patch) {
  return options_.cluster->PatchPodStatus(patch);
}

void PluginServices::DeleteSoon(ObjectEdit last) {
  options_.executor->Run([cluster = options_.cluster, last = std::move(last)] {
    if (last.edit != nullptr && !cluster->Edit(last).ok()) return;
    cluster->Delete(*last.object).IgnoreError();
  });
}

// The pod stays assumed meanwhile. Were its place given back, and the pod bound after all, another
// pod else would get it before the watch shows that it is taken.
absl::Status PluginServices::ResolveLostBinding(const PodBinding& binding,
                                                absl::Status lost) const {
  absl::Duration pause = kFirstPause;  // the binding may still be on its way
  while (!ending_ && !inbox_.stopped()) {
    options_.clock->SleepUntil(options_.clock->Now() + pause);
    pause = std::min(2 * pause, kLongestPause);
    const absl::StatusOr<std::string> node = options_.cluster->AssignedNode(*binding.pod);
    if (absl::IsNotFound(node.status())) return node.status();
    if (!node.ok()) continue;
    if (*node == binding.node_name) return absl::OkStatus();
    if (node->empty()) return lost;
    return absl::FailedPreconditionError(absl::StrCat("the pod is assigned to node ", *node));
  }
  return lost;
}

}  // namespace berth
