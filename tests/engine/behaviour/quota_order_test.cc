// SPDX-License-Identifier: Apache-2.0
// Whose turn it is among quotas, over time: shares of what is to spare come to the weights and stay
// there within one job's size, at every level; no quota blocks another; StrictFIFO waits.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

constexpr int kGpus = 40;

class Shared {
 public:
  explicit Shared(const std::string& quotas) {
    std::vector<Object> objects = {MakeGpuNode("n", kGpus)};
    for (Object& object : testing::ObjectsFromYaml(quotas)) objects.push_back(std::move(object));
    simulation_ = Simulation::Create({.configuration = GangAndQuotaConfiguration(),
                                      .registry = &Builtins(),
                                      .objects = std::move(objects)})
                      .value();
    simulation_->RunUntilIdle();
  }

  // A job of so many pods of a GPU each: a gang, or one pod with all of them.
  void Submit(const std::string& team, int gpus, bool gang, int priority = 0) {
    const std::string name = absl::StrCat("j", ++jobs_);
    if (gang) {
      Object group = MakeGroup(name, gpus);
      auto changed = std::make_shared<api::PodGroup>(group.As<api::PodGroup>());
      changed->mutable_metadata()->set_namespace_(team);
      simulation_->cluster().Set(Object::Of(std::move(changed)));
    }
    for (int p = 0; p < (gang ? gpus : 1); ++p) {
      auto pod = testing::MakePod()
                     .Name(absl::StrCat(name, "-", p))
                     .Namespace(team)
                     .Priority(priority)
                     .Request("nvidia.com/gpu", absl::StrCat(gang ? 1 : gpus));
      if (gang) pod.Label("scheduling.x-k8s.io/pod-group", name);
      simulation_->cluster().Set(pod.Object());
    }
    gpus_of_[name] = gpus;
    team_of_[name] = team;
    pods_of_[name] = gang ? gpus : 1;
  }
  void Advance(absl::Duration by) { simulation_->Advance(by); }

  // The jobs that run.
  std::set<std::string> Running() {
    std::set<std::string> running;
    for (const auto& [pod, node] : simulation_->cluster().Bindings()) {
      const std::string name = pod.substr(pod.find('/') + 1);
      const std::string job = name.substr(0, name.rfind('-'));
      if (!finished_.contains(job)) running.insert(job);
    }
    return running;
  }
  std::map<std::string, int> Used() {
    std::map<std::string, int> used;
    for (const std::string& job : Running()) used[team_of_[job]] += gpus_of_[job];
    return used;
  }
  // How many jobs of the team run or have run.
  int Started(const std::string& team) {
    int started = 0;
    for (const auto& [job, of_team] : team_of_) {
      started += static_cast<int>(of_team == team && finished_.contains(job));
    }
    for (const std::string& job : Running()) started += static_cast<int>(team_of_[job] == team);
    return started;
  }
  void Finish(const std::string& job) {
    finished_.insert(job);
    for (int p = 0; p < pods_of_[job]; ++p) {
      simulation_->cluster().Finish(absl::StrCat(team_of_[job], "/", job, "-", p));
    }
  }
  Simulation& simulation() { return *simulation_; }
  void RunSteps(int most) { simulation_->scheduler().RunSteps(most); }

 private:
  std::unique_ptr<Simulation> simulation_;
  int jobs_ = 0;
  std::map<std::string, int> gpus_of_, pods_of_;
  std::map<std::string, std::string> team_of_;
  std::set<std::string> finished_;
};

std::string Quota(const std::string& name, const std::string& parent, int weight,
                  const std::string& more = "") {
  return absl::StrCat(
      "---\napiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\n",
      "metadata: {name: ", name, "}\nspec: {min: {nvidia.com/gpu: 0}, weight: ", weight,
      parent.empty() ? "" : absl::StrCat(", parent: ", parent),
      absl::StartsWith(name, "d") ? "" : absl::StrCat(", namespaces: [", name, "]"), more, "}\n");
}

// d1 has 4 of 10 of 40 GPUs, and d2 6; in d1 a and b have 1 to 1, in d2 c and e 1 to 2.
std::string Departments() {
  return absl::StrCat(Quota("d1", "", 4), Quota("d2", "", 6), Quota("a", "d1", 1),
                      Quota("b", "d1", 1), Quota("c", "d2", 1), Quota("e", "d2", 2));
}
std::map<std::string, int> FairOfDepartments() { return {{"a", 8}, {"b", 8}, {"c", 8}, {"e", 16}}; }

// A floods; B, and the teams of the other department, come later. Jobs end at random.
TEST(QuotaOrder, SharesComeToTheWeightsAndStayThere) {
  constexpr int kLargest = 3;
  const std::map<std::string, int> fair = FairOfDepartments();
  for (int seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    Shared shared(Departments());
    const bool gangs = seed % 2 == 1;
    const auto flood = [&](const std::string& team) {
      for (int j = 0; j < 150; ++j) shared.Submit(team, random.Between(1, kLargest), gangs);
    };
    flood("a");
    shared.Advance(absl::Seconds(1));
    EXPECT_EQ(shared.Used()["a"], kGpus);
    for (const auto& [team, gpus] : fair) flood(team);
    int finished = 0;
    for (int step = 0; step < 150; ++step) {
      shared.Advance(absl::Seconds(random.Between(1, 15)));
      const std::set<std::string> running = shared.Running();
      std::map<std::string, int> used = shared.Used();
      int sum = 0;
      for (const auto& [team, gpus] : used) sum += gpus;
      EXPECT_GE(sum, kGpus - kLargest + 1) << "step " << step << ": idle while all wait";
      if (finished > 3 * kGpus) {
        for (const auto& [team, gpus] : fair) {
          EXPECT_NEAR(used[team], gpus, kLargest) << "step " << step << ", team " << team;
        }
        EXPECT_NEAR(used["a"] + used["b"], 16, kLargest) << "step " << step;
      }
      if (HasFailure()) return;
      const std::vector<std::string> jobs(running.begin(), running.end());
      for (int end = random.Between(1, 3); end > 0; --end) {
        shared.Finish(random.OneOf(jobs));
        ++finished;
      }
    }
  }
}

// Jobs end one by one, so that what becomes free is found by a scheduler that still tries who waits
// for what became free before: some have not been tried, and some are in backoff.
TEST(QuotaOrder, SharesHoldWhileJobsEndOneByOne) {
  const std::map<std::string, int> fair = FairOfDepartments();
  for (int seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    Shared shared(Departments());
    const bool gangs = seed % 2 == 1;
    const int size = gangs ? 2 : 1;
    std::map<std::string, int> submitted;
    const auto submit = [&](const std::string& team, int jobs) {
      for (int j = 0; j < jobs; ++j) shared.Submit(team, size, gangs);
      submitted[team] += jobs;
    };
    submit("a", kGpus / size);
    shared.Advance(absl::Seconds(1));
    for (const auto& [team, gpus] : fair) submit(team, 20);
    shared.Advance(absl::Seconds(20));
    int finished = 0, checks = 0;
    while (finished < 300) {
      const std::set<std::string> running = shared.Running();
      std::map<std::string, int> used = shared.Used();
      int sum = 0;
      for (const auto& [team, gpus] : used) sum += gpus;
      if (finished > 3 * kGpus && sum == kGpus) {  // what became free has been taken
        ++checks;
        for (const auto& [team, gpus] : fair) {
          EXPECT_NEAR(used[team], gpus, size) << "after " << finished << ", team " << team;
        }
        EXPECT_NEAR(used["a"] + used["b"], 16, size) << "after " << finished;
      }
      if (HasFailure()) return;
      const std::vector<std::string> jobs(running.begin(), running.end());
      shared.Finish(random.OneOf(jobs));
      ++finished;
      shared.RunSteps(random.Between(1, 100));
      if (!random.Percent(20)) continue;
      for (const auto& [team, gpus] : fair) {
        submit(team, 20 - (submitted[team] - shared.Started(team)));
      }
      shared.Advance(absl::Milliseconds(random.Between(0, 5000)));
    }
    EXPECT_GT(checks, 50) << "the room was hardly ever taken";
  }
}

// What cannot be placed steps aside.
TEST(QuotaOrder, NoQuotaBlocksAnother) {
  Shared shared(absl::StrCat(Quota("a", "", 1), Quota("b", "", 1)));
  shared.Submit("b", kGpus + 1, false, /*priority=*/1000);  // never fits
  for (int j = 0; j < 5; ++j) shared.Submit("a", 1, false);
  for (int j = 0; j < 5; ++j) shared.Submit("b", 1, false);
  shared.Advance(absl::Seconds(1));
  EXPECT_EQ(shared.Used()["a"], 5);
  EXPECT_EQ(shared.Used()["b"], 5);
}

TEST(QuotaOrder, StrictFifoWaitsBehindItsOwnAlone) {
  Shared shared(absl::StrCat(Quota("a", "", 1), Quota("b", "", 1, ", queueing: StrictFIFO")));
  shared.Submit("a", 30, false);
  shared.Advance(absl::Seconds(1));
  shared.Submit("b", 20, false);
  shared.Advance(absl::Seconds(1));
  for (int j = 0; j < 3; ++j) shared.Submit("b", 1, false);
  for (int j = 0; j < 3; ++j) shared.Submit("a", 1, false);
  shared.Advance(absl::Minutes(10));
  EXPECT_EQ(shared.Used()["b"], 0) << "behind the one of 20";
  EXPECT_EQ(shared.Used()["a"], 33);
  shared.Submit("b", 2, false, /*priority=*/10);  // before the one of 20
  shared.Advance(absl::Seconds(5));
  EXPECT_EQ(shared.Used()["b"], 2);
  shared.Finish("j1");
  shared.Advance(absl::Minutes(1));
  EXPECT_EQ(shared.Used()["b"], 2 + 20 + 3);
}

// Quotas that change while pods wait move them to other lines.
TEST(QuotaOrder, FollowsQuotasThatChange) {
  Shared shared(absl::StrCat(Quota("a", "", 1), Quota("b", "", 1, ", queueing: StrictFIFO")));
  shared.Submit("a", 30, false);
  shared.Advance(absl::Seconds(1));
  shared.Submit("b", 20, false);
  shared.Advance(absl::Seconds(1));
  shared.Submit("b", 1, false);
  shared.Advance(absl::Minutes(1));
  EXPECT_EQ(shared.Used()["b"], 0);
  for (Object& object : testing::ObjectsFromYaml(Quota("b", "", 1))) {
    shared.simulation().cluster().Set(std::move(object));
  }
  shared.Advance(absl::Minutes(1));
  EXPECT_EQ(shared.Used()["b"], 1);
  EXPECT_TRUE(shared.simulation().cluster().Delete(Kind::kClusterQuota, "b"));
  EXPECT_TRUE(shared.simulation().cluster().Delete(Kind::kClusterQuota, "a"));
  shared.Finish("j1");
  shared.Advance(absl::Minutes(1));
  EXPECT_EQ(shared.Used()["b"], 21);
}

}  // namespace
}  // namespace berth
