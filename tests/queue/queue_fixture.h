// SPDX-License-Identifier: Apache-2.0
// A small language for tests of the queue: Add(), Pop(), Reject(), StateOf() …
#ifndef BERTH_TESTS_QUEUE_QUEUE_FIXTURE_H_
#define BERTH_TESTS_QUEUE_QUEUE_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/testing/objects.h"
#include "group/group_index.h"
#include "gtest/gtest.h"
#include "queue/scheduling_queue.h"
#include "tests/queue/queue_fakes.h"

namespace berth::testing {

inline const ClusterEvent kNodeAdd{EventResource::Node(), action::kAdd, "NodeAdd"};
inline const ClusterEvent kPodDelete{EventResource::AssignedPod(), action::kDelete, "PodDelete"};
inline const ClusterEvent kWildcard{EventResource::Wildcard(), action::kAll, "Test"};

inline QueueingHintFn Says(QueueingHint hint) {
  return [hint](const PodInfo&, const ObjectChange&) { return hint; };
}

class QueueTest : public ::testing::Test {
 protected:
  QueueTest() : index_([this](const PodInfo& pod) { return groups_.GroupOf(pod); }) {
    profile_.name = Symbol::Intern("default-scheduler");
    profile_.pre_enqueue = GateByList;
    profile_.group_plugin = &groups_;
    profile_.group_plugin_name = Symbol::Intern("Groups");
    Register("Gates", EventResource::UnscheduledPod(), action::kUpdatePodSchedulingGatesEliminated);
    Register("Groups", EventResource::Of(Kind::kPodGroup), action::kAdd | action::kUpdate);
  }
  ~QueueTest() override {
    EXPECT_TRUE(queue().CheckInvariants().ok()) << queue().CheckInvariants();
  }

  // --- Before the first use of the queue ---

  void Register(absl::string_view plugin, EventResource resource, ActionType action,
                QueueingHintFn hint = nullptr) {
    profile_.plugins.push_back(
        {Symbol::Intern(plugin), {{ClusterEvent{resource, action, ""}, std::move(hint)}}});
  }
  // One that does not tell pods apart that share their spec.
  void RegisterForAlike(absl::string_view plugin, EventResource resource, ActionType action,
                        QueueingHintFn hint) {
    Register(plugin, resource, action, std::move(hint));
    profile_.plugins.back().hints_read_spec_only = true;
  }
  // Of what was registered last.
  void FilterLast(EventFilterFn filter) {
    profile_.plugins.back().events.back().filter = std::move(filter);
  }
  void SetMinMember(absl::string_view group, int min_member,
                    absl::Time created = absl::FromUnixSeconds(1),
                    absl::Duration rest = absl::ZeroDuration()) {
    groups_.specs[std::string(group)] =
        GroupSpec{.min_member = min_member, .creation_time = created, .backoff = rest};
  }

  SchedulingQueue& queue() {
    if (queue_ == nullptr) {
      queue_ = std::make_unique<SchedulingQueue>(sort_, std::vector<QueueProfile>{profile_},
                                                 &index_, clock_, options_);
    }
    return *queue_;
  }

  // --- Pods ---

  std::shared_ptr<const PodInfo> Add(const PodBuilder& builder) {
    std::shared_ptr<const PodInfo> pod = builder.Obj();
    for (const std::string& group : index_.SetPod(pod)) queue().GroupChanged(group);
    queue().Add(pod, groups_.GroupOf(*pod));
    return pod;
  }
  void Update(const PodBuilder& builder) {
    std::shared_ptr<const PodInfo> pod = builder.Obj();
    for (const std::string& group : index_.SetPod(pod)) queue().GroupChanged(group);
    queue().Update(pod, groups_.GroupOf(*pod));
  }
  static std::string Uid(absl::string_view name) { return absl::StrCat("default/", name); }
  void Delete(absl::string_view name) {
    const std::optional<std::string> group = index_.RemovePod(Uid(name));
    if (group.has_value()) queue().GroupChanged(*group);
    queue().Delete(Uid(name));
  }

  // --- Attempts ---

  // The name of the next entry's lead; "" if there is none.
  std::string Pop() {
    popped_ = queue().Pop();
    if (popped_ == nullptr) return "";
    key_ = popped_->key;
    return std::string(popped_->lead.pod->name());
  }
  // What came of the entry popped last.
  void Reject(const std::vector<absl::string_view>& plugins,
              const std::vector<absl::string_view>& pending_plugins = {}) {
    Rejection rejection;
    for (const absl::string_view name : plugins) {
      rejection.unschedulable_plugins.push_back(Symbol::Intern(name));
    }
    for (const absl::string_view name : pending_plugins) {
      rejection.pending_plugins.push_back(Symbol::Intern(name));
    }
    queue().AddUnschedulable(popped_, rejection);
  }
  void FailWithError() { Reject({}); }
  // A pod that was tried and rejected by `plugin`, its backoff over.
  void AddRejected(const PodBuilder& builder, absl::string_view plugin) {
    Add(builder);
    Pop();
    Reject({plugin});
    clock_.Advance(absl::Seconds(30));
  }

  // --- Looking ---

  // For the entry that holds the pod.
  std::optional<QueueState> StateOf(absl::string_view name) {
    const QueueEntry* entry = queue().FindByPod(Uid(name));
    if (entry == nullptr) return std::nullopt;
    return entry->state;
  }
  std::vector<std::string> Members(absl::string_view name) {
    std::vector<std::string> names;
    for (const PendingPod& member : queue().FindByPod(Uid(name))->members) {
      names.emplace_back(member.pod->name());
    }
    return names;
  }

  SimulatedClock clock_{absl::FromUnixSeconds(1000)};
  ByPriority sort_;
  LabelGroups groups_;
  GroupIndex index_;
  QueueProfile profile_;
  QueueOptions options_;
  const QueueEntry* popped_ = nullptr;
  std::string key_;

 private:
  std::unique_ptr<SchedulingQueue> queue_;
};

inline PodBuilder Pod(absl::string_view name, int32_t priority = 0) {
  return MakePod().Name(name).Priority(priority);
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_QUEUE_QUEUE_FIXTURE_H_
