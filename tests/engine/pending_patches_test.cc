// SPDX-License-Identifier: Apache-2.0
// Status patches wait without holding up bindings.
#include "engine/pending_patches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::ElementsAre;

// Its patches wait until they may go on.
class HeldPatches final : public Cluster {
 public:
  absl::Status Watch(WatchSink&, const std::vector<Kind>&) override { return absl::OkStatus(); }
  void StopWatching() override {}
  absl::Status Bind(const PodBinding&) override { return absl::OkStatus(); }
  absl::StatusOr<std::string> AssignedNode(const Identity&) override { return std::string(); }
  absl::Status Evict(const Identity&, const std::string&) override { return absl::OkStatus(); }
  absl::Status PatchPodStatus(const PodStatusPatch& patch) override {
    MutexLock lock(mutex_);
    patches_.push_back(patch);
    most_ = std::max(most_, ++under_way_);
    changed_.SignalAll();
    while (held_) changed_.Wait(mutex_);
    --under_way_;
    return absl::OkStatus();
  }
  void Record(RecordedEvent) override {}

  void WaitFor(int under_way) {
    MutexLock lock(mutex_);
    while (under_way_ < under_way) changed_.Wait(mutex_);
  }
  void Release() {
    MutexLock lock(mutex_);
    held_ = false;
    changed_.SignalAll();
  }
  std::vector<PodStatusPatch> patches() {
    MutexLock lock(mutex_);
    return patches_;
  }
  int most() {
    MutexLock lock(mutex_);
    return most_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool held_ ABSL_GUARDED_BY(mutex_) = true;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  int most_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<PodStatusPatch> patches_ ABSL_GUARDED_BY(mutex_);
};

PodStatusPatch Unschedulable(const std::string& pod, const std::string& message) {
  return {.pod = std::make_shared<const Identity>(Kind::kPod, "default", pod, pod),
          .condition_type = "PodScheduled",
          .condition_reason = "Unschedulable",
          .condition_message = message};
}

// There were as many at once as there were threads, and bindings waited for them.
TEST(PendingPatches, HowManyPodsEverFailBindingsFindAThread) {
  HeldPatches cluster;
  {
    const std::unique_ptr<Executor> executor = MakeGrowingThreadPool(16);
    PendingPatches patches(cluster, *executor);
    for (int i = 0; i < 1000; ++i) patches.Add(Unschedulable(absl::StrCat("p", i), "m"));
    cluster.WaitFor(8);
    Mutex mutex;
    CondVar changed;
    bool is_bound = false;
    executor->Run([&] {
      MutexLock lock(mutex);
      is_bound = true;
      changed.SignalAll();
    });
    {
      MutexLock lock(mutex);
      while (!is_bound) changed.Wait(mutex);
    }
    EXPECT_EQ(cluster.most(), 8);
    cluster.Release();
    while (cluster.patches().size() < 1000) absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_EQ(cluster.patches().size(), 1000);
  EXPECT_EQ(cluster.most(), 8);
}

TEST(PendingPatches, OfAPodThatWaitsTheLatestIsWritten) {
  const SimulatedClock clock(absl::UnixEpoch());
  RefusingCluster cluster(clock);
  SteppedExecutor executor;
  PendingPatches patches(cluster, executor);
  PodStatusPatch nomination = Unschedulable("a", "");
  nomination.condition_type.clear();
  nomination.nominated_node_name = "n";
  patches.Add(Unschedulable("a", "first"));
  patches.Add(nomination);
  patches.Add(Unschedulable("b", "gone"));
  patches.Add(Unschedulable("a", "second"));
  patches.Drop(*Unschedulable("b", "").pod);
  executor.RunAll();
  ASSERT_EQ(cluster.patches.size(), 1);
  EXPECT_EQ(cluster.patches[0].condition_message, "second");
  EXPECT_EQ(cluster.patches[0].nominated_node_name, "n");
  patches.Add(Unschedulable("b", "again"));
  patches.Add(Unschedulable("a", "third"));
  executor.RunAll();
  std::vector<std::string> messages;
  for (const PodStatusPatch& patch : cluster.patches) messages.push_back(patch.condition_message);
  EXPECT_THAT(messages, ElementsAre("second", "again", "third"));
}

TEST(PendingPatches, WhatWaitsAtTheEndIsNotWritten) {
  const SimulatedClock clock(absl::UnixEpoch());
  RefusingCluster cluster(clock);
  SteppedExecutor executor;
  {
    PendingPatches patches(cluster, executor);
    for (int i = 0; i < 20; ++i) patches.Add(Unschedulable(absl::StrCat("p", i), "m"));
  }
  executor.RunAll();
  EXPECT_TRUE(cluster.patches.empty());
}

}  // namespace
}  // namespace berth
