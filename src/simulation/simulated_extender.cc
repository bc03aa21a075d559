// SPDX-License-Identifier: Apache-2.0
// Implementation of simulated_extender.h.
#include "simulation/simulated_extender.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/mutex.h"

namespace berth {
namespace {

// Whether a peer answers. An answer that is refused, or of another code than 200, is one. Threads:
// any.
class Answering {
 public:
  explicit Answering(const Clock& clock) : clock_(clock) {}

  // What a call fails with that need not be made.
  absl::Status Down() const {
    MutexLock lock(mutex_);
    if (unanswered_ < kUnansweredCalls || clock_.Now() >= last_ + kTakenToBeDown) {
      return absl::OkStatus();
    }
    return absl::Status(why_.code(), absl::StrCat(why_.message(), "; after ", kUnansweredCalls,
                                                  " such calls it is not asked for a while"));
  }
  void Note(const absl::Status& status) {
    MutexLock lock(mutex_);
    if (absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status)) {
      ++unanswered_;
      last_ = clock_.Now();
      why_ = status;
    } else {
      unanswered_ = 0;
    }
  }

 private:
  const Clock& clock_;
  mutable Mutex mutex_;
  int unanswered_ ABSL_GUARDED_BY(mutex_) = 0;  // the last calls
  absl::Time last_ ABSL_GUARDED_BY(mutex_);
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
};

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <class T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

class SimulatedExtender final : public SchedulerExtender {
 public:
  SimulatedExtender(std::shared_ptr<SchedulerExtender> extender, Cluster& cluster,
                    const Clock& clock)
      : extender_(std::move(extender)), cluster_(cluster), answering_(clock) {}

  absl::string_view Name() const override { return extender_->Name(); }
  bool IsIgnorable() const override { return extender_->IsIgnorable(); }
  bool IsInterested(const PodInfo& pod) const override { return extender_->IsInterested(pod); }
  bool IsFilter() const override { return extender_->IsFilter(); }
  bool IsPrioritizer() const override { return extender_->IsPrioritizer(); }
  bool SupportsPreemption() const override { return extender_->SupportsPreemption(); }
  bool IsBinder() const override { return extender_->IsBinder(); }
  int64_t weight() const override { return extender_->weight(); }
  absl::StatusOr<FilterResult> Filter(const PodInfo& pod,
                                      absl::Span<const NodeInfo* const> nodes) override {
    return Asked([&] { return extender_->Filter(pod, nodes); });
  }
  std::function<Priorities()> Prioritize(const PodInfo& pod,
                                         absl::Span<const NodeInfo* const> nodes) override {
    if (absl::Status down = answering_.Down(); !down.ok()) {
      return [down] { return Priorities(down); };
    }
    std::function<Priorities()> wait = extender_->Prioritize(pod, nodes);
    if (wait == nullptr) return nullptr;  // which the caller counts as a fault
    return [this, wait = std::move(wait)] {
      Priorities priorities = wait();
      answering_.Note(priorities.status());
      return priorities;
    };
  }
  absl::StatusOr<std::map<std::string, Victims>> ProcessPreemption(
      const PodInfo& pod, absl::Span<const PreemptionCandidate* const> candidates) override {
    return Asked([&] { return extender_->ProcessPreemption(pod, candidates); });
  }
  absl::Status Bind(const PodInfo& pod, absl::string_view node_name) override {
    absl::Status bound = Asked([&] { return extender_->Bind(pod, node_name); });
    if (!bound.ok()) return bound;
    return cluster_.Bind({.pod = pod.identity(), .node_name = std::string(node_name)});
  }

 private:
  template <class Call>
  auto Asked(const Call& call) -> decltype(call()) {
    if (absl::Status down = answering_.Down(); !down.ok()) return down;
    auto result = call();
    answering_.Note(StatusOf(result));
    return result;
  }

  const std::shared_ptr<SchedulerExtender> extender_;
  Cluster& cluster_;
  Answering answering_;
};

}  // namespace

std::shared_ptr<SchedulerExtender> NewSimulatedExtender(std::shared_ptr<SchedulerExtender> extender,
                                                        Cluster& cluster, const Clock& clock) {
  return std::make_shared<SimulatedExtender>(std::move(extender), cluster, clock);
}

}  // namespace berth
