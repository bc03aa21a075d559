// SPDX-License-Identifier: Apache-2.0
// What plugins ask of a running scheduler.
#ifndef BERTH_SRC_ENGINE_PLUGIN_SERVICES_H_
#define BERTH_SRC_ENGINE_PLUGIN_SERVICES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/cluster.h"
#include "berth/scheduler.h"
#include "engine/binder.h"
#include "engine/inbox.h"
#include "engine/preemption_executor.h"
#include "engine/profile_handle.h"
#include "engine/recorder.h"
#include "engine/timers.h"
#include "engine/unbound_report.h"
#include "queue/scheduling_queue.h"

namespace berth {

// Is there before the plugins and goes after them. Bind() and Post() may be called from any thread.
class PluginServices final : public SchedulerServices {
 public:
  // All outlive this.
  PluginServices(const SchedulerOptions& options, Inbox& inbox, Timers& timers, Recorder& recorder)
      : options_(options), inbox_(inbox), timers_(timers), recorder_(recorder) {}

  // The parts that are made of the plugins. Before anything is scheduled.
  struct Parts {
    SchedulingQueue* queue = nullptr;
    Binder* binder = nullptr;
    const PreemptionExecutor* preemption_executor = nullptr;
    const UnboundReport* unbound_report = nullptr;
  };
  void Connect(const Parts& parts) { parts_ = parts; }
  // The scheduler goes: no timer is set and no posted work runs from now on.
  void End() { ending_ = true; }
  // What was posted and has run.
  int64_t posted_calls() const { return posted_calls_; }

  void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) override;
  void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) override;
  WaitingPod* FindWaitingPod(absl::string_view uid) override;
  bool IsPreempting(absl::string_view uid) const override;
  std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const override;
  bool incremental() const override { return options_.incremental; }
  absl::Status Bind(const PodInfo& pod, absl::string_view node_name,
                    const BindMetadata& metadata) override;
  absl::Status Update(const ObjectUpdate& update) override;
  absl::Status Edit(const ObjectEdit& edit) override;
  void EditSoon(ObjectEdit edit) override;
  absl::StatusOr<Object> Create(const Object& object) override;
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override;
  void DeleteSoon(ObjectEdit last) override;
  void Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) override;
  void WarnAbout(const Object& object, Symbol scheduler_name, absl::string_view reason,
                 absl::string_view text) override;
  TimerId RunAt(absl::Time time, std::function<void()> work) override;
  bool CancelTimer(TimerId timer) override { return timers_.Cancel(timer); }
  void Post(std::function<void()> work) override;

 private:
  // The answer to a binding was lost, with `lost`: asks until the cluster says what happened.
  absl::Status ResolveLostBinding(const PodBinding& binding, absl::Status lost) const;

  const SchedulerOptions& options_;
  Inbox& inbox_;
  Timers& timers_;
  Recorder& recorder_;
  Parts parts_;
  std::atomic<bool> ending_ = false;
  int64_t posted_calls_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_PLUGIN_SERVICES_H_
