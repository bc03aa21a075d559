// SPDX-License-Identifier: Apache-2.0
// Implementation of recorder.h.
#include "engine/recorder.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr size_t kMaxNoteBytes = 1024;  // kube-scheduler v1.35 schedule_one.go truncateMessage

std::string Truncated(absl::string_view message) {
  constexpr absl::string_view kSuffix = " ...";
  if (message.size() <= kMaxNoteBytes) return std::string(message);
  return absl::StrCat(message.substr(0, kMaxNoteBytes - kSuffix.size()), kSuffix);
}

}  // namespace

void Recorder::Failed(const PodFailure& failure) {
  const std::optional<std::string>& nominated_node = failure.nominated_node;
  const absl::string_view reason = failure.status.IsRejected() ? "Unschedulable" : "SchedulerError";
  std::string said = absl::StrCat(reason, ": ", failure.message);
  if (nominated_node.has_value()) absl::StrAppend(&said, " -> ", *nominated_node);
  std::string& last = *last_written_.FindOrAdd(failure.pod->identity()).first;
  if (last == said) return;
  last = std::move(said);

  PodStatusPatch patch;
  patch.pod = failure.pod->identity();
  patch.condition_type = "PodScheduled";
  patch.condition_reason = std::string(reason);
  patch.condition_message = failure.message;
  patch.nominated_node_name = nominated_node;
  RecordedEvent event{.regarding = patch.pod,
                      .scheduler_name = failure.pod->scheduler_name(),
                      .warning = true,
                      .reason = "FailedScheduling",
                      .action = "Scheduling",
                      .text = Truncated(failure.message)};
  Record(std::move(event));
  patches_.Add(std::move(patch));
}

void Recorder::Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) {
  RecordedEvent event{.regarding = pod.identity(),
                      .scheduler_name = pod.scheduler_name(),
                      .warning = true,
                      .reason = Symbol::Intern(reason).view(),
                      .action = "Scheduling",
                      .text = Truncated(text)};
  Record(std::move(event));
}

void Recorder::WarnAbout(const Object& object, Symbol scheduler_name, absl::string_view reason,
                         absl::string_view text) {
  RecordedEvent event{.regarding = object.identity(),
                      .scheduler_name = scheduler_name,
                      .warning = true,
                      .reason = Symbol::Intern(reason).view(),
                      .action = "Scheduling",
                      .text = Truncated(text)};
  Record(std::move(event));
}

void Recorder::Bound(const AssumedPod& placement) {
  RecordedEvent event{.regarding = placement.pod->identity(),
                      .scheduler_name = placement.pod->scheduler_name(),
                      .warning = false,
                      .reason = "Scheduled",
                      .action = "Binding",
                      .assigned_to = placement.node};
  Record(std::move(event));
}

void Recorder::PatchNomination(const PodInfo& pod, absl::string_view node_name) {
  PodStatusPatch patch;
  patch.pod = pod.identity();
  patch.nominated_node_name = std::string(node_name);
  patches_.Add(std::move(patch));
}

void Recorder::Record(RecordedEvent event) { cluster_.Record(std::move(event)); }

}  // namespace berth
