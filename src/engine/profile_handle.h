// SPDX-License-Identifier: Apache-2.0
// The Handle that one profile's plugins get.
#ifndef BERTH_SRC_ENGINE_PROFILE_HANDLE_H_
#define BERTH_SRC_ENGINE_PROFILE_HANDLE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <typeinfo>

#include "berth/cluster.h"
#include "berth/extensions/extender.h"
#include "berth/framework/handle.h"
#include "engine/cluster_state.h"
#include "engine/random_sequence.h"
#include "framework/framework.h"
#include "framework/resource_need.h"

namespace berth {

// What plugins may ask of a running scheduler. An explanation has none of it.
class SchedulerServices {
 public:
  virtual ~SchedulerServices() = default;
  virtual void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) = 0;
  virtual void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) = 0;
  virtual WaitingPod* FindWaitingPod(absl::string_view uid) = 0;
  virtual bool IsPreempting(absl::string_view uid) const = 0;
  virtual std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const = 0;
  virtual bool incremental() const = 0;
  // Any thread.
  virtual absl::Status Bind(const PodInfo& pod, absl::string_view node_name,
                            const BindMetadata& metadata) = 0;
  virtual absl::Status Update(const ObjectUpdate& update) = 0;  // any thread
  virtual absl::Status Edit(const ObjectEdit& edit) = 0;        // any thread
  virtual void EditSoon(ObjectEdit edit) = 0;
  virtual absl::StatusOr<Object> Create(const Object& object) = 0;       // any thread
  virtual absl::Status PatchPodStatus(const PodStatusPatch& patch) = 0;  // any thread
  virtual void DeleteSoon(ObjectEdit last) = 0;
  virtual void Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) = 0;
  virtual void WarnAbout(const Object& object, Symbol scheduler_name, absl::string_view reason,
                         absl::string_view text) = 0;
  virtual TimerId RunAt(absl::Time time, std::function<void()> work) = 0;
  virtual bool CancelTimer(TimerId timer) = 0;
  virtual void Post(std::function<void()> work) = 0;  // any thread
};

// What the plugins of one set of profiles share, by type.
using SharedObjects = std::map<std::string, std::weak_ptr<void>, std::less<>>;

class ProfileHandle final : public Handle, private ResourceNeedSource {
 public:
  // Everything outlives the handle; `services` may be null.
  ProfileHandle(std::string profile_name, const ClusterState& cluster, const Clock& clock,
                RandomSequence& random, SharedObjects& shared, CounterSet& counters,
                const ExtenderList& extenders, SchedulerServices* services)
      : profile_name_(std::move(profile_name)),
        cluster_(cluster),
        clock_(clock),
        random_(random),
        shared_(shared),
        counters_(counters),
        extenders_(extenders),
        services_(services) {
    SharedSlot(typeid(GoneInPlan).name()) = cluster.gone_in_plan();
    SharedSlot(typeid(BudgetTracker).name()) = cluster.budget_tracker();
  }

  // The profile's framework, once it is built. Before that nothing can be run.
  void SetFramework(const Framework* framework) { framework_ = framework; }
  bool generates_placements() const override;

  // What plugins asked for with Watch().
  const std::set<Kind>& watched() const { return watched_; }

  absl::string_view profile_name() const override { return profile_name_; }
  const NodeTable& nodes() const override { return cluster_.nodes(); }
  const ObjectStore& objects() const override { return cluster_.objects(); }
  void Watch(Kind kind) override { watched_.insert(kind); }
  const Groups& groups() const override { return cluster_.groups(); }
  const Nominator& nominator() const override { return cluster_.nominations(); }
  const Clock& clock() const override { return clock_; }
  uint64_t Random() override { return random_.Next(); }
  absl::Span<const std::shared_ptr<SchedulerExtender>> extenders() const override {
    return extenders_;
  }

  Status RunFilterPlugins(const CycleState& state, const PodInfo& pod,
                          const NodeInfo& node) override;
  Status RunFilterPluginsWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                           const NodeInfo& node) override;
  Status RunPreFilterExtensionAddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                     const NodeInfo& node) override;
  Status RunPreFilterExtensionRemovePod(CycleState& state, const PodInfo& pod,
                                        const PodInfo& removed, const NodeInfo& node) override;
  ResourceNeedSource* resource_needs() override { return this; }
  std::optional<ResourceNeed> FindNeededResources(const CycleState& state,
                                                  const PodInfo& pod) override;
  std::optional<Status> FilterWhateverPodsRun(const ResourceNeed& need, const CycleState& state,
                                              const PodInfo& pod, const NodeInfo& node,
                                              Pods nominated) override;
  bool NominationCountsFor(const PodInfo& nominated, const PodInfo& pod) override;

  void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) override;
  void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) override;
  WaitingPod* FindWaitingPod(absl::string_view uid) override;
  bool RejectWaitingPod(absl::string_view uid) override;
  bool IsPreempting(absl::string_view uid) const override;
  std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const override;
  absl::Status Bind(const PodInfo& pod, absl::string_view node_name,
                    const BindMetadata& metadata) override;
  absl::Status Update(const ObjectUpdate& update) override;
  absl::Status Edit(const ObjectEdit& edit) override;
  void EditSoon(ObjectEdit edit) override;
  absl::StatusOr<Object> Create(const Object& object) override;
  void DeleteSoon(ObjectEdit last) override;
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override;
  void Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) override;
  void WarnAbout(const Object& object, absl::string_view reason, absl::string_view text) override;
  TimerId RunAt(absl::string_view plugin, absl::Time time, std::function<void()> work) override;
  bool CancelTimer(TimerId timer) override;
  void Post(absl::string_view plugin, std::function<void()> work) override;
  Counter& CounterOf(absl::string_view name) override { return counters_.Find(name); }
  void AddFault(absl::string_view plugin, absl::string_view point, absl::string_view what) override;

 private:
  std::weak_ptr<void>& SharedSlot(absl::string_view type) override;

  const std::string profile_name_;
  const ClusterState& cluster_;
  const Clock& clock_;
  RandomSequence& random_;
  SharedObjects& shared_;
  CounterSet& counters_;
  const ExtenderList& extenders_;
  SchedulerServices* const services_;
  std::set<Kind> watched_;
  const Framework* framework_ = nullptr;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_PROFILE_HANDLE_H_
