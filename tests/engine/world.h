// SPDX-License-Identifier: Apache-2.0
// A scheduler over a cluster whose calls a test can hold up or refuse, with plugins it can script.
#ifndef BERTH_TESTS_ENGINE_WORLD_H_
#define BERTH_TESTS_ENGINE_WORLD_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/configuration.h"
#include "berth/executor.h"
#include "berth/in_memory_cluster.h"
#include "berth/scheduler.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {

// Keeps work until the test runs it.
class SteppedExecutor final : public Executor {
 public:
  void Run(std::function<void()> work) override { work_.push_back(std::move(work)); }

  int size() const { return static_cast<int>(work_.size()); }
  void RunOne() {
    std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    work();
  }
  void RunAll() {
    while (!work_.empty()) RunOne();
  }
  ~SteppedExecutor() override { RunAll(); }

 private:
  std::deque<std::function<void()>> work_;
};

// An InMemoryCluster that can refuse evictions and lose answers.
class RefusingCluster final : public Cluster {
 public:
  explicit RefusingCluster(const Clock& clock) : memory(clock) {}

  absl::Status Watch(WatchSink& sink, const std::vector<Kind>& kinds) override {
    return memory.Watch(sink, kinds);
  }
  void StopWatching() override { memory.StopWatching(); }
  absl::Status Bind(const PodBinding& binding) override {
    if (lost == Lost::kRequest) return absl::DeadlineExceededError("no answer");
    const absl::Status bound = memory.Bind(binding);
    return lost == Lost::kAnswer ? absl::DeadlineExceededError("no answer") : bound;
  }
  absl::StatusOr<std::string> AssignedNode(const Identity& pod) override {
    ++questions;
    if (unanswered_questions-- > 0) return absl::UnavailableError("not now");
    return memory.AssignedNode(pod);
  }
  absl::Status Evict(const Identity& pod, const std::string& message) override {
    evictions_asked.emplace_back(pod.name());
    if (const auto it = refuse_evictions.find(std::string(pod.name()));
        it != refuse_evictions.end() && it->second-- > 0) {
      return absl::UnavailableError("not now");
    }
    return memory.Evict(pod, message);
  }
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override {
    patches.push_back(patch);
    return memory.PatchPodStatus(patch);
  }
  absl::Status Edit(const ObjectEdit& edit) override {
    if (before_edit != nullptr) before_edit(edit);
    if (lost_edit == Lost::kNothing || edit.part != ObjectUpdate::Part::kStatus) {
      return memory.Edit(edit);
    }
    // The next one of a status only. What is lost has been made up.
    ObjectEdit lost = edit;
    if (std::exchange(lost_edit, Lost::kNothing) == Lost::kRequest) {
      lost.edit = [&edit](google::protobuf::Message& latest) {
        const absl::Status edited = edit.edit(latest);
        return edited.ok() ? absl::DeadlineExceededError("no answer") : edited;
      };
    }
    const absl::Status edited = memory.Edit(lost);
    return edited.ok() ? absl::DeadlineExceededError("no answer") : edited;
  }
  absl::StatusOr<Object> Create(const Object& object) override {
    if (before_create != nullptr) before_create(object);
    absl::StatusOr<Object> created = memory.Create(object);
    if (std::exchange(lose_create, false)) return absl::DeadlineExceededError("no answer");
    return created;
  }
  absl::Status Delete(const Identity& object) override { return memory.Delete(object); }
  void Record(RecordedEvent event) override { memory.Record(std::move(event)); }

  InMemoryCluster memory;
  enum class Lost { kNothing, kRequest, kAnswer } lost = Lost::kNothing;  // of bindings
  Lost lost_edit = Lost::kNothing;
  std::function<void(const ObjectEdit&)> before_edit;
  std::function<void(const Object&)> before_create;
  bool lose_create = false;      // the answer to the next one
  int unanswered_questions = 0;  // so many about a pod's node are answered with an error first
  int questions = 0;
  std::map<std::string, int> refuse_evictions;  // by the pod's name: how often
  std::vector<std::string> evictions_asked;
  std::vector<PodStatusPatch> patches;
};

// The scheduler, one step at a time. With `stepped`, calls to the cluster wait for
// executor.RunAll().
class World {
 public:
  enum class Calls { kAtOnce, kStepped };

  World(KubeSchedulerConfiguration configuration, const Registry& registry,
        Calls calls = Calls::kAtOnce, absl::Duration slow_call = absl::Milliseconds(100),
        int64_t work_budget_steps = SchedulerOptions().work_budget_steps) {
    auto created = Scheduler::Create(
        {.configuration = std::move(configuration),
         .registry = &registry,
         .cluster = &cluster,
         .clock = &clock,
         .executor = calls == Calls::kStepped ? static_cast<Executor*>(&executor) : &at_once,
         .seed = 1,
         .work_budget_steps = work_budget_steps,
         .slow_plugin_call = slow_call});
    EXPECT_TRUE(created.ok()) << created.status();
    scheduler = *std::move(created);
  }
  ~World() { executor.RunAll(); }

  InMemoryCluster& memory() { return cluster.memory; }
  void Set(Object object) { cluster.memory.Set(std::move(object)); }
  void Run() { scheduler->RunUntilIdle(); }
  // Runs the scheduler and the calls it makes until neither has anything to do.
  void Settle() {
    do {
      executor.RunAll();
      Run();
    } while (executor.size() > 0);
  }
  void Advance(absl::Duration by) {
    clock.Advance(by);
    cluster.memory.AdvanceTo(clock.Now());
    Settle();
  }

  std::string NodeOf(const std::string& pod) {
    const auto found = std::static_pointer_cast<const api::Pod>(
        cluster.memory.Find(Kind::kPod, absl::StrCat("default/", pod)));
    return found == nullptr ? "(gone)" : found->spec().node_name();
  }
  std::string Nominated(const std::string& pod) {
    const auto found = std::static_pointer_cast<const api::Pod>(
        cluster.memory.Find(Kind::kPod, absl::StrCat("default/", pod)));
    return found == nullptr ? "(gone)" : found->status().nominated_node_name();
  }
  UnboundPod Pending(const std::string& pod) {
    for (UnboundPod& unbound : scheduler->Unbound()) {
      if (unbound.pod == absl::StrCat("default/", pod)) return unbound;
    }
    ADD_FAILURE() << pod << " is not pending";
    return {};
  }
  // The texts of the events of one reason about a pod.
  std::vector<std::string> Notes(const std::string& pod, const std::string& reason) {
    std::vector<std::string> texts;
    for (const RecordedEvent& event : cluster.memory.RecordedEvents()) {
      if (event.regarding->name() == pod && event.reason == reason) texts.push_back(event.note());
    }
    return texts;
  }
  api::PodCondition Condition(const std::string& pod, const std::string& type) {
    const auto found = std::static_pointer_cast<const api::Pod>(
        cluster.memory.Find(Kind::kPod, absl::StrCat("default/", pod)));
    if (found != nullptr) {
      for (const api::PodCondition& condition : found->status().conditions()) {
        if (condition.type() == type) return condition;
      }
    }
    return {};
  }

  SimulatedClock clock{absl::UnixEpoch() + absl::Hours(24)};
  InlineExecutor at_once;
  SteppedExecutor executor;
  RefusingCluster cluster{clock};
  std::unique_ptr<Scheduler> scheduler;
};

// In the namespace "default".
inline testing::PodBuilder CpuPod(const std::string& name, const std::string& cpu) {
  return testing::MakePod().Name(name).Namespace("default").Request("cpu", cpu);
}
inline testing::NodeBuilder CpuNode(const std::string& name, const std::string& cpu) {
  return testing::MakeNode().Name(name).Allocatable("cpu", cpu).Allocatable("memory", "64Gi");
}

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_WORLD_H_
