// SPDX-License-Identifier: Apache-2.0
// Elastic quotas over time: two users share GPUs; and random histories, after each of which the
// books must be right and every plan must keep the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "plugins/capacity_scheduling/capacity_scheduling.h"
#include "tests/preemption/small_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::Plan;
using ::berth::testing::PlanFor;
using ::berth::testing::PodBuilder;
using ::berth::testing::PodPtr;
using ::berth::testing::SmallCluster;
using ::testing::IsEmpty;

constexpr absl::string_view kGpu = "example.com/gpu";

// Schedules pod after pod, and evicts what is planned at once.
class SharedGpus : public ::testing::Test {
 protected:
  SharedGpus() : plugin_(cluster_) {
    cluster_.Observe(plugin_);
    cluster_.Extend(plugin_);
  }

  void SetQuota(absl::string_view namespace_name, int min, int max) {
    cluster_.AddYaml(absl::StrCat(
        "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {name: quota, "
        "namespace: ",
        namespace_name, "}\nspec: {min: {", kGpu, ": ", min, "}, max: {", kGpu, ": ", max, "}}\n"));
  }

  // Submits one pod of a GPU, with ordinary cpu and memory. Returns whether it runs in the end.
  bool Submit(absl::string_view namespace_name) {
    ++submitted_;
    PodBuilder pod = MakePod()
                         .Name(absl::StrCat(namespace_name, "-", submitted_))
                         .Namespace(namespace_name)
                         .Request(kGpu, "1")
                         .Request("cpu", "4")
                         .Request("memory", "8Gi")
                         .Started(absl::UnixEpoch() + absl::Seconds(submitted_));
    CycleState state;
    PreFilterResult narrowed;
    Plan plan = PlanFor(cluster_, plugin_, *pod.Obj(), &plugin_);
    for (const PodPtr& victim : plan.result.victims) {
      cluster_.Unassign(*victim);
      ++evicted_[std::string(victim->namespace_name().view())];
    }
    if (!plugin_.PreFilter(state, *pod.Obj(), cluster_.nodes(), narrowed).ok()) return false;
    for (NodeRow row = 0; row < cluster_.nodes().size(); ++row) {
      const NodeInfo& node = cluster_.nodes().node(row);
      if (!cluster_.RunFilterPlugins(state, *pod.Obj(), node).ok()) continue;
      cluster_.Add(pod.NodeName(node.name().view()));
      return true;
    }
    return false;
  }
  int Running(absl::string_view namespace_name) {
    int count = 0;
    for (NodeRow row = 0; row < cluster_.nodes().size(); ++row) {
      for (const PodPtr& pod : cluster_.nodes().node(row).pods()) {
        if (pod->namespace_name().view() == namespace_name) ++count;
      }
    }
    return count;
  }

  SmallCluster cluster_;
  CapacityScheduling plugin_;
  int submitted_ = 0;
  std::map<std::string, int> evicted_;
};

TEST_F(SharedGpus, WhatIsLentComesBackAndNoMore) {
  for (const auto& gpus_of_nodes : std::vector<std::vector<int>>{{5}, {2, 3}, {1, 1, 1, 1, 1}}) {
    SCOPED_TRACE(::testing::PrintToString(gpus_of_nodes));
    for (size_t i = 0; i < gpus_of_nodes.size(); ++i) {
      cluster_.Add(MakeNode()
                       .Name(absl::StrCat("n", submitted_, "-", i))
                       .Capacity("cpu", "64")
                       .Capacity("memory", "256Gi")
                       .Capacity(kGpu, absl::StrCat(gpus_of_nodes[i])));
    }
    const std::string a = absl::StrCat("a", submitted_), b = absl::StrCat("b", submitted_);
    SetQuota(a, 2, 5);
    SetQuota(b, 3, 5);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(Submit(a)) << "borrows what b leaves idle";
    EXPECT_FALSE(Submit(a)) << "its max";
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(Submit(b)) << "its guarantee";
    EXPECT_EQ(evicted_[a], 3);
    EXPECT_FALSE(Submit(b)) << "beyond its guarantee there is nothing to take back";
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(Submit(a)) << "and a takes nothing back from it";
    EXPECT_EQ(Running(a), 2);
    EXPECT_EQ(Running(b), 3);
    EXPECT_EQ(evicted_[a], 3);
    EXPECT_EQ(evicted_[b], 0);
    // The next cluster: these users are gone.
    cluster_.object_store().Remove(Kind::kElasticQuota, a + "/quota");
    cluster_.object_store().Remove(Kind::kElasticQuota, b + "/quota");
  }
}

TEST_F(SharedGpus, ThePluginsOfSeveralProfilesAgree) {
  CapacityScheduling late(cluster_);
  cluster_.Add(
      MakeNode().Name("n").Capacity("cpu", "64").Capacity("memory", "256Gi").Capacity(kGpu, "8"));
  SetQuota("a", 2, 5);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Submit("a"));
  cluster_.Observe(late);
  const Symbol a = Symbol::Intern("a");
  EXPECT_EQ(late.ledger().UsageOf(a).used, plugin_.ledger().UsageOf(a).used);
}

// --- Random histories ---

class RandomHistory {
 public:
  explicit RandomHistory(unsigned seed) : random_(seed), plugin_(cluster_) {
    for (int n = 0; n < 3; ++n) {
      cluster_.Add(MakeNode().Name(absl::StrCat("n", n)).Capacity("cpu", "8").Capacity(kGpu, "8"));
    }
    cluster_.Observe(plugin_);
    cluster_.Extend(plugin_);
  }

  void Step() {
    switch (Upto(9)) {
      case 0:
      case 1:
        SetQuota();
        break;
      case 2:
        if (Upto(2) == 0) cluster_.object_store().Remove(Kind::kElasticQuota, AQuota());
        break;
      case 3:
      case 4:
        if (!running_.empty()) Remove(running_.begin() + Upto(running_.size() - 1));
        break;
      case 5:
        if (!running_.empty()) Change(Upto(running_.size() - 1));
        break;
      default:
        Schedule();
    }
    ExpectExactBooks();
  }

  int preemptions() const { return preemptions_; }

 private:
  int Upto(size_t n) { return static_cast<int>(random_() % (n + 1)); }
  std::string ANamespace() { return absl::StrCat("ns", Upto(2)); }
  std::string AQuota() {
    const std::string namespace_name = ANamespace();
    return absl::StrCat(namespace_name, "/q", Upto(1));
  }

  void SetQuota() {
    const std::string key = AQuota();
    const auto list = [&](absl::string_view field, int more) {
      std::string text = absl::StrCat(field, ": {");
      if (Upto(3) > 0) absl::StrAppend(&text, kGpu, ": ", Upto(6) + more);
      absl::StrAppend(&text, text.back() == '{' ? "" : ", ");
      if (Upto(2) > 0) absl::StrAppend(&text, "cpu: ", Upto(6) + more);
      return text + "}";
    };
    const std::string min = list("min", 0);
    const std::string max = list("max", 4);
    cluster_.AddYaml(absl::StrCat(
        "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata: {namespace: ",
        key.substr(0, 3), ", name: ", key.substr(4), "}\nspec: {", min, ", ", max, "}\n"));
  }

  PodBuilder APod() {
    PodBuilder pod = MakePod().Namespace(absl::StrCat("ns", Upto(3)));
    pod.Priority(Upto(2));
    pod.Started(absl::UnixEpoch() + absl::Hours(Upto(5)));
    if (Upto(4) > 0) pod.Request(kGpu, absl::StrCat(1 + Upto(3)));
    if (Upto(4) > 0) pod.Request("cpu", absl::StrCat(1 + Upto(2)));
    return pod;
  }

  void Remove(std::vector<PodPtr>::iterator pod) {
    cluster_.Unassign(**pod);
    running_.erase(pod);
  }
  // A pod is resized or begins to terminate.
  void Change(int i) {
    PodBuilder changed = APod();
    changed.Namespace(running_[i]->namespace_name().view())
        .Name(running_[i]->name())
        .Uid(running_[i]->uid())
        .NodeName(running_[i]->node_name());
    if (Upto(1) == 0) changed.Deleted();
    cluster_.Unassign(*running_[i]);
    running_[i] = changed.Obj();
    cluster_.Assign(running_[i]);
  }

  void Schedule() {
    PodBuilder builder = APod();
    const PodPtr pod = builder.Obj();
    const Plan plan = PlanFor(cluster_, plugin_, *pod, &plugin_);
    if (!plan.result.victims.empty()) CheckAndEvict(*pod, plan);
    CycleState state;
    PreFilterResult narrowed;
    const bool admitted = plugin_.PreFilter(state, *pod, cluster_.nodes(), narrowed).ok();
    EXPECT_TRUE(admitted || plan.result.victims.empty()) << "the plan was to be enough";
    for (NodeRow row = 0; admitted && row < cluster_.nodes().size(); ++row) {
      const NodeInfo& node = cluster_.nodes().node(row);
      if (!plan.result.victims.empty() && node.name().view() != plan.node()) continue;
      const bool fits = cluster_.RunFilterPlugins(state, *pod, node).ok();
      EXPECT_TRUE(fits || plan.result.victims.empty()) << "the plan was to be enough";
      if (!fits) continue;
      running_.push_back(builder.NodeName(node.name().view()).Obj());
      cluster_.Assign(running_.back());
      if (Upto(4) == 0) Remove(running_.end() - 1);  // the bind failed
      break;
    }
  }

  void CheckAndEvict(const PodInfo& pod, const Plan& plan) {
    ++preemptions_;
    const bool has_quota = plugin_.ledger().Find(pod.namespace_name()) != nullptr;
    std::set<Symbol> namespaces;
    ExpectGuaranteedGpusStay(pod, plan);
    for (const PodPtr& victim : plan.result.victims) {
      namespaces.insert(victim->namespace_name());
      const bool same = victim->namespace_name() == pod.namespace_name();
      const bool victim_has_quota = plugin_.ledger().Find(victim->namespace_name()) != nullptr;
      EXPECT_EQ(victim_has_quota, has_quota);
      if (same || !has_quota) {
        EXPECT_LT(victim->priority(), pod.priority());
      }
      cluster_.Unassign(*victim);
      running_.erase(std::find(running_.begin(), running_.end(), victim));
    }
    const bool own = namespaces.count(pod.namespace_name()) > 0;
    EXPECT_TRUE(!has_quota || !own || namespaces.size() == 1)
        << "a pod takes either from its own quota or from others";
    // None of them could have stayed.
    for (const PodPtr& victim : plan.result.victims) {
      if (victim->deletion_time().has_value()) continue;
      cluster_.Assign(victim);
      CycleState state;
      PreFilterResult narrowed;
      const bool stays = plugin_.PreFilter(state, pod, cluster_.nodes(), narrowed).ok() &&
                         cluster_.RunFilterPlugins(state, pod, cluster_.FindNode(plan.node())).ok();
      EXPECT_FALSE(stays) << victim->key() << " need not go";
      cluster_.Unassign(*victim);
    }
    // Pods that are on their way out may be what the plan waits for.
    for (size_t i = running_.size(); i-- > 0;) {
      if (running_[i]->deletion_time().has_value()) Remove(running_.begin() + i);
    }
  }

  // Pods lose, of GPUs that their quota guarantees, at most what the last victim cannot leave
  // behind.
  void ExpectGuaranteedGpusStay(const PodInfo& pod, const Plan& plan) {
    const ResourceId gpu = ResourceIdOf(kGpu);
    std::map<Symbol, int64_t> taken, largest;
    for (const PodPtr& victim : plan.result.victims) {
      const Symbol name = victim->namespace_name();
      if (victim->deletion_time().has_value() || name == pod.namespace_name()) continue;
      taken[name] += victim->requests().Get(gpu);
      largest[name] = std::max(largest[name], victim->requests().Get(gpu));
    }
    for (const auto& [name, gpus] : taken) {
      const Quota* const quota = plugin_.ledger().Find(name);
      if (gpus == 0 || quota == nullptr || !quota->Names(gpu)) continue;
      const Usage& usage = plugin_.ledger().UsageOf(name);
      EXPECT_GT(usage.used.Get(gpu) - usage.leaving.Get(gpu) - gpus + largest[name],
                quota->MinOf(gpu))
          << name.view() << " loses more than it borrowed";
    }
  }

  // The sums that the plugin keeps, added up again.
  void ExpectExactBooks() {
    CycleState state;
    PreFilterResult narrowed;
    plugin_.PreFilter(state, *MakePod().Obj(), cluster_.nodes(), narrowed);  // reads the quotas
    const QuotaLedger& ledger = plugin_.ledger();
    std::map<std::string, Usage> usage;
    Usage total;
    for (const PodPtr& pod : running_) {
      const ResourceVector request = pod->requests();
      Usage& sum = usage[std::string(pod->namespace_name().view())];
      sum.used.Add(request);
      if (pod->deletion_time().has_value()) sum.leaving.Add(request);
    }
    for (int n = 0; n <= 3; ++n) {
      const std::string name = absl::StrCat("ns", n);
      const Symbol symbol = Symbol::Intern(name);
      EXPECT_EQ(ledger.UsageOf(symbol).used, usage[name].used) << name;
      EXPECT_EQ(ledger.UsageOf(symbol).leaving, usage[name].leaving) << name;
      const Quota* quota = ledger.Find(symbol);
      if (quota == nullptr) continue;
      total.used.Add(Restrict(usage[name].used, *quota));
      total.leaving.Add(Restrict(usage[name].leaving, *quota));
    }
    EXPECT_EQ(ledger.total_usage().used, total.used);
    EXPECT_EQ(ledger.total_usage().leaving, total.leaving);
  }

  std::mt19937 random_;
  SmallCluster cluster_;
  CapacityScheduling plugin_;
  std::vector<PodPtr> running_;
  int preemptions_ = 0;
};

TEST(CapacitySchedulingPropertyTest, BooksAndPlansAreRightAfterAnyHistory) {
  int preemptions = 0;
  for (const unsigned seed : testing::Seeds(60, 1)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RandomHistory history(seed);
    for (int step = 0; step < 150; ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      history.Step();
      if (::testing::Test::HasFailure()) return;
    }
    preemptions += history.preemptions();
  }
  EXPECT_GT(preemptions, 100) << "the histories are too tame";
}

}  // namespace
}  // namespace berth
