// SPDX-License-Identifier: Apache-2.0
// A small cluster in which PostFilter plugins can be asked what they would evict: nodes, pods,
// objects and nominations, and one filter, that requests must fit.
#ifndef BERTH_TESTS_PREEMPTION_SMALL_CLUSTER_H_
#define BERTH_TESTS_PREEMPTION_SMALL_CLUSTER_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/clock.h"
#include "berth/extensions/observer.h"
#include "berth/framework/bind.h"
#include "berth/framework/handle.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "framework/resource_need.h"
#include "gtest/gtest.h"

namespace berth::testing {

using PodPtr = std::shared_ptr<const PodInfo>;

// FakeHandle for nodes that come and go.
class SmallCluster final : public Handle, private ResourceNeedSource {
 public:
  // Evaluates a node for a pod besides the requests.
  using Rule = std::function<Status(const CycleState&, const PodInfo& pod, const NodeInfo& node)>;

  SmallCluster& Add(const NodeBuilder& node) {
    nodes_.push_back(node.Info());
    changed_ = true;
    return *this;
  }
  // On the node it names.
  SmallCluster& Add(const PodBuilder& pod) { return Assign(pod.Obj()); }
  SmallCluster& Assign(PodPtr pod) {
    NodeInfo& node = FindNode(pod->node_name());
    node.AddPod(pod);
    changed_ = true;
    for (AssignmentObserver* observer : observers_) observer->OnPodAssigned(*pod, node);
    return *this;
  }
  void Unassign(const PodInfo& pod) {
    NodeInfo& node = FindNode(pod.node_name());
    BERTH_CHECK(node.RemovePod(pod.uid())) << pod.key();
    changed_ = true;
    for (AssignmentObserver* observer : observers_) observer->OnPodUnassigned(pod, node);
  }
  SmallCluster& AddYaml(absl::string_view yaml) {
    for (Object& object : ObjectsFromYaml(yaml)) objects_.Set(std::move(object));
    return *this;
  }
  SmallCluster& Nominate(const PodBuilder& pod, absl::string_view node) {
    nominator_.Nominate(pod.Obj(), node);
    return *this;
  }
  SmallCluster& Also(Rule rule) {
    rules_.push_back(std::move(rule));
    return *this;
  }
  // As the cache does, with the pods that are there.
  void Observe(AssignmentObserver& observer) {
    observers_.push_back(&observer);
    for (const NodeInfo& node : nodes_) {
      for (const PodPtr& pod : node.pods()) observer.OnPodAssigned(*pod, node);
    }
  }
  // As after a restart: the others see nothing any more.
  void ObserveOnly(AssignmentObserver& observer) {
    observers_.clear();
    Observe(observer);
  }
  // Which pods are in groups; outlives this.
  void SetGroups(const Groups& groups) { groups_ = &groups; }
  void Extend(PreFilterExtensions& extensions) { extensions_.push_back(&extensions); }
  FakeObjectStore& object_store() { return objects_; }
  SimulatedClock& simulated_clock() { return clock_; }
  NodeInfo& FindNode(absl::string_view name) {
    for (NodeInfo& node : nodes_) {
      if (node.name().view() == name) return node;
    }
    BERTH_CHECK(false) << "no node " << name;
    abort();
  }

  // --- Handle ---
  absl::string_view profile_name() const override { return "default-scheduler"; }
  const NodeTable& nodes() const override {
    if (changed_) {
      std::vector<const NodeInfo*> rows;
      for (const NodeInfo& node : nodes_) rows.push_back(&node);
      table_.SetOrder(std::move(rows));
      changed_ = false;
    }
    return table_;
  }
  const ObjectStore& objects() const override { return objects_; }
  void Watch(Kind) override {}
  const Groups& groups() const override { return *groups_; }
  const Nominator& nominator() const override { return nominator_; }
  const Clock& clock() const override { return clock_; }
  uint64_t Random() override { return next_random; }

  Status RunFilterPlugins(const CycleState& state, const PodInfo& pod,
                          const NodeInfo& node) override {
    ++filter_calls;
    Status status = Fit(pod, node);
    for (const Rule& rule : rules_) {
      if (!status.ok()) break;
      status = rule(state, pod, node);
    }
    return status;
  }
  Status RunFilterPluginsWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                           const NodeInfo& node) override {
    NodeInfo with_nominated = node;
    CycleState state_with_nominated = state.Clone();
    bool added = false;
    for (const PodPtr& nominated : nominator_.NominatedPods(node.name())) {
      if (nominated->uid() == pod.uid() || nominated->priority() < pod.priority()) continue;
      with_nominated.AddPod(nominated);
      RunPreFilterExtensionAddPod(state_with_nominated, pod, *nominated, with_nominated);
      added = true;
    }
    if (added) {
      Status status = RunFilterPlugins(state_with_nominated, pod, with_nominated);
      if (!status.ok()) return status;
    }
    return RunFilterPlugins(state, pod, node);
  }
  Status RunPreFilterExtensionAddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                     const NodeInfo& node) override {
    for (PreFilterExtensions* extensions : extensions_) {
      Status status = extensions->AddPod(state, pod, added, node);
      if (!status.ok()) return status;
    }
    return Status::Success();
  }
  Status RunPreFilterExtensionRemovePod(CycleState& state, const PodInfo& pod,
                                        const PodInfo& removed, const NodeInfo& node) override {
    for (PreFilterExtensions* extensions : extensions_) {
      Status status = extensions->RemovePod(state, pod, removed, node);
      if (!status.ok()) return status;
    }
    return Status::Success();
  }
  ResourceNeedSource* resource_needs() override { return this; }
  std::optional<ResourceNeed> FindNeededResources(const CycleState&, const PodInfo& pod) override {
    ResourceNeed room{{}, Symbol::Intern(kFit), true};
    pod.requests().ForEach(
        [&](ResourceId id, int64_t amount) { room.needed.requests.emplace_back(id, amount); });
    return room;
  }
  std::optional<Status> FilterWhateverPodsRun(const ResourceNeed&, const CycleState&,
                                              const PodInfo&, const NodeInfo&, Pods) override {
    if (!rules_.empty() || !extensions_.empty()) return std::nullopt;
    return Status::Success();
  }
  bool NominationCountsFor(const PodInfo& nominated, const PodInfo& pod) override {
    return nominated.uid() != pod.uid() && nominated.priority() >= pod.priority();
  }
  void Activate(absl::Span<const PodPtr>) override {}
  void ForEachWaitingPod(const std::function<void(WaitingPod&)>&) override {}
  WaitingPod* FindWaitingPod(absl::string_view) override { return nullptr; }
  bool IsPreempting(absl::string_view) const override { return false; }
  std::optional<WaitingFor> ExplainWaiting(absl::string_view) const override {
    return std::nullopt;
  }
  bool RejectWaitingPod(absl::string_view) override { return false; }
  absl::Status Bind(const PodInfo&, absl::string_view, const BindMetadata&) override {
    return absl::OkStatus();
  }
  absl::Status Update(const ObjectUpdate&) override { return absl::OkStatus(); }
  absl::Status Edit(const ObjectEdit&) override { return absl::OkStatus(); }
  void EditSoon(ObjectEdit) override {}
  void Warn(const PodInfo&, absl::string_view, absl::string_view) override {}
  TimerId RunAt(absl::string_view, absl::Time, std::function<void()>) override {
    return TimerId::kNone;
  }
  bool CancelTimer(TimerId) override { return false; }
  void Post(absl::string_view, std::function<void()>) override {}
  Counter& CounterOf(absl::string_view name) override { return counters_.Find(name); }
  std::weak_ptr<void>& SharedSlot(absl::string_view type) override {
    return shared_[std::string(type)];
  }

  uint64_t next_random = 0;
  int filter_calls = 0;

 private:
  std::map<std::string, std::weak_ptr<void>> shared_;
  CounterSet counters_;

  // As NodeResourcesFit.
  static Status Fit(const PodInfo& pod, const NodeInfo& node) {
    std::vector<std::string> reasons;
    Code code = Code::kUnschedulable;
    if (static_cast<int64_t>(node.pods().size()) >= node.allowed_pods()) {
      reasons.push_back("Too many pods");
    }
    pod.requests().ForEach([&](ResourceId id, int64_t amount) {
      if (amount <= node.allocatable().Get(id) - node.requested().Get(id)) return;
      reasons.push_back(absl::StrCat("Insufficient ", ResourceName(id)));
      if (amount > node.allocatable().Get(id)) code = Code::kUnschedulableAndUnresolvable;
    });
    if (reasons.empty()) return Status::Success();
    return Status::Make(code, std::move(reasons)).WithPlugin(Symbol::Intern(kFit));
  }
  static constexpr absl::string_view kFit = "NodeResourcesFit";

  std::vector<NodeInfo> nodes_;
  mutable NodeTable table_;  // one, as what follows a table goes by its version
  mutable bool changed_ = true;
  FakeObjectStore objects_;
  FakeNominator nominator_;
  const FakeGroups no_groups_{};
  const Groups* groups_ = &no_groups_;
  SimulatedClock clock_{absl::UnixEpoch() + absl::Hours(24 * 365)};
  std::vector<Rule> rules_;
  std::vector<PreFilterExtensions*> extensions_;
  std::vector<AssignmentObserver*> observers_;
};

// A status a node.
class ListedStatuses final : public NodeStatuses {
 public:
  explicit ListedStatuses(std::vector<Status> statuses) : statuses_(std::move(statuses)) {}
  Code code(NodeRow row) const override { return statuses_[row].code(); }
  Status status(NodeRow row) const override { return statuses_[row]; }
  std::vector<NodeRow> RowsWith(Code code) const override {
    std::vector<NodeRow> rows;
    for (size_t row = 0; row < statuses_.size(); ++row) {
      if (statuses_[row].code() == code) rows.push_back(static_cast<NodeRow>(row));
    }
    return rows;
  }

 private:
  std::vector<Status> statuses_;
};

// What a pod's cycle comes to on a cluster where it fits nowhere (or where it fits: then
// `post_filter` is Success without a node).
struct Plan {
  Status pre_filter;
  Status post_filter;
  PostFilterResult result;

  std::vector<std::string> victims() const {
    std::vector<std::string> names;
    for (const PodPtr& victim : result.victims) names.emplace_back(victim->name());
    return names;
  }
  std::string node() const { return result.nominated_node.value_or("none"); }
};

// One cycle of `pod`: PreFilter, if there is one, Filter, PostFilter.
inline Plan PlanFor(SmallCluster& cluster, PostFilterPlugin& plugin, const PodInfo& pod,
                    PreFilterPlugin* pre_filter = nullptr) {
  Plan plan;
  CycleState state;
  if (pre_filter != nullptr) {
    PreFilterResult narrowed;
    plan.pre_filter = pre_filter->PreFilter(state, pod, cluster.nodes(), narrowed);
  }
  std::vector<Status> statuses;
  for (NodeRow row = 0; row < cluster.nodes().size(); ++row) {
    const bool is_rejected = !plan.pre_filter.ok() && !plan.pre_filter.IsSkip();
    statuses.push_back(is_rejected ? plan.pre_filter
                                   : cluster.RunFilterPluginsWithNominatedPods(
                                         state, pod, cluster.nodes().node(row)));
  }
  for (const Status& status : statuses) {
    if (status.ok()) return plan;
  }
  const ListedStatuses listed(std::move(statuses));
  // A search that leaves out what cannot be chosen comes to the same.
  CycleState plain = state.Clone();
  state.SetForExplanation();
  plan.post_filter = plugin.PostFilter(state, pod, listed, plan.result);
  PostFilterResult chosen;
  const Status status = plugin.PostFilter(plain, pod, listed, chosen);
  EXPECT_EQ(status.ToString(), plan.post_filter.ToString());
  EXPECT_EQ(chosen.nominated_node, plan.result.nominated_node);
  EXPECT_EQ(chosen.victims, plan.result.victims);
  EXPECT_EQ(chosen.retry_at, plan.result.retry_at);
  // And so does one that leaves nothing out.
  CycleState full_evaluation = plain.Clone();
  full_evaluation.SetFullEvaluation();
  PostFilterResult full;
  const Status full_status = plugin.PostFilter(full_evaluation, pod, listed, full);
  EXPECT_EQ(full_status.ToString(), plan.post_filter.ToString());
  EXPECT_EQ(full.nominated_node, plan.result.nominated_node);
  EXPECT_EQ(full.victims, plan.result.victims);
  EXPECT_EQ(full.retry_at, plan.result.retry_at);
  return plan;
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_PREEMPTION_SMALL_CLUSTER_H_
