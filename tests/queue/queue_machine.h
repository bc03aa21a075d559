// SPDX-License-Identifier: Apache-2.0
// Drives a scheduling queue with operations that somebody else chooses (a random sequence, a
// fuzzer), beside a model that is too simple to be wrong.
#ifndef BERTH_TESTS_QUEUE_QUEUE_MACHINE_H_
#define BERTH_TESTS_QUEUE_QUEUE_MACHINE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/check.h"
#include "berth/clock.h"
#include "group/group_index.h"
#include "queue/scheduling_queue.h"
#include "tests/queue/queue_fakes.h"

namespace berth::testing {

// Of the plugin "Colour", whose hints about pods help those of colour 0.
class ColourIndex final : public IndexedHints {
 public:
  bool IndexPod(const PodInfo& pod, std::vector<uint64_t>& values) const override {
    const Symbol* const colour = pod.labels().Find("colour");
    if (colour != nullptr && colour->view() == "0") values.push_back(0);
    return pod.name().back() % 5 != 0;
  }
  bool IndexChange(const ObjectChange& change, std::vector<uint64_t>& values) const override {
    values.push_back(0);
    return change.old_pod != nullptr || change.new_pod != nullptr;
  }
};

class QueueMachine {
 public:
  // A number below the bound.
  using Choose = std::function<uint32_t(uint32_t bound)>;

  // `asks_for_all`: the queue may ask about one of those that a plugin does not tell apart.
  explicit QueueMachine(Choose choose, bool asks_for_all = true, QueueOptions options = {})
      : choose_(std::move(choose)),
        asks_for_all_(asks_for_all),
        index_([this](const PodInfo& pod) { return groups_.GroupOf(pod); }),
        queue_(sort_, {Profile("one"), Profile("two")}, &index_, clock_, options) {
    for (int i = 0; i < kGroups; ++i) SetSpec(i);
  }

  // Before anything else: the order in which pods are moved will not decide which is tried first.
  void OrderByName() { sort_.by_name = true; }

  // One operation, and a look at what it left behind.
  absl::Status Step() {
    switch (choose_(14)) {
      case 0:
      case 1:
      case 2:
        Set(absl::StrCat("pod-", choose_(kPods)));
        break;
      case 3:
        Delete();
        break;
      case 4:
      case 5:
      case 6:
        Pop();
        break;
      case 7:
      case 8:
        Land();
        break;
      case 9:
        Event();
        break;
      case 10:
        Activate();
        break;
      case 11:
        clock_.Advance(absl::Milliseconds(choose_(choose_(8) == 0 ? 400'000 : 3000)));
        Tick();
        if (queue_.NextDue() <= clock_.Now()) Fail("something is due after Tick()");
        break;
      case 12:
        FailBinding();
        break;
      case 13:
        Oddity();
        break;
    }
    Check();
    return failure_;
  }

  // Events, and what else may happen before all moves are made that they lead to. What is done
  // depends on nothing that such moves change.
  absl::Status Burst() {
    for (uint32_t left = 1 + choose_(16); left > 0; --left) {
      switch (choose_(8)) {
        case 0:
          Set(absl::StrCat("pod-", choose_(kPods)));
          break;
        case 1:
          Delete();
          break;
        case 2:
        case 3:
        case 4:
          Event();
          break;
        case 5:
          if (choose_(4) == 0) Activate();
          break;
        case 6:
          RejectNewcomer();
          break;
        case 7:
          queue_.Tick(clock_.Now());
          break;
      }
      Check();
    }
    return failure_;
  }

  // Does all that is due. Returns who waits then.
  std::set<std::string> WhoWaits() {
    Tick();
    Check();
    std::set<std::string> names;
    for (const PendingReport& report : queue_.Pending()) {
      if (report.state == QueueState::kUnschedulable || report.state == QueueState::kGated) {
        names.emplace(report.pod->name());
      }
    }
    return names;
  }

  bool has_pending_events() const { return queue_.has_pending_events(); }

  void Tick() {
    while (queue_.Tick(clock_.Now())) {
    }
  }

  // Where every pod is, and what brought it there.
  std::string Digest() const {
    std::string digest;
    for (const PendingReport& report : queue_.Pending()) {
      const QueueEntry& entry = *queue_.FindByPod(report.pod->uid());
      absl::StrAppend(&digest, report.pod->name(), " ", QueueStateName(report.state), " ",
                      report.attempts, " ", entry.requeued_by.view(), " ", entry.sequence, "\n");
    }
    return digest;
  }

  // Lets every pod go; all must come out.
  absl::Status Drain() {
    for (auto& [name, spec] : groups_.specs) {
      spec.min_member = 1;
      queue_.GroupChanged(name);
    }
    while (!flying_.empty()) Land();
    std::vector<std::string> names;
    for (const auto& [uid, pod] : pending_) names.emplace_back(pod->name());
    for (const std::string& name : names) {
      if (!pending_.at(Uid(name))->scheduling_gates().empty()) Set(name, /*gated=*/false);
    }
    for (int round = 0; round < 8 && !pending_.empty(); ++round) {
      Tick();
      while (queue_.CanPop()) {
        Pop();
        Land(/*all_placed=*/true);
      }
      clock_.Advance(absl::Minutes(5));
    }
    Check();
    if (!pending_.empty()) Fail(pending_.begin()->first, " never came out");
    return failure_;
  }

 private:
  static constexpr int kPods = 60;
  static constexpr int kGroups = 4;
  using Pod = std::shared_ptr<const PodInfo>;

  template <class... T>
  void Fail(const T&... what) {
    if (failure_.ok()) failure_ = absl::InternalError(absl::StrCat(what...));
  }
  static std::string Uid(absl::string_view name) { return absl::StrCat("uid-", name); }

  // --- The world ---

  QueueProfile Profile(absl::string_view name) {
    QueueProfile profile{.name = Symbol::Intern(name),
                         .pre_enqueue = GateByList,
                         .group_plugin = &groups_,
                         .group_plugin_name = Symbol::Intern("Groups")};
    const auto add = [&](absl::string_view plugin, EventResource resource, ActionType action,
                         QueueingHintFn hint) {
      profile.plugins.push_back(
          {Symbol::Intern(plugin), {{ClusterEvent{resource, action, ""}, std::move(hint)}}});
    };
    add("Gates", EventResource::Pod(), action::kUpdatePodSchedulingGatesEliminated, nullptr);
    add("Groups", EventResource::Of(Kind::kPodGroup), action::kAdd | action::kUpdate, nullptr);
    add("Always", EventResource::Node(), action::kAll, nullptr);
    add("Never", EventResource::Node(), action::kAll,
        [](const PodInfo&, const ObjectChange&) { return QueueingHint::kSkip; });
    add("Picky", EventResource::Pod(), action::kDelete | action::kUpdatePodLabel,
        [](const PodInfo& pod, const ObjectChange&) -> absl::StatusOr<QueueingHint> {
          switch (pod.name().back() % 3) {
            case 0:
              return QueueingHint::kQueue;
            case 1:
              return QueueingHint::kSkip;
          }
          return absl::InternalError("cannot say");
        });
    // Reads what pods of one spec have in common, and whose change it is.
    add("Colour", EventResource::Pod(), action::kDelete | action::kUpdatePodLabel,
        [](const PodInfo& pod, const ObjectChange& change) {
          const bool own = change.new_pod != nullptr && change.new_pod->uid() == pod.uid();
          const Symbol* const colour = pod.labels().Find("colour");
          return own || (colour != nullptr && colour->view() == "0") ? QueueingHint::kQueue
                                                                     : QueueingHint::kSkip;
        });
    profile.plugins.back().events.push_back({{EventResource::Node(), action::kUpdateNodeTaint, ""},
                                             [](const PodInfo& pod, const ObjectChange&) {
                                               return pod.priority() == 1 ? QueueingHint::kQueue
                                                                          : QueueingHint::kSkip;
                                             }});
    if (asks_for_all_) profile.plugins.back().index = std::make_shared<ColourIndex>();
    for (PluginEvents& plugin : profile.plugins) {
      plugin.hints_read_spec_only = asks_for_all_ && plugin.plugin.view() != "Picky";
      // One without a hint says the same of all as well.
      for (ClusterEventWithHint& event : plugin.events) {
        if (event.hint != nullptr || asks_for_all_) continue;
        event.hint = [](const PodInfo&, const ObjectChange&) { return QueueingHint::kQueue; };
      }
    }
    return profile;
  }

  Pod MakePod(const std::string& name, std::optional<bool> gated) {
    const uint32_t group = choose_(2 * kGroups);
    return MakePod(name, gated, static_cast<int>(choose_(3)), group);
  }
  // For a group, if that is less than kGroups.
  Pod MakePod(const std::string& name, std::optional<bool> gated, int priority, uint32_t group) {
    auto message = std::make_shared<api::Pod>();
    message->mutable_metadata()->set_name(name);
    message->mutable_metadata()->set_namespace_("ns");
    message->mutable_metadata()->set_uid(Uid(name));
    message->mutable_metadata()->mutable_creation_timestamp()->set_seconds(choose_(3));
    // A pod's profile never changes.
    message->mutable_spec()->set_scheduler_name(name.back() % 4 == 0 ? "two" : "one");
    message->mutable_spec()->set_priority(priority);
    auto& labels = *message->mutable_metadata()->mutable_labels();
    if (group < kGroups) labels["group"] = absl::StrCat("g", group);
    labels["colour"] = absl::StrCat(choose_(2));
    if (gated.value_or(choose_(6) == 0)) {
      message->mutable_spec()->add_scheduling_gates()->set_name("gate");
    }
    absl::StatusOr<Pod> pod = PodInfo::Create(std::move(message));
    BERTH_CHECK(pod.ok()) << pod.status();
    return *std::move(pod);
  }

  void SetSpec(uint32_t group) {
    const std::string name = absl::StrCat("ns/g", group);
    groups_.specs[name] =
        GroupSpec{.min_member = 1 + static_cast<int>(choose_(4)),
                  .creation_time = absl::FromUnixSeconds(choose_(100)),
                  .backoff = choose_(3) == 0 ? absl::Seconds(20) : absl::ZeroDuration()};
    queue_.GroupChanged(name);
  }

  // --- Operations ---

  void Set(const std::string& name, std::optional<bool> gated = std::nullopt) {
    if (placed_.contains(Uid(name))) return;
    // Gates can be removed, never added.
    const auto known = pending_.find(Uid(name));
    if (known != pending_.end() && known->second->scheduling_gates().empty()) gated = false;
    const Pod pod = MakePod(name, gated);
    for (const std::string& group : index_.SetPod(pod)) queue_.GroupChanged(group);
    if (choose_(2) == 0) {
      queue_.Add(pod, groups_.GroupOf(*pod));
    } else {
      queue_.Update(pod, groups_.GroupOf(*pod));
    }
    pending_[pod->uid()] = pod;
  }

  void Delete() {
    const std::string uid = Uid(absl::StrCat("pod-", choose_(kPods)));
    if (const std::optional<std::string> group = index_.RemovePod(uid)) {
      queue_.GroupChanged(*group);
    }
    queue_.Delete(uid);
    pending_.erase(uid);
    placed_.erase(uid);
  }

  void Pop() {
    const bool any_active = queue_.active_size() > 0;
    const bool can = queue_.CanPop();
    const QueueEntry* entry = queue_.Pop();
    if (can != (entry != nullptr)) return Fail("CanPop() was ", can);
    if (entry == nullptr) return;
    if (!flying_.insert(entry->key).second) Fail(entry->key, " flies twice");
    if (entry->members.empty()) Fail(entry->key, " was popped without members");
    if (const Identity* next = queue_.PrefetchNext(*entry);
        next != nullptr && !queue_.Contains(next->uid()))
      Fail(next->uid(), " comes next and is not queued");
    for (const PendingPod& member : entry->members) {
      if (!member.pod->scheduling_gates().empty())
        Fail(member.pod->uid(), " popped in spite of its gate");
    }
    if (!any_active) return;
    for (const PendingReport& report : queue_.Pending()) {
      if (report.state != QueueState::kActive) continue;
      const QueueEntry& other = *queue_.FindByPod(report.pod->uid());
      if (sort_.Less(other.lead, entry->lead)) Fail(other.key, " should have gone first");
    }
  }

  void Land(bool all_placed = false) {
    if (flying_.empty()) return;
    const std::string key = *std::next(flying_.begin(), choose_(flying_.size()));
    flying_.erase(key);
    const QueueEntry* entry = queue_.Find(key);
    if (entry == nullptr || entry->state != QueueState::kInFlight) {
      return Fail(key, " went while in flight");
    }
    Rejection rejection = SomeRejection();
    const std::vector<PendingPod> members = entry->members;  // they change below
    const bool none_placed = !all_placed && choose_(2) == 0;
    bool any_left = false;
    for (const PendingPod& member : members) {
      const std::string& uid = member.pod->uid();
      if (none_placed || (!all_placed && choose_(3) == 0)) {
        any_left = true;
        rejection.pods.push_back({uid, Status::Unschedulable("full"), choose_(2) == 0});
        continue;
      }
      placed_[uid] = {member.pod, entry->history};
      pending_.erase(uid);
      index_.Assume(uid, "node");
      queue_.Placed(entry, uid);
    }
    if (any_left) {
      queue_.AddUnschedulable(entry, rejection);
    } else {
      queue_.Done(entry);
    }
  }

  // One that nobody comes before is tried at once, and waits for what happens from now on.
  void RejectNewcomer() {
    const std::string name = absl::StrCat("new-", newcomers_++);
    const Pod pod = MakePod(name, /*gated=*/false, /*priority=*/9 + newcomers_, kGroups);
    index_.SetPod(pod);
    pending_[pod->uid()] = pod;
    queue_.Add(pod, std::nullopt);
    const QueueEntry* const entry = queue_.Pop();
    if (entry != queue_.FindByPod(pod->uid())) return Fail(name, " does not come first");
    queue_.AddUnschedulable(entry, SomeRejection());
  }

  Rejection SomeRejection() {
    static const char* const kPlugins[] = {"Always", "Never",   "Picky",
                                           "Groups", "Unknown", "Colour"};
    Rejection rejection;
    if (choose_(3) == 0) {  // as of many others
      rejection.unschedulable_plugins = {Symbol::Intern("Colour")};
      return rejection;
    }
    for (uint32_t i = choose_(4); i > 0; --i) {
      const Symbol plugin = Symbol::Intern(kPlugins[choose_(6)]);
      (choose_(5) == 0 ? rejection.pending_plugins : rejection.unschedulable_plugins)
          .push_back(plugin);
    }
    if (choose_(4) == 0) rejection.retry_at = clock_.Now() + absl::Seconds(choose_(40));
    return rejection;
  }

  void Event() {
    ObjectChange change;
    const Object pod_group = Object::Of(std::make_shared<api::PodGroup>());
    switch (choose_(8)) {
      case 0:
        return queue_.MoveAllOnEvent({EventResource::Node(), action::kAdd, "NodeAdd"}, change);
      case 1:
        return queue_.MoveAllOnEvent({EventResource::AssignedPod(), action::kDelete, ""}, change);
      case 2:
        change.new_object = &pod_group;
        return queue_.MoveAllOnEvent(
            {EventResource::Of(Kind::kPodGroup), action::kUpdate, "PodGroupUpdate"}, change);
      case 3:
        return queue_.MoveAllOnEvent({EventResource::Wildcard(), action::kAll, ""}, change);
      case 4:
        return queue_.MoveAllOnEvent({EventResource::Node(), action::kUpdateNodeLabel, ""}, change,
                                     {.highest_priority = 0, .own = choose_(2) == 0});
      case 5:
        return SetSpec(choose_(kGroups));
      case 6:
        return queue_.MoveAllOnEvent({EventResource::Node(), action::kUpdateNodeTaint, ""}, change);
      case 7:  // a change of one that waits
        if (pending_.empty()) return;
        change.new_pod = std::next(pending_.begin(), choose_(pending_.size()))->second;
        change.old_pod = change.new_pod;
        return queue_.MoveAllOnEvent(
            {EventResource::UnscheduledPod(), action::kUpdatePodLabel, "Relabelled"}, change);
    }
  }

  void Activate() {
    std::vector<Pod> pods;
    for (const auto& [uid, pod] : pending_) {
      if (choose_(8) == 0) pods.push_back(pod);
    }
    queue_.Activate(pods);
  }

  // A placed pod comes back, or is bound for good.
  void FailBinding() {
    if (placed_.empty()) return;
    const auto it = std::next(placed_.begin(), choose_(placed_.size()));
    const auto [pod, history] = it->second;
    placed_.erase(it);
    if (choose_(2) == 0) {
      index_.RemovePod(pod->uid());
      return;
    }
    index_.Forget(pod->uid());
    queue_.Return(pod, groups_.GroupOf(*pod), history, SomeRejection());
    pending_[pod->uid()] = pod;
  }

  void Oddity() {
    queue_.Delete("nobody");
    queue_.Done(nullptr);
    queue_.AddUnschedulable(nullptr, {});
    queue_.GroupChanged("ns/nothing");
    queue_.Activate({MakePod("stranger", false)});
    if (pending_.empty()) return;
    // An entry that is not in flight cannot land.
    const auto it = std::next(pending_.begin(), choose_(pending_.size()));
    const QueueEntry* entry = queue_.FindByPod(it->first);
    if (entry == nullptr || entry->state == QueueState::kInFlight) return;
    queue_.Done(entry);
    queue_.AddUnschedulable(entry, SomeRejection());
  }

  // --- What must always hold ---

  void Check() {
    if (absl::Status status = queue_.CheckInvariants(); !status.ok()) return Fail(status.message());
    std::map<std::string, Pod> queued;
    for (const PendingReport& report : queue_.Pending()) queued[report.pod->uid()] = report.pod;
    for (const auto& [uid, pod] : pending_) {
      const auto it = queued.find(uid);
      if (it == queued.end()) return Fail(uid, " was lost");
      if (it->second != pod) return Fail(uid, " is an old version");
    }
    if (queued.size() != pending_.size()) Fail("a pod is queued that should not be");
    if (queue_.in_flight_size() != static_cast<int>(flying_.size())) Fail("a flight was lost");
  }

  const Choose choose_;
  const bool asks_for_all_;
  SimulatedClock clock_{absl::FromUnixSeconds(1'000'000)};
  ByPriority sort_;
  LabelGroups groups_;
  GroupIndex index_;
  SchedulingQueue queue_;
  absl::Status failure_;

  std::map<std::string, Pod> pending_;  // by uid
  struct PlacedPod {
    Pod pod;
    AttemptHistory history;
  };
  std::map<std::string, PlacedPod> placed_;  // by uid
  std::set<std::string> flying_;             // keys
  int newcomers_ = 0;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_QUEUE_QUEUE_MACHINE_H_
