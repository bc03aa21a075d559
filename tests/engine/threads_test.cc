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
