// SPDX-License-Identifier: Apache-2.0
// FakeHandle: the Handle of a small cluster that a test makes up.
#ifndef BERTH_TESTING_FAKE_HANDLE_H_
#define BERTH_TESTING_FAKE_HANDLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/clock.h"
#include "berth/cluster.h"
#include "berth/framework/bind.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/prefilter.h"
#include "berth/mutex.h"
#include "berth/testing/objects.h"

namespace berth::testing {

// Objects that are neither pods nor nodes, in the order in which they are added.
class FakeObjectStore final : public ObjectStore {
 public:
  explicit FakeObjectStore(std::vector<Object> objects = {});

  // Adds the object, or replaces the one of its kind and key.
  void Set(Object object);
  void Remove(Kind kind, absl::string_view key);

  const Object* Find(Kind kind, absl::string_view namespace_name,
                     absl::string_view name) const override;
  std::vector<const Object*> List(Kind kind) const override;
  uint64_t version(Kind kind) const override;
  std::optional<absl::Span<const IdentityPtr>> ChangesSince(Kind kind,
                                                            uint64_t version) const override;
  const LabelSet* NamespaceLabels(Symbol namespace_name) const override;
  using ObjectStore::Find;

 private:
  std::vector<std::unique_ptr<Object>> objects_;
  std::map<Kind, std::vector<IdentityPtr>> changes_;  // all of them
  std::map<Symbol, LabelSet> namespace_labels_;
};

class FakeNominator final : public Nominator {
 public:
  void Nominate(std::shared_ptr<const PodInfo> pod, absl::string_view node_name);

  absl::Span<const std::shared_ptr<const PodInfo>> NominatedPods(Symbol node_name) const override;
  std::string NominatedNode(const PodInfo& pod) const override;
  void ForEach(const std::function<void(const PodInfo& pod, absl::string_view node_name)>& visit)
      const override;
  uint64_t version() const override { return nominated_.size(); }
  std::optional<absl::Span<const Symbol>> ChangesSince(uint64_t version) const override;

 private:
  std::vector<std::pair<std::shared_ptr<const PodInfo>, std::string>> nominated_;
  std::vector<Symbol> changes_;
  std::map<Symbol, std::vector<std::shared_ptr<const PodInfo>>> pods_on_;  // highest priority first
};

class FakeGroups final : public Groups {
 public:
  // The members of group `name` ("namespace/name") from now on.
  void Set(absl::string_view name, std::vector<GroupMember> members);

  const GroupMembers* Find(absl::string_view name) const override;
  const GroupMembers* GroupWith(const PodInfo& pod) const override;

 private:
  uint64_t versions_ = uint64_t{1} << 32;  // never those of a real index
  std::map<std::string, std::unique_ptr<GroupMembers>, std::less<>> groups_;
};

// A waiting pod that records what was decided about it.
class FakeWaitingPod final : public WaitingPod {
 public:
  FakeWaitingPod(std::shared_ptr<const PodInfo> pod, absl::string_view node_name,
                 std::vector<std::string> plugins);

  const PodInfo& pod() const override { return *pod_; }
  absl::string_view node_name() const override { return node_name_; }
  std::vector<absl::string_view> pending_plugins() const override;
  void Allow(absl::string_view plugin) override;
  void Reject(absl::string_view plugin, absl::string_view message) override;

  // Neither rejected nor pending for any plugin.
  bool allowed() const { return !rejected_ && plugins_.empty(); }
  bool rejected() const { return rejected_; }
  const std::string& rejected_by() const { return rejected_by_; }
  const std::string& message() const { return message_; }

 private:
  std::shared_ptr<const PodInfo> pod_;
  std::string node_name_;
  std::vector<std::string> plugins_;
  bool rejected_ = false;
  std::string rejected_by_, message_;
};

// Everything a plugin can ask of its scheduler, answered from what the test put in. Time stands
// still until the test moves it, and "random" numbers count up from 0. Threads: one, except Bind(),
// Post() and CounterOf().
class FakeHandle final : public Handle {
 public:
  explicit FakeHandle(std::vector<NodeInfo> nodes = {}, std::vector<Object> objects = {});

  // --- For the test ---

  TestNodes& test_nodes() { return nodes_; }
  FakeObjectStore& object_store() { return objects_; }
  FakeGroups& fake_groups() { return groups_; }
  FakeNominator& fake_nominator() { return nominator_; }
  SimulatedClock& fake_clock() { return clock_; }
  // What RunFilterPlugins() runs, in this order, and whose AddPod and RemovePod follow. The plugins
  // belong to the caller.
  void AddFilter(FilterPlugin* filter, PreFilterExtensions* extensions = nullptr);
  // Valid as long as the handle.
  FakeWaitingPod& AddWaitingPod(std::shared_ptr<const PodInfo> pod, absl::string_view node_name,
                                std::vector<std::string> plugins);
  // Evictions for this pod are under way from now on, or no longer.
  void SetPreempting(absl::string_view uid, bool preempting);
  // What ExplainWaiting() says of the pod.
  void SetWaiting(absl::string_view uid, WaitingFor waiting);
  // The kinds that the plugin asked for.
  const std::set<Kind>& watched() const { return watched_; }
  // Objects of every Update() and Edit() that was not refused with `update_status`.
  const std::vector<ObjectUpdate>& updates() const { return updates_; }
  void set_update_status(absl::Status status) { update_status_ = std::move(status); }
  void set_bind_status(absl::Status status) { bind_status_ = std::move(status); }
  const BindMetadata& bind_metadata() const { return bind_metadata_; }  // of the last Bind()
  // Every PatchPodStatus() that was not refused with `update_status`.
  const std::vector<PodStatusPatch>& patches() const { return patches_; }
  // "namespace/pod: reason: text" of every Warn(), "Kind namespace/name: …" of every WarnAbout().
  const std::vector<std::string>& warnings() const { return warnings_; }
  // "namespace/pod" and node of every Bind(), failed ones included.
  const std::vector<std::pair<std::string, std::string>>& bindings() const { return bindings_; }
  const std::vector<std::string>& activated() const { return activated_; }  // "namespace/pod"
  // Moves the clock on to `time` and does what the plugin put off until then, what it posted first.
  void AdvanceTo(absl::Time time);

  // --- For the plugin ---

  absl::string_view profile_name() const override { return "default-scheduler"; }
  const NodeTable& nodes() const override { return nodes_.table(); }
  const ObjectStore& objects() const override { return objects_; }
  void Watch(Kind kind) override { watched_.insert(kind); }
  const Groups& groups() const override { return groups_; }
  const Nominator& nominator() const override { return nominator_; }
  const Clock& clock() const override { return clock_; }
  uint64_t Random() override { return random_++; }
  Status RunFilterPlugins(const CycleState& state, const PodInfo& pod,
                          const NodeInfo& node) override;
  Status RunFilterPluginsWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                           const NodeInfo& node) override;
  Status RunPreFilterExtensionAddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                     const NodeInfo& node) override;
  Status RunPreFilterExtensionRemovePod(CycleState& state, const PodInfo& pod,
                                        const PodInfo& removed, const NodeInfo& node) override;
  void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) override;
  void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) override;
  WaitingPod* FindWaitingPod(absl::string_view uid) override;
  bool RejectWaitingPod(absl::string_view uid) override;
  bool IsPreempting(absl::string_view uid) const override { return preempting_.contains(uid); }
  std::optional<WaitingFor> ExplainWaiting(absl::string_view uid) const override;
  absl::Status Bind(const PodInfo& pod, absl::string_view node_name,
                    const BindMetadata& metadata) override;
  absl::Status Update(const ObjectUpdate& update) override;
  // Edits objects of object_store().
  absl::Status Edit(const ObjectEdit& edit) override;
  void EditSoon(ObjectEdit edit) override { Edit(edit).IgnoreError(); }
  // Adds it to object_store(). A generated name ends in the number of such objects before it; the
  // uid is the key.
  absl::StatusOr<Object> Create(const Object& object) override;
  // Edits it, and takes it out of object_store().
  void DeleteSoon(ObjectEdit last) override;
  // The patches are kept.
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override;
  void Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) override;
  void WarnAbout(const Object& object, absl::string_view reason, absl::string_view text) override;
  TimerId RunAt(absl::string_view plugin, absl::Time time, std::function<void()> work) override;
  bool CancelTimer(TimerId timer) override;
  void Post(absl::string_view plugin, std::function<void()> work) override;
  Counter& CounterOf(absl::string_view name) override { return counters_.Find(name); }

 private:
  std::weak_ptr<void>& SharedSlot(absl::string_view type) override {
    return shared_[std::string(type)];
  }

  TestNodes nodes_;
  FakeObjectStore objects_;
  FakeGroups groups_;
  FakeNominator nominator_;
  std::set<Kind> watched_;
  absl::Status update_status_;
  std::vector<ObjectUpdate> updates_;
  std::vector<PodStatusPatch> patches_;
  int created_ = 0;
  SimulatedClock clock_;
  uint64_t random_ = 0;
  std::vector<FilterPlugin*> filters_;
  std::vector<PreFilterExtensions*> extensions_;
  std::vector<std::unique_ptr<FakeWaitingPod>> waiting_;
  std::set<std::string, std::less<>> preempting_;
  std::map<std::string, WaitingFor, std::less<>> waiting_for_;
  absl::Status bind_status_;
  std::vector<std::pair<std::string, std::string>> bindings_;
  BindMetadata bind_metadata_;
  std::vector<std::string> warnings_;
  std::map<std::string, std::weak_ptr<void>> shared_;
  std::vector<std::string> activated_;
  CounterSet counters_;
  std::map<std::pair<absl::Time, TimerId>, std::function<void()>> timers_;
  uint64_t last_timer_ = 0;
  Mutex mutex_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::testing

#endif  // BERTH_TESTING_FAKE_HANDLE_H_
