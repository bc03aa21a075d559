// SPDX-License-Identifier: Apache-2.0
// Devices of claims on the lines of quotas.
#include "plugins/capacity_scheduling/claimed_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "plugins/capacity_scheduling/capacity_scheduling.h"
#include "tests/preemption/small_cluster.h"
#include "tests/random_seeds.h"

namespace berth::testing {
namespace {

std::string ClaimFor(absl::string_view name, absl::string_view requests) {
  return absl::StrCat(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ", name,
      ", namespace: default}, spec: {devices: {requests: [", requests, "]}}}\n---\n");
}
constexpr char kTwoGpus[] = "{name: a, exactly: {deviceClassName: gpu, count: 2}}";
constexpr char kNicOrGpus[] =
    "{name: b, firstAvailable: [{name: one, deviceClassName: nic}, {name: other, deviceClassName: "
    "gpu, "
    "count: 3}]}";

PodPtr PodWithClaims(const std::vector<std::string>& claims, absl::string_view name = "p") {
  PodBuilder pod = MakePod();
  pod.Name(name);
  for (const std::string& claim : claims) {
    auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
    reference.set_name("of-" + claim);
    reference.set_resource_claim_name(claim);
  }
  return pod.Obj();
}

int64_t OfClass(const ResourceVector& amounts, absl::string_view device_class) {
  return amounts.Get(ResourceIdOf(absl::StrCat(device_class, kDevicesOfClass)));
}

TEST(ClaimedDevicesTest, AddUpByClassEachClaimOnce) {
  const FakeObjectStore objects(
      ObjectsFromYaml(ClaimFor("c", kTwoGpus) + ClaimFor("d", kNicOrGpus)));
  const ClaimedDevices devices = DevicesClaimedBy(*PodWithClaims({"c", "d", "c"}), objects);
  EXPECT_TRUE(devices.is_complete);
  EXPECT_EQ(OfClass(devices.amounts.resources, "gpu"), 5);
  EXPECT_EQ(OfClass(devices.amounts.resources, "nic"), 1);
}

TEST(ClaimedDevicesTest, OfTemplatesCountWhenTheyAreMade) {
  const FakeObjectStore objects(ObjectsFromYaml(ClaimFor("p-of", kTwoGpus)));
  const auto with_status = [&](const char* claim, bool has_entry) {
    PodBuilder pod = MakePod();
    pod.Name("p");
    auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
    reference.set_name("of");
    reference.set_resource_claim_template_name("t");
    if (has_entry) {
      auto& status = *pod.Message().mutable_status()->add_resource_claim_statuses();
      status.set_name("of");
      if (claim != nullptr) status.set_resource_claim_name(claim);
    }
    return DevicesClaimedBy(*pod.Obj(), objects);
  };
  EXPECT_FALSE(with_status(nullptr, false).is_complete);
  EXPECT_FALSE(with_status("gone", true).is_complete);
  EXPECT_TRUE(with_status(nullptr, true).is_complete);  // none is needed
  EXPECT_EQ(OfClass(with_status("p-of", true).amounts.resources, "gpu"), 2);
}

// After a restart pods may be seen on their nodes before their claims are.
TEST(ClaimedDevicesTest, AreChargedWhenTheClaimIsSeenLater) {
  for (const bool in_tree : {false, true}) {
    const std::string quota =
        in_tree
            ? "{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, metadata: {name: "
              "q}, spec: {namespaces: [default], max: {gpu.deviceclass.resource.k8s.io/devices: "
              "3}}}"
            : "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: "
              "q, namespace: default}, spec: {min: {gpu.deviceclass.resource.k8s.io/devices: 3}, "
              "max: {gpu.deviceclass.resource.k8s.io/devices: 3}}}";
    FakeHandle handle({MakeNode().Name("n0").Info()},
                      ObjectsFromYaml(quota + "\n---\n" + ClaimFor("new", kTwoGpus)));
    CapacityScheduling plugin(handle);
    const auto admits = [&] {
      CycleState state;
      PreFilterResult result;
      return !plugin.PreFilter(state, *PodWithClaims({"new"}, "q"), handle.nodes(), result)
                  .IsRejected();
    };
    EXPECT_TRUE(admits());
    const PodPtr running = PodWithClaims({"late"});
    handle.test_nodes().AddPod(0, running);
    plugin.OnPodAssigned(*running, handle.nodes().node(0));
    EXPECT_TRUE(admits());
    handle.object_store().Set(ObjectsFromYaml(ClaimFor("late", kTwoGpus))[0]);
    EXPECT_FALSE(admits());
    EXPECT_FALSE(admits());  // charged once
    plugin.OnPodUnassigned(*running, handle.nodes().node(0));
    EXPECT_TRUE(admits());
  }
}

// Pods of two quotas in one namespace that use claims together, come, leave, go and are seen anew.
class SharedClaimsHistory {
 public:
  explicit SharedClaimsHistory(uint32_t seed) : random_(seed) {
    cluster_.Add(MakeNode().Name("n0").Capacity("cpu", "1000").Capacity("pods", "1000"));
    cluster_.Add(MakeNode().Name("n1").Capacity("cpu", "1000").Capacity("pods", "1000"));
    for (const char* const quota : {"a", "b"}) {
      cluster_.AddYaml(absl::StrCat(
          "{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, metadata: {name: ",
          quota, "}, spec: {namespaces: [default], podSelector: {matchLabels: {of: ", quota,
          "}}, max: {gpu.deviceclass.resource.k8s.io/devices: 9, pods: 1000}}}"));
    }
    for (int claim = 0; claim < kClaims; ++claim) {
      cluster_.AddYaml(ClaimFor(absl::StrCat("c", claim), kTwoGpus));
    }
    Restart();
  }

  void Restart() {
    plugin_ = std::make_unique<CapacityScheduling>(cluster_);
    Look();
    cluster_.ObserveOnly(*plugin_);
  }
  void Step() {
    const std::vector<PodPtr> running = Running();
    switch (running.empty() ? 0 : Upto(4)) {
      case 0:
      case 1:
        return Come();
      case 2:
        return cluster_.Unassign(*running[Upto(static_cast<int>(running.size()) - 1)]);
      case 3:
        return Leave(*running[Upto(static_cast<int>(running.size()) - 1)]);
      default:
        return Restart();
    }
  }
  // By the pods that stay: each claim once, where the first of its users by age and uid is.
  std::map<std::string, int64_t> Expected(const std::function<bool(const PodInfo&)>& stays) const {
    std::map<std::string, const PodInfo*> first;
    std::map<std::string, int64_t> used{{"a", 0}, {"b", 0}, {"a pods", 0}, {"b pods", 0}};
    const std::vector<PodPtr> running = Running();
    for (const PodPtr& pod : running) {
      if (!stays(*pod)) continue;
      ++used[QuotaOf(*pod) + " pods"];
      for (const auto& reference : pod->spec().resource_claims()) {
        const PodInfo*& user = first[reference.resource_claim_name()];
        const auto age = [](const PodInfo& of) { return std::pair(of.creation_time(), of.uid()); };
        if (user == nullptr || age(*pod) < age(*user)) user = pod.get();
      }
    }
    for (const auto& [claim, user] : first) used[QuotaOf(*user)] += 2;
    return used;
  }
  std::map<std::string, int64_t> Used() const {
    const QuotaTree& tree = plugin_->book().tree();
    std::map<std::string, int64_t> used;
    for (const std::string quota : {"a", "b"}) {
      for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
        const bool pods = tree.lines()[line].counts == QuotaLine::Counts::kPods;
        used[quota + (pods ? " pods" : "")] =
            static_cast<int64_t>(tree.used(*tree.Find(quota), line));
      }
    }
    return used;
  }
  int64_t UsedOfNamespace() {
    const auto& usage = plugin_->ledger().UsageOf(Symbol::Intern("default"));
    return OfClass(usage.used, "gpu");
  }
  // Reads quotas and claims.
  void Look() {
    CycleState state;
    PreFilterResult result;
    plugin_->PreFilter(state, *PodWithClaims({}, "none"), cluster_.nodes(), result);
  }
  // In a plan that evicts some of those that run, and takes some of that back.
  void TryPlan() {
    std::vector<std::string> claims;
    for (int claim = 0; claim < kClaims; ++claim) {
      if (Upto(3) == 0) claims.push_back(absl::StrCat("c", claim));
    }
    PodBuilder builder = PodFor("taker", claims, "a");
    const PodPtr taker = builder.Obj();
    CycleState state;
    PreFilterResult result;
    plugin_->PreFilter(state, *taker, cluster_.nodes(), result);
    const PodInfo* const takers[] = {taker.get()};
    std::unique_ptr<VictimTrial> trial;
    ASSERT_TRUE(plugin_->BeginTrial(state, takers, trial).ok());
    std::set<std::string> gone;
    const auto stays = [&](const PodInfo& pod) {
      return !pod.deletion_time().has_value() && !gone.contains(pod.uid());
    };
    for (int step = 0; step < 8; ++step) {
      for (const PodPtr& pod : Running()) {
        if (pod->deletion_time().has_value() || Upto(1) == 0) continue;
        const VictimUnit unit{{pod}, {Symbol::Intern(pod->node_name())}, ""};
        if (gone.erase(pod->uid()) > 0) {
          trial->Spare(unit);
        } else {
          gone.insert(pod->uid());
          trial->Evict(unit);
        }
      }
      std::map<std::string, int64_t> expected = Expected(stays);
      // What stands while somebody has it is the taker's when nobody has.
      const auto leaving_stay = [](const PodInfo& pod) { return !pod.deletion_time().has_value(); };
      for (const std::string& claim : claims) {
        if (HasUser(claim, leaving_stay) && !HasUser(claim, stays)) expected["a"] += 2;
      }
      ASSERT_EQ(Used(), expected);
    }
  }

  int Upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }

 private:
  static constexpr int kClaims = 4;

  static std::string QuotaOf(const PodInfo& pod) {
    return std::string(pod.labels().Find("of")->view());
  }
  bool HasUser(const std::string& claim, const std::function<bool(const PodInfo&)>& stays) const {
    for (const PodPtr& pod : Running()) {
      for (const auto& reference : pod->spec().resource_claims()) {
        if (reference.resource_claim_name() == claim && stays(*pod)) return true;
      }
    }
    return false;
  }
  PodBuilder PodFor(absl::string_view name, const std::vector<std::string>& claims,
                    absl::string_view quota) {
    PodBuilder pod = MakePod();
    pod.Name(name).Label("of", quota);
    for (const std::string& claim : claims) {
      auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
      reference.set_name("of-" + claim);
      reference.set_resource_claim_name(claim);
    }
    return pod;
  }
  void Come() {
    std::vector<std::string> claims;
    for (int claim = 0; claim < kClaims; ++claim) {
      if (Upto(2) == 0) claims.push_back(absl::StrCat("c", claim));
    }
    PodBuilder pod = PodFor(absl::StrCat("p", ++pods_), claims, Upto(1) == 0 ? "a" : "b");
    pod.Created(absl::UnixEpoch() + absl::Seconds(Upto(3))).NodeName(absl::StrCat("n", Upto(1)));
    builders_.emplace(absl::StrCat("p", pods_), pod);
    cluster_.Add(pod);
  }
  void Leave(const PodInfo& pod) {
    PodBuilder leaving = builders_.at(std::string(pod.name()));
    cluster_.Unassign(pod);
    cluster_.Add(leaving.Deleted());
  }
  std::vector<PodPtr> Running() const {
    std::vector<PodPtr> pods;
    for (NodeRow row = 0; row < cluster_.nodes().size(); ++row) {
      const auto on_node = cluster_.nodes().node(row).pods();
      pods.insert(pods.end(), on_node.begin(), on_node.end());
    }
    return pods;
  }

  std::mt19937 random_;
  SmallCluster cluster_;
  std::unique_ptr<CapacityScheduling> plugin_;
  std::map<std::string, PodBuilder> builders_;
  int pods_ = 0;
};

TEST(ClaimedDevicesTest, ASharedClaimIsChargedOnceInAnyHistory) {
  for (const uint32_t seed : Seeds(40)) {
    SharedClaimsHistory history(seed);
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, " step ", step));
      history.Step();
      history.Look();
      const auto expected = history.Expected([](const PodInfo&) { return true; });
      ASSERT_EQ(history.Used(), expected);
      ASSERT_EQ(history.UsedOfNamespace(), expected.at("a") + expected.at("b"));
      if (history.Upto(4) == 0) history.TryPlan();
      ASSERT_EQ(history.Used(), expected);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace berth::testing
