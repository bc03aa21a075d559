// SPDX-License-Identifier: Apache-2.0
// The Handle of a plugin that is served to a scheduler in another process: it knows what that
// scheduler sends.
#ifndef BERTH_SRC_REMOTE_PLUGIN_SERVED_HANDLE_H_
#define BERTH_SRC_REMOTE_PLUGIN_SERVED_HANDLE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "berth/api/object_update.h"
#include "berth/clock.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "berth/v1/plugin.pb.h"

namespace berth {

// The nodes of a scheduler, as its Updates tell. Threads: none of its own.
class ServedNodes {
 public:
  // Error: the Update makes no sense after those before it.
  absl::Status Apply(const v1::Update& update);

  const NodeTable& table() const { return table_; }
  uint64_t revision() const { return revision_; }
  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }
  // Null if there is no such node.
  const NodeInfo* node(uint32_t index) const {
    return index < nodes_.size() ? nodes_[index].get() : nullptr;
  }
  uint32_t index(NodeRow row) const { return index_of_row_[row]; }

 private:
  absl::Status ApplyNode(const v1::NodeState& state);

  std::vector<std::unique_ptr<NodeInfo>> nodes_;  // by index
  std::vector<uint32_t> index_of_row_;
  NodeTable table_;
  uint64_t revision_ = 0;
};

// Calls that mean nothing outside a scheduler fail, or do nothing.
class ServedHandle final : public Handle, public ObjectStore, public Groups, public Nominator {
 public:
  struct Options {
    std::string profile;
    const NodeTable* nodes = nullptr;
    std::function<void(v1::FromPlugin)> send;
    std::function<void(std::function<void()>)> run_later;  // one at a time with the plugin's calls
  };
  explicit ServedHandle(Options options);
  ~ServedHandle() override;

  // The plugin says Wait to the pod's Permit, for that long.
  void NoteWaiting(std::shared_ptr<const PodInfo> pod, absl::string_view node_name,
                   absl::string_view plugin, absl::Duration timeout);

  absl::string_view profile_name() const override { return options_.profile; }
  const NodeTable& nodes() const override { return *options_.nodes; }
  const ObjectStore& objects() const override { return *this; }
  const Groups& groups() const override { return *this; }
  const Nominator& nominator() const override { return *this; }
  const Clock& clock() const override { return clock_; }
  uint64_t Random() override {
    return random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  }
  void Watch(Kind) override {}
  Status RunFilterPlugins(const CycleState&, const PodInfo&, const NodeInfo&) override;
  Status RunFilterPluginsWithNominatedPods(const CycleState&, const PodInfo&,
                                           const NodeInfo&) override;
  Status RunPreFilterExtensionAddPod(CycleState&, const PodInfo&, const PodInfo&,
                                     const NodeInfo&) override;
  Status RunPreFilterExtensionRemovePod(CycleState&, const PodInfo&, const PodInfo&,
                                        const NodeInfo&) override;
  void Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) override;
  void ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) override;
  WaitingPod* FindWaitingPod(absl::string_view uid) override;
  bool RejectWaitingPod(absl::string_view uid) override;
  bool IsPreempting(absl::string_view) const override { return false; }
  std::optional<WaitingFor> ExplainWaiting(absl::string_view) const override {
    return std::nullopt;
  }
  TimerId RunAt(absl::string_view, absl::Time, std::function<void()>) override;
  bool CancelTimer(TimerId) override { return false; }
  void Post(absl::string_view, std::function<void()> work) override {
    options_.run_later(std::move(work));
  }
  Counter& CounterOf(absl::string_view name) override { return counters_.Find(name); }
  absl::Status Bind(const PodInfo&, absl::string_view, const BindMetadata&) override;
  absl::Status Update(const ObjectUpdate&) override;
  absl::Status Edit(const ObjectEdit&) override;
  void EditSoon(ObjectEdit) override {}
  void Warn(const PodInfo&, absl::string_view, absl::string_view) override {}

  // --- Of an empty cluster ---
  const Object* Find(Kind, absl::string_view, absl::string_view) const override { return nullptr; }
  std::vector<const Object*> List(Kind) const override { return {}; }
  uint64_t version(Kind) const override { return 0; }
  std::optional<absl::Span<const IdentityPtr>> ChangesSince(Kind, uint64_t) const override {
    return absl::Span<const IdentityPtr>();
  }
  const LabelSet* NamespaceLabels(Symbol) const override { return nullptr; }
  const GroupMembers* Find(absl::string_view) const override { return nullptr; }
  absl::Span<const std::shared_ptr<const PodInfo>> NominatedPods(Symbol) const override {
    return {};
  }
  std::string NominatedNode(const PodInfo&) const override { return ""; }
  void ForEach(const std::function<void(const PodInfo&, absl::string_view)>&) const override {}
  uint64_t version() const override { return 0; }
  std::optional<absl::Span<const Symbol>> ChangesSince(uint64_t) const override {
    return absl::Span<const Symbol>();
  }

 private:
  class Waiting;
  std::weak_ptr<void>& SharedSlot(absl::string_view type) override {
    return shared_[std::string(type)];
  }

  const Options options_;
  RealClock clock_;
  CounterSet counters_;
  uint64_t random_ = 1;
  std::map<std::string, std::weak_ptr<void>> shared_;
  void ForgetDecided();

  // By uid. Whether a pod still waits in the scheduler is not told: those that were decided, or
  // whose time is up, are forgotten when there are twice as many as were left the last time.
  std::map<std::string, std::unique_ptr<Waiting>, std::less<>> waiting_;
  size_t most_waiting_ = 64;
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_SERVED_HANDLE_H_
