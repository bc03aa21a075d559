// SPDX-License-Identifier: Apache-2.0
// Pods of random priorities come one after another to claims with devices of a network, some of
// which pods of several nodes share. Held against all possibilities: a pod waits only if no claim
// can be freed for it; who is evicted uses one claim, all of its users go, and that pod has a node
// then; where evictions on one node do not do, no other claim costs less.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/resource_v1.pb.h"
#include "gmock/gmock.h"
#include "tests/engine/empty_simulation.h"
#include "tests/engine/gang_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::ObjectsFromYaml;
using testing::PodBuilder;

constexpr int kNodes = 3;

struct RunningPod {
  int priority = 0;
  std::string node;
};

// A claim that has a device, as it is before a pod comes.
struct HeldClaim {
  std::string device, pool;
  std::vector<std::string> users;  // pods
};

class NetworkCluster {
 public:
  NetworkCluster(uint64_t seed, bool incremental) : random_(seed) {
    simulation_ = EmptySimulationOf("tests/engine/preempted_devices.yaml", seed, incremental);
    Set("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}");
    Set("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: own, "
        "namespace: default}, spec: {spec: {devices: {requests: [{name: r, exactly: "
        "{deviceClassName: any}}]}}}}");
    for (int i = 0; i < kNodes; ++i) {
      simulation_->cluster().Set(MakeNode()
                                     .Name(absl::StrCat("n", i))
                                     .Label("host", absl::StrCat("n", i))
                                     .Label("side", i == 0 ? "left" : "right")
                                     .Allocatable("cpu", "64")
                                     .Allocatable("memory", "64Gi")
                                     .Object());
    }
    // For all nodes, and for two of them.
    SetSlice("all", "allNodes: true", 1 + Below(2));
    SetSlice("right",
             "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: side, operator: In, "
             "values: [right]}]}]}",
             1 + Below(2));
    for (int i = 0; i < 3; ++i) {
      Set(absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: s",
                       i,
                       ", namespace: default}, spec: {devices: {requests: [{name: r, exactly: "
                       "{deviceClassName: any}}]}}}"));
    }
  }

  void Run(int pods) {
    for (int i = 0; i < pods && !::testing::Test::HasFailure(); ++i) {
      const bool shares = Chance(3);
      const std::string node = absl::StrCat("n", Below(kNodes));
      const int priority = Below(4);
      PodBuilder pod = MakePod();
      const std::string name = absl::StrCat("p", next_++);
      pod.Name(name).Namespace("default").Request("cpu", "1").Priority(priority);
      (*pod.Message().mutable_spec()->mutable_node_selector())["host"] = node;
      auto& claim = *pod.Message().mutable_spec()->add_resource_claims();
      claim.set_name("c");
      if (shares) {
        claim.set_resource_claim_name(absl::StrCat("s", Below(3)));
      } else {
        claim.set_resource_claim_template_name("own");
      }
      if (Chance(6)) simulation_->Restart();
      const auto running = Running();
      const auto held = Held();
      simulation_->cluster().Set(pod.Object());
      simulation_->RunUntilQuiet();
      if (!shares) Check(name, node, priority, running, held);
      CheckDevices();
      // What waits goes, so that the next one finds a cluster at rest.
      const bool placed = Placed(name);
      if (placed && !Chance(4)) continue;
      simulation_->cluster().Delete(Kind::kPod, "default/" + (placed ? Any() : name));
      simulation_->RunUntilQuiet();
    }
  }

  int evictions() const { return evictions_; }
  int of_several_nodes() const { return of_several_nodes_; }
  std::vector<std::pair<std::string, std::string>> bindings() const {
    return simulation_->cluster().Bindings();
  }

 private:
  bool Chance(int one_in) { return random_() % static_cast<unsigned>(one_in) == 0; }
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void Set(const std::string& yaml) { simulation_->cluster().Set(ObjectsFromYaml(yaml)[0]); }

  void SetSlice(const std::string& pool, const std::string& nodes, int devices) {
    std::vector<std::string> listed;
    for (int i = 0; i < devices; ++i) listed.push_back(absl::StrCat("{name: ", pool, i, "}"));
    devices_of_[pool] = devices;
    Set(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", pool,
        "}, spec: {driver: d, ", nodes, ", pool: {name: ", pool,
        ", generation: 1, resourceSliceCount: 1}, devices: [", absl::StrJoin(listed, ", "), "]}}"));
  }

  std::map<std::string, RunningPod> Running() const {
    std::map<std::string, RunningPod> running;
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (pod.spec().node_name().empty() || HasEnded(pod.status())) continue;
      running[pod.metadata().name()] = {pod.spec().priority(), pod.spec().node_name()};
    }
    return running;
  }

  std::vector<HeldClaim> Held() const {
    std::vector<HeldClaim> held;
    for (const Object& object : simulation_->cluster().List(Kind::kResourceClaim)) {
      const auto& status = object.As<api::ResourceClaim>().status();
      if (!status.has_allocation()) continue;
      const auto& result = status.allocation().devices().results(0);
      held.push_back({result.device(), result.pool(), {}});
      for (const auto& user : status.reserved_for()) held.back().users.push_back(user.name());
    }
    return held;
  }

  bool Placed(const std::string& name) const { return Running().contains(name); }
  // One of them, if there are some.
  std::string Any() {
    const auto running = Running();
    if (running.empty()) return "none";
    auto chosen = running.begin();
    std::advance(chosen, Below(static_cast<int>(running.size())));
    return chosen->first;
  }

  bool Reaches(const std::string& pool, const std::string& node) const {
    return pool == "all" || node != "n0";
  }

  void Check(const std::string& name, const std::string& node, int priority,
             const std::map<std::string, RunningPod>& before, const std::vector<HeldClaim>& held) {
    std::map<std::string, int> free = devices_of_;
    for (const HeldClaim& claim : held) --free[claim.pool];
    const bool is_free = free["all"] > 0 || (free["right"] > 0 && Reaches("right", node));
    // What freeing a claim costs; whether it can be done by evictions on the pod's node alone.
    using Cost = std::tuple<int, size_t>;
    std::optional<Cost> least;
    bool is_local = false;
    std::vector<std::set<std::string>> choices;
    for (const HeldClaim& claim : held) {
      if (!Reaches(claim.pool, node) || claim.users.empty()) continue;
      int highest = -1;
      bool all_here = true;
      for (const std::string& user : claim.users) {
        highest = std::max(highest, before.at(user).priority);
        all_here &= before.at(user).node == node;
      }
      if (highest >= priority) continue;
      choices.emplace_back(claim.users.begin(), claim.users.end());
      is_local |= all_here;
      const Cost cost(highest, claim.users.size());
      if (!least.has_value() || cost < *least) least = cost;
    }
    const auto after = Running();
    std::set<std::string> gone, nodes;
    int highest = -1;
    for (const auto& [pod, was] : before) {
      if (after.contains(pod)) continue;
      gone.insert(pod);
      nodes.insert(was.node);
      highest = std::max(highest, was.priority);
    }
    const bool placed = after.contains(name);
    EXPECT_EQ(placed, is_free || least.has_value()) << name << " on " << node;
    if (!placed || is_free) {
      EXPECT_TRUE(gone.empty()) << "in vain: " << absl::StrJoin(gone, ", ");
      return;
    }
    EXPECT_TRUE(std::count(choices.begin(), choices.end(), gone) > 0)
        << "not the users of one claim: " << absl::StrJoin(gone, ", ");
    if (!is_local && least.has_value()) {
      EXPECT_EQ(Cost(highest, gone.size()), *least);
    }
    evictions_ += static_cast<int>(gone.size());
    of_several_nodes_ += nodes.size() > 1 ? 1 : 0;
  }

  void CheckDevices() const {
    std::set<std::string> devices;
    for (const HeldClaim& claim : Held()) {
      EXPECT_TRUE(devices.insert(claim.device).second) << claim.device << " has two claims";
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Simulation> simulation_;
  std::map<std::string, int> devices_of_;
  int next_ = 0, evictions_ = 0, of_several_nodes_ = 0;
};

TEST(RandomNetworkClaimsTest, AllUsersOfTheCheapestClaimGoOrNobody) {
  int evictions = 0, of_several_nodes = 0;
  const bool counts =
      RunWithAndWithoutMemory<NetworkCluster>(200, 30, [&](const NetworkCluster& cluster) {
        evictions += cluster.evictions();
        of_several_nodes += cluster.of_several_nodes();
      });
  if (!counts) return;
  EXPECT_GT(evictions, 100);
  EXPECT_GT(of_several_nodes, 5);
}

// 160 claims of a network that nobody may have, 150 nodes: that is more than one attempt looks at.
TEST(NetworkClaimsLimitTest, IsSaid) {
  constexpr int kManyNodes = 150, kClaims = 160;
  LoadedConfiguration loaded =
      LoadConfigurationFile("tests/engine/preempted_devices.yaml", Builtins());
  auto created = Simulation::Create(
      {.configuration = std::move(loaded.configuration), .registry = &Builtins(), .objects = {}});
  ASSERT_TRUE(created.ok()) << created.status();
  Simulation& simulation = **created;
  const auto set = [&](const std::string& yaml) {
    simulation.cluster().Set(ObjectsFromYaml(yaml)[0]);
  };
  set("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}");
  set("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: own, "
      "namespace: default}, spec: {spec: {devices: {requests: [{name: r, exactly: "
      "{deviceClassName: any}}]}}}}");
  for (const std::string pool : {"a", "b"}) {
    std::vector<std::string> devices;
    for (int i = 0; i < kClaims / 2; ++i) devices.push_back(absl::StrCat("{name: d", i, "}"));
    set(absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ",
                     pool, "}, spec: {driver: d, allNodes: true, pool: {name: ", pool,
                     ", generation: 1, resourceSliceCount: 1}, devices: [",
                     absl::StrJoin(devices, ", "), "]}}"));
  }
  for (int i = 0; i < kManyNodes; ++i) {
    simulation.cluster().Set(MakeNode()
                                 .Name(absl::StrCat("n", i))
                                 .Allocatable("cpu", "64")
                                 .Allocatable("memory", "64Gi")
                                 .Object());
  }
  const auto add_pod = [&](const std::string& name, int priority) {
    PodBuilder pod = MakePod();
    pod.Name(name).Namespace("default").Request("cpu", "1").Priority(priority);
    auto& claim = *pod.Message().mutable_spec()->add_resource_claims();
    claim.set_name("c");
    claim.set_resource_claim_template_name("own");
    simulation.cluster().Set(pod.Object());
  };
  for (int i = 0; i < kClaims; ++i) add_pod(absl::StrCat("user-", i), 100);
  simulation.RunUntilQuiet();
  ASSERT_EQ(simulation.cluster().Bindings().size(), size_t{kClaims});
  add_pod("preemptor", 50);
  simulation.RunUntilQuiet();
  std::string message;
  for (const Object& object : simulation.cluster().List(Kind::kPod)) {
    if (object.name() != "preemptor") continue;
    for (const auto& condition : object.As<api::Pod>().status().conditions()) {
      message += condition.message();
    }
  }
  EXPECT_THAT(message,
              ::testing::HasSubstr("The search for pods of other nodes to evict ended "
                                   "after 126 of 150 nodes, at its limit of 20000 claims"));
}

}  // namespace
}  // namespace berth
