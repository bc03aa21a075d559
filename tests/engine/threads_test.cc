// The scheduler with real threads: one that schedules, some that bind, one that is the world.
#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "absl/time/clock.h"
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

TEST(Threads, EveryPodThatFitsIsBoundWhileBindingsFailAndTheWorldChanges) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(4);
  std::atomic<int> bindings = 0;
  cluster.SetBindFault([&](const PodReference&, const std::string&) {
    return ++bindings % 7 == 0 ? absl::UnavailableError("every seventh") : absl::OkStatus();
  });
  for (int i = 0; i < 8; ++i) cluster.Set(MakeGpuNode(absl::StrCat("n", i), 8));

  KubeSchedulerConfiguration configuration = GangConfiguration();
  configuration.pod_max_backoff_seconds = 1;
  auto scheduler = Scheduler::Create({.configuration = configuration,
                                      .registry = &Builtins(),
                                      .cluster = &cluster,
                                      .clock = &clock,
                                      .executor = executor.get()});
  ASSERT_TRUE(scheduler.ok()) << scheduler.status();
  std::thread scheduling([&] { EXPECT_TRUE((*scheduler)->Run().ok()); });

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
  const auto unbound = [&] {
    int count = 0;
    for (const Object& object : cluster.List(Kind::kPod)) {
      if (object.As<api::Pod>().spec().node_name().empty()) ++count;
    }
    return count;
  };
  EXPECT_TRUE(Eventually([&] { return unbound() == 0; })) << unbound() << " pods are unbound";
  (*scheduler)->Stop();
  scheduling.join();
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
  auto scheduler = Scheduler::Create({.configuration = DefaultConfiguration(Builtins()),
                                      .registry = &Builtins(),
                                      .cluster = &cluster,
                                      .clock = &clock,
                                      .executor = executor.get()});
  ASSERT_TRUE(scheduler.ok()) << scheduler.status();
  std::thread scheduling([&] { EXPECT_TRUE((*scheduler)->Run().ok()); });
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
  (*scheduler)->Stop();
  scheduling.join();
}

TEST(Threads, StopEndsRunWhilePodsWait) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(2);
  cluster.Set(MakeGpuPod("too-large", 8));
  auto scheduler = Scheduler::Create({.configuration = GangConfiguration(),
                                      .registry = &Builtins(),
                                      .cluster = &cluster,
                                      .clock = &clock,
                                      .executor = executor.get()});
  ASSERT_TRUE(scheduler.ok()) << scheduler.status();
  std::thread scheduling([&] { EXPECT_TRUE((*scheduler)->Run().ok()); });
  absl::SleepFor(absl::Milliseconds(50));
  (*scheduler)->Stop();
  scheduling.join();
}

}  // namespace
}  // namespace berth
