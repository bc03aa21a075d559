// SPDX-License-Identifier: Apache-2.0
// The scheduler with real threads: one that schedules, some that bind, one that is the world.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "berth/check.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

// Waits until `done`, half a minute at most.
template <class Done>
bool Eventually(Done done) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!done()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

int Unbound(const InMemoryCluster& cluster) {
  int count = 0;
  for (const Object& object : cluster.List(Kind::kPod)) {
    if (object.As<api::Pod>().spec().node_name().empty()) ++count;
  }
  return count;
}

KubeSchedulerConfiguration ImpatientGangs() {
  KubeSchedulerConfiguration configuration = GangConfiguration();
  configuration.pod_max_backoff_seconds = 1;
  return configuration;
}

// A scheduler that runs on a thread of its own for as long as this object lives.
class RunningScheduler {
 public:
  RunningScheduler(KubeSchedulerConfiguration configuration, InMemoryCluster& cluster,
                   const Clock& clock, Executor& executor) {
    auto created = Scheduler::Create({.configuration = std::move(configuration),
                                      .registry = &Builtins(),
                                      .cluster = &cluster,
                                      .clock = &clock,
                                      .executor = &executor});
    BERTH_CHECK(created.ok()) << created.status();
    scheduler_ = *std::move(created);
    thread_ = std::thread([this] { EXPECT_TRUE(scheduler_->Run().ok()); });
  }
  ~RunningScheduler() {
    scheduler_->Stop();
    thread_.join();
  }

 private:
  std::unique_ptr<Scheduler> scheduler_;
  std::thread thread_;
};

TEST(Threads, EveryPodThatFitsIsBoundWhileBindingsFailAndTheWorldChanges) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(4);
  std::atomic<int> bindings = 0;
  cluster.SetBindFault([&](const Identity&, const std::string&) {
    return ++bindings % 7 == 0 ? absl::UnavailableError("every seventh") : absl::OkStatus();
  });
  for (int i = 0; i < 8; ++i) cluster.Set(MakeGpuNode(absl::StrCat("n", i), 8));

  const RunningScheduler scheduler(ImpatientGangs(), cluster, clock, *executor);

  for (int round = 0; round < 4; ++round) {
    for (int g = 0; g < 2; ++g) {
      const std::string group = absl::StrCat("g", round, "-", g);
      for (int i = 0; i < 4; ++i) {
        cluster.Set(MakeGpuPod(absl::StrCat(group, "-", i), 1, group));
      }
      cluster.Set(MakeGroup(group, 4));
    }
    for (int i = 0; i < 6; ++i) cluster.Set(MakeGpuPod(absl::StrCat("p", round, "-", i), 1));
    cluster.Delete(Kind::kPod, absl::StrCat("default/p", round, "-0"));
  }
  EXPECT_TRUE(Eventually([&] {
    cluster.AdvanceTo(clock.Now());
    return Unbound(cluster) == 0;
  })) << Unbound(cluster)
      << " pods are unbound";
}

TEST(Threads, PreemptorsEvictNoMoreThanTheyNeed) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(4);
  constexpr int kNodes = 8;
  for (int i = 0; i < kNodes; ++i) {
    cluster.Set(MakeGpuNode(absl::StrCat("n", i), 8));
    for (int j = 0; j < 2; ++j) {
      const Object pod = MakeGpuPod(absl::StrCat("low-", i, "-", j), 4);
      auto placed = std::make_shared<api::Pod>(pod.As<api::Pod>());
      placed->mutable_spec()->set_node_name(absl::StrCat("n", i));
      placed->mutable_spec()->set_termination_grace_period_seconds(0);
      cluster.Set(Object::Of(std::move(placed)));
    }
  }
  const RunningScheduler scheduler(DefaultConfiguration(Builtins()), cluster, clock, *executor);
  // Each needs one of the victims; together they need exactly half of them.
  for (int i = 0; i < kNodes; ++i) {
    const Object pod = MakeGpuPod(absl::StrCat("high-", i), 4);
    auto high = std::make_shared<api::Pod>(pod.As<api::Pod>());
    high->mutable_spec()->set_priority(10);
    cluster.Set(Object::Of(std::move(high)));
  }
  const auto bound = [&] { return cluster.Bindings().size() == kNodes; };
  EXPECT_TRUE(Eventually(bound)) << cluster.Bindings().size() << " are bound";
  EXPECT_EQ(cluster.Evictions().size(), size_t{kNodes});
}

// How long the random load lasts; BERTH_LOAD_SECONDS=N makes it N seconds.
absl::Duration LoadTime() {
  const char* text = std::getenv("BERTH_LOAD_SECONDS");
  int seconds = 2;
  if (text != nullptr && !absl::SimpleAtoi(text, &seconds)) ADD_FAILURE() << text;
  return absl::Seconds(seconds);
}

// Pods, groups and nodes come and go while every fifth binding fails and every fifth is slow. In
// the end there is room for all, and all are bound.
TEST(Threads, RandomLoadLeavesNoPodBehind) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(4);
  ClusterFaults faults;
  faults.bind_failure = 0.2;
  faults.slow_bind = 0.2;
  faults.max_bind_delay = absl::Milliseconds(20);
  faults.duplicated_event = 0.1;
  faults.delayed_event = 0.1;
  faults.max_event_delay = absl::Milliseconds(20);
  cluster.SetFaults(faults);
  for (int i = 0; i < 6; ++i) cluster.Set(MakeGpuNode(absl::StrCat("n", i), 8));

  const RunningScheduler scheduler(ImpatientGangs(), cluster, clock, *executor);

  std::mt19937_64 random(1);
  const auto below = [&random](int n) { return static_cast<int>(random() % n); };
  int next = 0;
  for (const absl::Time end = absl::Now() + LoadTime(); absl::Now() < end;) {
    const std::vector<Object> pods = cluster.List(Kind::kPod);
    const int kind = pods.size() > 100 ? 5 : below(8);
    if (kind == 0) {
      const std::string group = absl::StrCat("g", ++next);
      const int members = 2 + below(3);
      cluster.Set(MakeGroup(group, members));
      for (int i = 0; i < members; ++i) {
        cluster.Set(MakeGpuPod(absl::StrCat(group, "-", i), 1 + below(2), group));
      }
    } else if (kind < 3) {
      cluster.Set(MakeGpuPod(absl::StrCat("p", ++next), 1 + below(4)));
    } else if (kind == 3) {
      cluster.Set(MakeGpuNode(absl::StrCat("n", below(6)), 8));
    } else if (!pods.empty()) {
      const std::string key(pods[below(static_cast<int>(pods.size()))].key());
      if (kind == 4) {
        cluster.DeleteGracefully(key);
      } else if (pods.size() > 10) {
        cluster.Delete(Kind::kPod, key);
      }
    }
    cluster.AdvanceTo(clock.Now());
    absl::SleepFor(absl::Microseconds(below(2000)));
  }
  cluster.SetFaults({});
  for (const Object& object : cluster.List(Kind::kPod)) {  // what lost a sibling cannot start
    if (object.name().front() == 'g') cluster.Delete(Kind::kPod, object.key());
  }
  for (size_t i = 0; i < cluster.List(Kind::kPod).size(); ++i) {
    cluster.Set(MakeGpuNode(absl::StrCat("late", i), 8));
  }
  EXPECT_TRUE(Eventually([&] {
    cluster.AdvanceTo(clock.Now());
    return Unbound(cluster) == 0;
  })) << Unbound(cluster)
      << " pods are unbound";
}

// A class that makes volumes in 50 ms, and pods that each want one: "v0" ...
void AddPodsWithClaims(InMemoryCluster& cluster, int pods) {
  for (Object& object : testing::ObjectsFromYaml(R"(
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: late, annotations: {simulation.berth/provision-time: 50ms}},
 provisioner: disks, volumeBindingMode: WaitForFirstConsumer}
)")) {
    cluster.Set(std::move(object));
  }
  for (int i = 0; i < pods; ++i) {
    const std::string claim = absl::StrCat("c", i);
    cluster.Set(testing::ObjectsFromYaml(absl::StrCat(
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", claim,
        ", namespace: default}, spec: {storageClassName: late, accessModes: [ReadWriteOnce], ",
        "resources: {requests: {storage: 1Gi}}}}"))[0]);
    cluster.Set(testing::MakePod()
                    .Name(absl::StrCat("v", i))
                    .Namespace("default")
                    .Claim(claim)
                    .Request("nvidia.com/gpu", "1")
                    .Object());
  }
}

TEST(Threads, PodsThatWaitForVolumesLeaveTheThreadsOfBindingsToOthers) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  cluster.RunVolumeController();
  const std::unique_ptr<Executor> executor = MakeThreadPool(1);
  for (int i = 0; i < 8; ++i) cluster.Set(MakeGpuNode(absl::StrCat("n", i), 8));
  AddPodsWithClaims(cluster, 20);
  const RunningScheduler scheduler(DefaultConfiguration(Builtins()), cluster, clock, *executor);
  for (int i = 0; i < 20; ++i) cluster.Set(MakeGpuPod(absl::StrCat("p", i), 1));
  // No volume is made as long as nobody advances the cluster.
  EXPECT_TRUE(Eventually([&] { return cluster.Bindings().size() == 20; }));
  EXPECT_EQ(Unbound(cluster), 20);
  EXPECT_TRUE(Eventually([&] {
    cluster.AdvanceTo(clock.Now());
    return Unbound(cluster) == 0;
  })) << Unbound(cluster)
      << " pods are unbound";
}

TEST(Threads, EveryPodGetsItsVolumeWhileTheWorldChanges) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  cluster.RunVolumeController();
  const std::unique_ptr<Executor> executor = MakeThreadPool(4);
  ClusterFaults faults;
  faults.bind_failure = 0.1;
  faults.duplicated_event = 0.1;
  faults.delayed_event = 0.2;
  faults.max_event_delay = absl::Milliseconds(20);
  faults.relist = 0.02;
  cluster.SetFaults(faults);
  for (int i = 0; i < 8; ++i) cluster.Set(MakeGpuNode(absl::StrCat("n", i), 8));
  const RunningScheduler scheduler(ImpatientGangs(), cluster, clock, *executor);
  AddPodsWithClaims(cluster, 40);
  for (int i = 0; i < 40; ++i) {
    if (i % 4 == 0) cluster.Delete(Kind::kPod, absl::StrCat("default/v", i));
    if (i % 8 == 0) cluster.Delete(Kind::kPersistentVolumeClaim, absl::StrCat("default/c", i));
    cluster.AdvanceTo(clock.Now());
    absl::SleepFor(absl::Milliseconds(3));
  }
  EXPECT_TRUE(Eventually([&] {
    cluster.AdvanceTo(clock.Now());
    return Unbound(cluster) == 0;
  })) << Unbound(cluster)
      << " pods are unbound";
  std::map<std::string, int> claims_of;
  for (const Object& object : cluster.List(Kind::kPersistentVolumeClaim)) {
    ++claims_of[object.As<api::PersistentVolumeClaim>().spec().volume_name()];
  }
  claims_of.erase("");
  for (const auto& [volume, claims] : claims_of) EXPECT_EQ(claims, 1) << volume;
  EXPECT_GE(claims_of.size(), 30u);
}

// The scheduler goes while pods wait: it waits for nobody.
TEST(Threads, ASchedulerEndsWhilePodsWaitForVolumes) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  cluster.RunVolumeController();
  const std::unique_ptr<Executor> executor = MakeThreadPool(1);
  cluster.Set(MakeGpuNode("n", 8));
  AddPodsWithClaims(cluster, 4);
  {
    const RunningScheduler scheduler(DefaultConfiguration(Builtins()), cluster, clock, *executor);
    EXPECT_TRUE(Eventually([&] {
      for (const Object& object : cluster.List(Kind::kPersistentVolumeClaim)) {
        const auto& claim = object.As<api::PersistentVolumeClaim>();
        if (!claim.metadata().annotations().contains("volume.kubernetes.io/selected-node")) {
          return false;
        }
      }
      return true;
    }));
  }
  EXPECT_EQ(Unbound(cluster), 4);
}

// Where the pods of a cluster end up, and what the others wait for.
std::map<std::string, std::string> PlacedWith(int threads) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(threads);
  for (int i = 0; i < 16; ++i) cluster.Set(MakeGpuNode(absl::StrCat("n", i), 8));
  constexpr int kPods = 60;  // more than there is room for
  for (int i = 0; i < kPods; ++i) cluster.Set(MakeGpuPod(absl::StrCat("p", i), 1 + i % 5));
  const auto message = [](const api::Pod& pod) {
    for (const api::PodCondition& condition : pod.status().conditions()) {
      if (condition.type() == "PodScheduled") return condition.message();
    }
    return std::string();
  };
  const auto outcome = [&] {
    std::map<std::string, std::string> outcome;
    for (const Object& object : cluster.List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      const std::string& node = pod.spec().node_name();
      const std::string said = node.empty() ? message(pod) : node;
      if (!said.empty()) outcome.emplace(object.name(), said);
    }
    return outcome;
  };
  const RunningScheduler scheduler(DefaultConfiguration(Builtins()), cluster, clock, *executor);
  EXPECT_TRUE(Eventually([&] { return outcome().size() == kPods; }));
  return outcome();
}

TEST(Threads, OneAndEightThreadsPlaceTheSameForTheSameReasons) {
  const std::map<std::string, std::string> with_one = PlacedWith(1);
  EXPECT_EQ(PlacedWith(8), with_one);
  int waiting = 0;
  for (const auto& [pod, said] : with_one) waiting += said.front() == 'n' ? 0 : 1;
  EXPECT_GT(waiting, 0);
  EXPECT_LT(waiting, 60);
}

TEST(Threads, APoolHasOneAtLeast) {
  for (const int threads : {-1, 0}) {
    bool ran = false;
    MakeThreadPool(threads)->Run([&] { ran = true; });
    EXPECT_TRUE(ran) << threads;
  }
}

// Work that waits for other work: a PreBind whose volume comes only after somebody else's binding.
TEST(Threads, AGrowingPoolIsNotHeldUpByWorkThatWaits) {
  constexpr int kWaiting = 50;
  Mutex mutex;
  CondVar changed;
  bool open = false;
  int waiting = 0, done = 0;
  {
    const std::unique_ptr<Executor> executor = MakeGrowingThreadPool(kWaiting + 1);
    for (int i = 0; i < kWaiting; ++i) {
      executor->Run([&] {
        MutexLock lock(mutex);
        ++waiting;
        changed.SignalAll();
        while (!open) changed.Wait(mutex);
        ++done;
      });
    }
    executor->Run([&] {
      MutexLock lock(mutex);
      while (waiting < kWaiting) changed.Wait(mutex);
      open = true;
      changed.SignalAll();
    });
  }
  EXPECT_EQ(done, kWaiting) << "before the pool is gone";
}

TEST(Threads, AFullPoolRunsWorkInOrder) {
  std::vector<int> ran;
  {
    const std::unique_ptr<Executor> executor = MakeGrowingThreadPool(1);
    for (int i = 0; i < 1000; ++i) executor->Run([&ran, i] { ran.push_back(i); });
  }
  EXPECT_EQ(ran.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST(Threads, StopEndsRunWhilePodsWait) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(2);
  cluster.Set(MakeGpuPod("too-large", 8));
  const RunningScheduler scheduler(GangConfiguration(), cluster, clock, *executor);
  absl::SleepFor(absl::Milliseconds(50));
}

}  // namespace
}  // namespace berth
