// SPDX-License-Identifier: Apache-2.0
// Big gangs in a stream of small jobs: one that has a reservation starts at its time or before,
// whatever else comes; the time is the earliest that sums allow; the same input has the same
// result.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/time.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakePod;
using testing::Random;

struct StreamJob {
  std::string name;
  int comes = 0;  // seconds
  int gpus = 1;
  int runs = 0;  // seconds
  int says = 0;  // how long it runs at most; 0: nothing
};

struct StreamCase {
  std::vector<int> nodes;  // GPUs
  int members = 1, gpus = 1;
  int gang_comes = 0;
  std::vector<StreamJob> jobs;
};

// More than the nodes can run, so that some always wait.
StreamCase MakeStream(Random& random) {
  StreamCase made;
  const int nodes = random.Between(2, 5);
  for (int i = 0; i < nodes; ++i) made.nodes.push_back(random.Percent(70) ? 8 : 4);
  made.gpus = random.OneOf<int>({2, 4, 4});
  int most = 0;
  for (const int gpus : made.nodes) most += gpus / made.gpus;
  made.members = std::max(2, random.Between(most / 2, most));
  made.gang_comes = random.Between(1, 40);
  for (int comes = 0; comes < 400; comes += random.Between(0, 4)) {
    StreamJob job;
    job.name = absl::StrCat("job-", made.jobs.size());
    job.comes = comes;
    job.gpus = random.OneOf<int>({1, 1, 2, 4});
    job.runs = random.OneOf<int>({10, 20, 35, 60, 150, 300});
    // Some end before they said; few say nothing.
    job.says = random.Percent(4) ? 0 : job.runs + (random.Percent(30) ? 25 : 0);
    made.jobs.push_back(job);
  }
  return made;
}

std::string Describe(const StreamCase& made) {
  std::string text =
      absl::StrCat("gang of ", made.members, " x ", made.gpus, " at ", made.gang_comes, ", nodes");
  for (const int gpus : made.nodes) absl::StrAppend(&text, " ", gpus);
  return absl::StrCat(text, ", jobs ", made.jobs.size());
}

KubeSchedulerConfiguration ReservingConfiguration(int reserve_after_seconds) {
  LoadedConfiguration loaded = ParseConfiguration(absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Coscheduling}]
      disabled: [{name: PrioritySort}]
  pluginConfig:
  - name: Coscheduling
    args: {reserveAfterSeconds: )",
                                                               reserve_after_seconds, "}\n"),
                                                  "config", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

constexpr absl::Time kNever = absl::InfiniteFuture();

struct StreamOutcome {
  std::map<std::string, std::string> starts;  // when and on which node, by pod
  absl::Time gang_started = kNever;
  absl::Time promised = kNever;  // the time that was told last
  int backfilled = 0;            // jobs that started on reserved nodes
};

// One run, looked at each second.
class StreamRun {
 public:
  StreamRun(const StreamCase& made, int reserve_after, bool incremental) : made_(made) {
    std::vector<Object> objects = {MakeGroup("g", made.members)};
    for (size_t i = 0; i < made.nodes.size(); ++i) {
      objects.push_back(MakeGpuNode(absl::StrCat("n", i), made.nodes[i]));
    }
    simulation_ = Simulation::Create({.configuration = ReservingConfiguration(reserve_after),
                                      .registry = &Builtins(),
                                      .objects = std::move(objects),
                                      .start = kStart,
                                      .incremental = incremental})
                      .value();
    simulation_->cluster().Observe([this](const InMemoryCluster::Incident& incident) {
      using What = InMemoryCluster::Incident::What;
      if (incident.what == What::kBound) Bound(std::string(incident.pod->name()), incident.node);
      if (incident.what == What::kFinished) running_.erase(std::string(incident.pod->name()));
    });
    simulation_->scheduler().ObserveAttempts([this](const AttemptRecord& attempt) {
      if (!attempt.group.empty()) earliest_ = Earliest();
    });
    for (const StreamJob& job : made.jobs) job_of_.emplace(job.name, &job);
  }

  StreamOutcome Run() {
    size_t next = 0;
    for (second_ = 0; second_ <= kEnd && outcome_.gang_started == kNever; ++second_) {
      if (second_ == made_.gang_comes) AddGang();
      for (; next < made_.jobs.size() && made_.jobs[next].comes == second_; ++next) {
        AddJob(made_.jobs[next]);
      }
      simulation_->AdvanceTo(kStart + absl::Seconds(second_));
      Look();
    }
    return outcome_;
  }

 private:
  static constexpr int kEnd = 2000;
  const absl::Time kStart = absl::UnixEpoch() + absl::Hours(24);

  struct Running {
    std::string node;
    int gpus = 0;
    absl::Time end = kNever;  // as it said
  };

  void AddGang() {
    for (int i = 0; i < made_.members; ++i) {
      simulation_->cluster().Set(MakeGpuPod(absl::StrCat("g-", i), made_.gpus, "g"));
    }
  }
  void AddJob(const StreamJob& job) {
    auto pod = MakePod().Name(job.name).Namespace("default").Request("nvidia.com/gpu",
                                                                     absl::StrCat(job.gpus));
    pod.Annotation("simulation.berth/run-time", absl::StrCat(job.runs, "s"));
    if (job.says > 0) pod.Annotation("scheduling.berth.dev/run-time", absl::StrCat(job.says, "s"));
    simulation_->cluster().Set(pod.Object());
  }
  void Bound(const std::string& pod, absl::string_view node) {
    const absl::Time now = simulation_->now();
    outcome_.starts[pod] = absl::StrCat(TimeToString(now), " ", node);
    const auto job = job_of_.find(pod);
    if (job == job_of_.end()) {
      outcome_.gang_started = now;
      return;
    }
    running_[pod] = {std::string(node), job->second->gpus,
                     job->second->says > 0 ? now + absl::Seconds(job->second->says) : kNever};
    if (absl::c_linear_search(reserved_, node)) ++outcome_.backfilled;
  }

  // The earliest time by which there is room for the gang, as the jobs that run say they end.
  absl::Time Earliest() const {
    std::vector<absl::Time> times = {simulation_->now()};
    for (const auto& [name, running] : running_) times.push_back(running.end);
    absl::c_sort(times);
    for (const absl::Time time : times) {
      int room = 0;
      for (size_t i = 0; i < made_.nodes.size(); ++i) {
        int free = made_.nodes[i];
        for (const auto& [name, running] : running_) {
          if (running.node != absl::StrCat("n", i)) continue;
          if (running.end == kNever || running.end > time) free -= running.gpus;
        }
        room += free / made_.gpus;
      }
      if (room >= made_.members) return time;
    }
    return kNever;
  }

  void Look() {
    reserved_.clear();
    if (second_ < made_.gang_comes || outcome_.gang_started < kNever) return;
    for (const PodGroupState& group : simulation_->scheduler().PodGroups()) {
      if (!group.waiting.has_value() || group.waiting->reserved_nodes.empty()) continue;
      reserved_ = group.waiting->reserved_nodes;
      const absl::Time from = group.waiting->reserved_from;
      EXPECT_EQ(from, earliest_) << "at " << second_;
      EXPECT_LE(from, outcome_.promised) << "at " << second_;
      outcome_.promised = from;
    }
  }

  const StreamCase& made_;
  std::map<std::string, const StreamJob*> job_of_;
  std::map<std::string, Running> running_;
  std::vector<std::string> reserved_;
  absl::Time earliest_ = kNever;  // as of the gang's last attempt
  int second_ = 0;
  StreamOutcome outcome_;
  std::unique_ptr<Simulation> simulation_;
};

StreamOutcome RunStream(const StreamCase& made, int reserve_after, bool incremental = true) {
  return StreamRun(made, reserve_after, incremental).Run();
}

TEST(RandomReservations, BigGangsStartAtTheirTimeAndJobsThatEndBeforeUseTheNodes) {
  int promised = 0, backfilled = 0, earlier = 0;
  for (int seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const StreamCase made = MakeStream(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    const StreamOutcome with = RunStream(made, 15);
    if (with.promised < kNever) {
      ++promised;
      EXPECT_LE(with.gang_started, with.promised);
      const StreamOutcome without = RunStream(made, 0);
      EXPECT_EQ(without.promised, kNever);
      if (without.gang_started > with.gang_started) ++earlier;
    }
    backfilled += with.backfilled;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(promised, 10);
  EXPECT_GT(backfilled, 25);
  EXPECT_GT(earlier, 7);
}

TEST(RandomReservations, TheSameInputHasTheSameResultWithCachesAndWithout) {
  for (int seed = 1000; seed < 1005; ++seed) {
    Random random(seed);
    const StreamCase made = MakeStream(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    const StreamOutcome first = RunStream(made, 15);
    EXPECT_EQ(first.starts, RunStream(made, 15).starts);
    EXPECT_EQ(first.starts, RunStream(made, 15, /*incremental=*/false).starts);
  }
}

}  // namespace
}  // namespace berth
