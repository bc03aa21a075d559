// SPDX-License-Identifier: Apache-2.0
// Plugins with threads of their own: they allow, reject, wake and count while the scheduler runs,
// and until it has gone.
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/prefilter.h"
#include "berth/handle/counter.h"
#include "berth/mutex.h"
#include "gmock/gmock.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

// A licence server far away: Permit asks, and a thread answers later.
class Licences final : public Plugin, public PermitPlugin, public PreFilterPlugin {
 public:
  static constexpr absl::string_view kName = "Licences";

  explicit Licences(Handle& handle) : handle_(handle) {
    for (int i = 0; i < 3; ++i) threads_.emplace_back([this] { Answer(); });
  }
  ~Licences() override {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  absl::string_view Name() const override { return kName; }

  // Closed for pods of this name until a thread has opened it.
  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) override {
    if (pod.name() != "late" || open_) return Status::Success();
    const MutexLock lock(mutex_);
    late_ = PodInfo::Create(pod.packed()).value();
    return Status::Pending("closed");
  }

  Status Permit(CycleState&, const PodInfo& pod, absl::string_view,
                absl::Duration& timeout) override {
    const MutexLock lock(mutex_);
    asked_.emplace_back(pod.uid(), pod.labels().Find("bad") != nullptr);
    timeout = absl::Minutes(1);
    return Status::Wait();
  }

 private:
  void Answer() {
    Counter& answers = handle_.CounterOf("Licences/answers");
    while (!stopping_) {
      std::pair<std::string, bool> next;
      {
        const MutexLock lock(mutex_);
        if (!asked_.empty()) {
          next = asked_.front();
          asked_.pop_front();
        }
        if (late_ != nullptr) {
          handle_.Post(kName, [this] { open_ = true; });
          handle_.PostActivate(kName, {std::move(late_)});
          late_ = nullptr;
        }
      }
      if (next.first.empty()) {
        handle_.Post(kName, [] {});  // also while the scheduler goes
        absl::SleepFor(absl::Milliseconds(1));
        continue;
      }
      answers.Add();
      if (next.second) {
        handle_.PostReject(kName, next.first, "no licence");
      } else {
        handle_.PostAllow(kName, next.first);
      }
    }
  }

  Handle& handle_;
  bool open_ = false;  // of the scheduling thread
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  std::deque<std::pair<std::string, bool>> asked_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const PodInfo> late_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

TEST(PluginThreads, AllowRejectWakeAndCount) {
  const Registry registry =
      BuiltinRegistry({WithPlugin(Licences::kName, [](const PluginArgs&, Handle& handle) {
        return std::make_unique<Licences>(handle);
      })}).value();
  const LoadedConfiguration loaded = ParseConfiguration(
      R"({apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,
          profiles: [{plugins: {multiPoint: {enabled: [{name: Licences}]}}}]})",
      "test", registry);
  ASSERT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  const RealClock clock;
  InMemoryCluster cluster(clock);
  const std::unique_ptr<Executor> executor = MakeThreadPool(2);
  std::unique_ptr<Scheduler> scheduler = Scheduler::Create({.configuration = loaded.configuration,
                                                            .registry = &registry,
                                                            .cluster = &cluster,
                                                            .clock = &clock,
                                                            .executor = executor.get()})
                                             .value();
  std::thread thread([&] { EXPECT_TRUE(scheduler->Run().ok()); });
  cluster.Set(CpuNode("n0", "100").Object());
  constexpr int kGood = 40;
  for (int i = 0; i < kGood; ++i) {
    cluster.Set(CpuPod(absl::StrCat("p", i), "1").Uid(absl::StrCat("u", i)).Object());
  }
  cluster.Set(CpuPod("bad", "1").Uid("bad").Label("bad", "yes").Object());
  cluster.Set(CpuPod("late", "1").Uid("late").Object());
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (cluster.Bindings().size() < kGood + 1 && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(cluster.Bindings().size(), kGood + 1);
  while (scheduler->PluginCounters()["Licences/answers"] < kGood + 2 && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_GE(scheduler->PluginCounters()["Licences/answers"], kGood + 2);
  scheduler->Stop();
  thread.join();
  scheduler.reset();  // the plugin's threads still post
}

}  // namespace
}  // namespace berth
