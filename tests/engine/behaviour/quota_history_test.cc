// SPDX-License-Identifier: Apache-2.0
// Random histories of quotas in a tree, with gangs, edits of quotas and nodes that come and go.
// An evicted pod comes back at once, as its controller would have it. At rest the statuses say
// what runs, nothing is overcommitted and no gang runs in part; evictions come to an end by
// themselves; and the same history ends the same.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/quantity.h"
#include "berth/api/scheduling_berth_dev.pb.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::Random;

constexpr int kTeams = 5, kNodes = 4, kGpusOfNode = 6;

struct Job {
  int team = 0, pods = 1, gpus = 1, priority = 0, minimum = 1;
};

class History {
 public:
  explicit History(int seed) : random_(seed) {
    simulation_ =
        Simulation::Create({.configuration = GangAndQuotaConfiguration(), .registry = &Builtins()})
            .value();
    for (int n = 0; n < kNodes; ++n) AddNode(n);
    SetQuotas();
    Settle();
  }

  void Step() {
    switch (random_.Below(10)) {
      case 0:
        SetQuotas();
        break;
      case 1: {
        const int node = random_.Below(kNodes);
        if (nodes_.contains(node)) {
          LoseNode(node);
        } else {
          AddNode(node);
        }
        break;
      }
      case 2:
      case 3:
      case 4:
        FinishOne();
        break;
      default: {
        Job job;
        job.team = random_.Below(kTeams);
        job.pods = random_.Percent(50) ? random_.Between(2, 5) : 1;
        job.minimum = random_.Percent(30) ? random_.Between(1, job.pods) : job.pods;
        job.gpus = random_.Between(1, 3);
        job.priority = random_.Below(2);
        Submit(job);
      }
    }
    Settle();
  }

  // Lets the scheduler work until nothing changes, and brings back who was evicted, again and
  // again. No state comes twice meanwhile: nobody takes turns.
  void Settle() {
    std::set<std::string> states;
    for (int round = 0;; ++round) {
      simulation_->Advance(absl::Minutes(2));
      const std::vector<std::string> evictions = simulation_->cluster().Evictions();
      std::set<std::string> hit;
      for (; seen_ < evictions.size(); ++seen_) {
        const std::string pod = evictions[seen_].substr(evictions[seen_].find('/') + 1);
        log_ += pod + " ";
        hit.insert(pod.substr(0, pod.rfind('-')));
      }
      if (hit.empty()) break;
      ASSERT_TRUE(states.insert(State()).second) << "a state comes again: " << log_;
      ASSERT_LT(round, 25) << "they evict each other: " << log_;
      for (const std::string& name : hit) {
        // What is left of it ends, and it starts again.
        const auto job = jobs_.find(name);
        if (job == jobs_.end()) continue;
        const Job again = job->second;
        const auto running = Running();
        const auto left = running.find(name);
        if (left != running.end() && left->second >= again.minimum) continue;  // it lost surplus
        const std::string first = first_name_.at(name);
        Remove(name);
        Submit(again, first);
      }
    }
    Check();
  }
  // What runs where; a job that started again is the same.
  std::string State() {
    std::set<std::string> running;
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      const std::string& node = object.As<api::Pod>().spec().node_name();
      if (node.empty()) continue;
      const std::string name(object.name());
      const size_t dash = name.rfind('-');
      running.insert(
          absl::StrCat(first_name_.at(name.substr(0, dash)), name.substr(dash), " on ", node));
    }
    return absl::StrJoin(running, ", ");
  }

  const std::string& log() const { return log_; }
  size_t evictions() const { return seen_; }

 private:
  void AddNode(int node) {
    nodes_.insert(node);
    simulation_->cluster().Set(MakeGpuNode(absl::StrCat("n", node), kGpusOfNode));
  }
  void LoseNode(int node) {
    nodes_.erase(node);
    const std::string name = absl::StrCat("n", node);
    simulation_->cluster().Delete(Kind::kNode, name);
    for (const Object& pod : simulation_->cluster().List(Kind::kPod)) {
      if (pod.As<api::Pod>().spec().node_name() == name) {
        simulation_->cluster().Delete(Kind::kPod, pod.key());
      }
    }
    // Controllers: jobs that lost pods start again.
    const auto running = Running();
    for (const auto& [job_name, job] : std::map<std::string, Job>(jobs_)) {
      int there = 0;
      for (int p = 0; p < job.pods; ++p) {
        there += static_cast<int>(
            simulation_->cluster().Find(Kind::kPod, KeyOf(job_name, job, p)) != nullptr);
      }
      if (there == job.pods) continue;
      const std::string first = first_name_.at(job_name);
      Remove(job_name);
      Submit(job, first);
    }
  }
  // t0 and t1 are of one department, t2 and t3 of another, t4 stands alone.
  void SetQuotas() {
    int left = kNodes * kGpusOfNode;
    std::vector<int> min(kTeams);
    for (int& of_team : min) {
      of_team = std::min(left, random_.Below(8));
      left -= of_team;
    }
    SetQuota("d0", "", "", min[0] + min[1]);
    SetQuota("d1", "", "", min[2] + min[3]);
    for (int team = 0; team < kTeams; ++team) {
      SetQuota(absl::StrCat("t", team), team == 4 ? "" : absl::StrCat("d", team / 2),
               absl::StrCat("t", team), min[team]);
    }
  }
  void SetQuota(const std::string& name, const std::string& parent, const std::string& of,
                int min) {
    const std::string yaml = absl::StrCat(
        "apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\nmetadata: {name: ", name,
        ", creationTimestamp: '2026-01-01T00:00:00Z', uid: ", name, "}\nspec: {",
        parent.empty() ? "" : absl::StrCat("parent: ", parent, ", "),
        of.empty() ? "" : absl::StrCat("namespaces: [", of, "], "),
        "weight: ", random_.Between(1, 3), random_.Percent(30) ? ", queueing: StrictFIFO" : "",
        ", min: {nvidia.com/gpu: ", min, "}}\n");
    for (const Object& object : testing::ObjectsFromYaml(yaml)) {
      auto quota = std::make_shared<api::ClusterQuota>(object.As<api::ClusterQuota>());
      const auto old = simulation_->cluster().Find(Kind::kClusterQuota, name);
      if (old != nullptr) {  // an edit leaves the status alone
        *quota->mutable_status() = static_cast<const api::ClusterQuota&>(*old).status();
      }
      simulation_->cluster().Set(Object::Of(std::move(quota)));
    }
  }
  static std::string KeyOf(const std::string& name, const Job& job, int pod) {
    return absl::StrCat("t", job.team, "/", name, "-", pod);
  }
  void Submit(const Job& job, const std::string& first = "") {
    const std::string name = absl::StrCat("j", ++submitted_);
    jobs_[name] = job;
    first_name_[name] = first.empty() ? name : first;
    if (job.pods > 1) {
      auto group =
          std::make_shared<api::PodGroup>(MakeGroup(name, job.minimum).As<api::PodGroup>());
      group->mutable_metadata()->set_namespace_(absl::StrCat("t", job.team));
      simulation_->cluster().Set(Object::Of(std::move(group)));
    }
    for (int p = 0; p < job.pods; ++p) {
      auto pod = testing::MakePod()
                     .Name(absl::StrCat(name, "-", p))
                     .Namespace(absl::StrCat("t", job.team))
                     .Priority(job.priority)
                     .Request("nvidia.com/gpu", absl::StrCat(job.gpus));
      if (job.pods > 1) pod.Label("scheduling.x-k8s.io/pod-group", name);
      simulation_->cluster().Set(pod.Object());
    }
  }
  void Remove(const std::string& name) {
    const Job job = jobs_.at(name);
    for (int p = 0; p < job.pods; ++p) {
      simulation_->cluster().Delete(Kind::kPod, KeyOf(name, job, p));
    }
    jobs_.erase(name);
  }
  void FinishOne() {
    const auto running = Running();
    if (running.empty()) return;
    auto job = running.begin();
    std::advance(job, random_.Below(static_cast<int>(running.size())));
    Remove(job->first);
  }
  // How many pods of a job are on nodes.
  std::map<std::string, int> Running() {
    std::map<std::string, int> running;
    for (const Object& pod : simulation_->cluster().List(Kind::kPod)) {
      if (pod.As<api::Pod>().spec().node_name().empty()) continue;
      const std::string name(pod.name());
      ++running[name.substr(0, name.rfind('-'))];
    }
    return running;
  }

  void Check() {
    std::map<std::string, int> used_on, used_by;
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      const bool runs = !pod.spec().node_name().empty();
      // Room is being made for those that are nominated: they count as used, too.
      if (!runs && pod.status().nominated_node_name().empty()) continue;
      const std::string name(object.name());
      const Job& job = jobs_.at(name.substr(0, name.rfind('-')));
      if (runs) used_on[pod.spec().node_name()] += job.gpus;
      used_by[absl::StrCat("t", job.team)] += job.gpus;
      if (job.team < 4) used_by[absl::StrCat("d", job.team / 2)] += job.gpus;
    }
    for (const auto& [node, gpus] : used_on) EXPECT_LE(gpus, kGpusOfNode) << node;
    for (const auto& [name, pods] : Running()) {
      EXPECT_GE(pods, jobs_.at(name).minimum) << name << " runs in part";
    }
    for (const Object& object : simulation_->cluster().List(Kind::kClusterQuota)) {
      const auto& status = object.As<api::ClusterQuota>().status();
      const auto used = status.used().find("nvidia.com/gpu");
      const int gpus = used_by[std::string(object.name())];
      if (used == status.used().end()) {
        EXPECT_EQ(gpus, 0) << object.name();
      } else {
        EXPECT_EQ(used->second.string(), absl::StrCat(gpus)) << object.name();
      }
    }
  }

  Random random_;
  std::unique_ptr<Simulation> simulation_;
  std::set<int> nodes_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, std::string> first_name_;  // by name: of a job that starts again, its first
  int submitted_ = 0;
  size_t seen_ = 0;  // evictions
  std::string log_;
};

TEST(QuotaHistory, ComesToRestWithExactBooks) {
  size_t evictions = 0;
  for (const int seed : testing::Seeds(25)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    History history(seed);
    for (int step = 0; step < 40; ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      history.Step();
      if (::testing::Test::HasFailure()) return;
    }
    evictions += history.evictions();
  }
  EXPECT_GT(evictions, 100u);
}

TEST(QuotaHistory, TheSameHistoryHasTheSameVictims) {
  for (const int seed : testing::Seeds(4, 100)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    History one(seed), other(seed);
    for (int step = 0; step < 25; ++step) {
      one.Step();
      other.Step();
      ASSERT_EQ(one.log(), other.log()) << "step " << step;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace berth
