// SPDX-License-Identifier: Apache-2.0
// Pods and gangs of random priorities come to devices of nodes and of a network, while victims take
// their time to go. Second by second: who is nominated, and could have devices that are free or
// about to be, still can after pods of lower priority were placed; nobody evicts a pod that was
// placed after the nomination; and when all is quiet, no device is kept from a pod that waits.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/resource_v1.pb.h"
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

struct SeenPod {
  int priority = 0, devices = 0;  // that it asks for
  std::string node, nominated, wanted_node, group;
  bool is_leaving = false;
};
using Pods = std::map<std::string, SeenPod>;
using Devices = std::map<std::string, std::string>;  // to the pod that has it

class KeptDevicesCluster {
 public:
  KeptDevicesCluster(uint64_t seed, bool incremental) : random_(seed) {
    simulation_ = EmptySimulationOf("tests/engine/nominated_devices.yaml", seed, incremental);
    Set("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}");
    for (int count = 1; count <= 2; ++count) {
      Set(
          absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: "
                       "{name: t",
                       count,
                       ", namespace: default}, spec: {spec: {devices: {requests: [{name: r, "
                       "exactly: {deviceClassName: any, count: ",
                       count, "}}]}}}}"));
    }
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = absl::StrCat("n", i);
      simulation_->cluster().Set(MakeNode()
                                     .Name(name)
                                     .Label("host", name)
                                     .Label("side", i == 0 ? "left" : "right")
                                     .Allocatable("cpu", "64")
                                     .Allocatable("memory", "64Gi")
                                     .Object());
      SetSlice(name, "nodeName: " + name, Below(2));
    }
    SetSlice("all", "allNodes: true", 1 + Below(2));
    SetSlice("right",
             "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: side, operator: In, "
             "values: [right]}]}]}",
             Below(3));
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      if (Chance(3)) Arrive();
      if (Chance(12)) Delete();
      const Pods before = Now();
      const Devices had = Held();
      simulation_->Advance(absl::Seconds(1));
      Check(before, had);
    }
    simulation_->RunUntilQuiet();
    CheckQuiet();
  }

  int nominations() const { return nominations_; }
  int kept() const { return kept_; }
  std::vector<std::pair<std::string, std::string>> bindings() const {
    return simulation_->cluster().Bindings();
  }

 private:
  bool Chance(int one_in) { return random_() % static_cast<unsigned>(one_in) == 0; }
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void Set(const std::string& yaml) { simulation_->cluster().Set(ObjectsFromYaml(yaml)[0]); }

  void SetSlice(const std::string& pool, const std::string& nodes, int devices) {
    if (devices == 0) return;
    std::vector<std::string> listed;
    for (int i = 0; i < devices; ++i) {
      listed.push_back(absl::StrCat("{name: ", pool, "-", i, "}"));
      all_devices_.push_back(absl::StrCat(pool, "-", i));
    }
    Set(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", pool,
        "}, spec: {driver: d, ", nodes, ", pool: {name: ", pool,
        ", generation: 1, resourceSliceCount: 1}, devices: [", absl::StrJoin(listed, ", "), "]}}"));
  }

  // A pod, or a gang of two.
  void Arrive() {
    const int priority = Below(4);
    const bool is_gang = Chance(4);
    const std::string group = absl::StrCat("g", next_);
    if (is_gang) simulation_->cluster().Set(MakeGroup(group, 2));
    for (int i = 0; i < (is_gang ? 2 : 1); ++i) {
      PodBuilder pod = MakePod();
      pod.Name(absl::StrCat("p", next_++)).Namespace("default").Request("cpu", "1");
      pod.Priority(priority);
      if (is_gang) pod.Label("scheduling.x-k8s.io/pod-group", group);
      auto& spec = *pod.Message().mutable_spec();
      spec.set_termination_grace_period_seconds(1 + Below(20));
      if (!Chance(3)) (*spec.mutable_node_selector())["host"] = absl::StrCat("n", Below(kNodes));
      auto& claim = *spec.add_resource_claims();
      claim.set_name("c");
      claim.set_resource_claim_template_name(absl::StrCat("t", Chance(3) ? 2 : 1));
      simulation_->cluster().Set(pod.Object());
    }
  }

  void Delete() {
    const Pods pods = Now();
    if (pods.empty()) return;
    auto chosen = pods.begin();
    std::advance(chosen, Below(static_cast<int>(pods.size())));
    simulation_->cluster().DeleteGracefully("default/" + chosen->first);
  }

  Pods Now() const {
    Pods pods;
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (HasEnded(pod.status())) continue;
      SeenPod& seen = pods[pod.metadata().name()];
      seen.priority = pod.spec().priority();
      seen.node = pod.spec().node_name();
      if (seen.node.empty()) seen.nominated = pod.status().nominated_node_name();
      seen.is_leaving = pod.metadata().has_deletion_timestamp();
      const std::string& of = pod.spec().resource_claims(0).resource_claim_template_name();
      seen.devices = of == "t2" ? 2 : 1;
      const auto host = pod.spec().node_selector().find("host");
      if (host != pod.spec().node_selector().end()) seen.wanted_node = host->second;
      const auto group = pod.metadata().labels().find("scheduling.x-k8s.io/pod-group");
      if (group != pod.metadata().labels().end()) seen.group = group->second;
    }
    return pods;
  }

  // A claim is named POD-c.
  Devices Held() const {
    Devices held;
    for (const Object& object : simulation_->cluster().List(Kind::kResourceClaim)) {
      const auto& claim = object.As<api::ResourceClaim>();
      const std::string pod = claim.metadata().name().substr(0, claim.metadata().name().find('-'));
      for (const auto& result : claim.status().allocation().devices().results()) {
        EXPECT_TRUE(held.emplace(result.device(), pod).second) << result.device() << " twice";
      }
    }
    return held;
  }

  static bool Reaches(const std::string& device, const std::string& node) {
    const std::string pool = device.substr(0, device.find('-'));
    return pool == "all" || pool == node || (pool == "right" && node != "n0");
  }

  // Free, or held by a pod that is leaving: with its priority, which has to be lower.
  struct AvailableDevice {
    std::string name;
    int priority = -1;
  };
  std::vector<AvailableDevice> Available(const Pods& pods, const Devices& held) const {
    std::vector<AvailableDevice> available;
    for (const std::string& device : all_devices_) {
      const auto holder = held.find(device);
      const auto pod = holder == held.end() ? pods.end() : pods.find(holder->second);
      if (pod == pods.end()) {
        available.push_back({device});
      } else if (pod->second.is_leaving) {
        available.push_back({device, pod->second.priority});
      }
    }
    return available;
  }

  // Whether all of them can have devices together, each on its nominated node.
  static bool CanHaveAll(const std::vector<SeenPod>& pods, std::vector<AvailableDevice> available) {
    std::vector<const SeenPod*> wants;  // for each device
    for (const SeenPod& pod : pods) wants.insert(wants.end(), pod.devices, &pod);
    const std::function<bool(size_t)> match = [&](size_t i) {
      if (i == wants.size()) return true;
      for (AvailableDevice& device : available) {
        if (device.name.empty() || device.priority >= wants[i]->priority) continue;
        if (!Reaches(device.name, wants[i]->nominated)) continue;
        const std::string taken = std::exchange(device.name, "");
        if (match(i + 1)) return true;
        device.name = taken;
      }
      return false;
    };
    return match(0);
  }

  static std::string Show(const Pods& pods, const Devices& held) {
    std::string text;
    for (const auto& [name, pod] : pods) {
      absl::StrAppend(&text, "\n  ", name, " priority ", pod.priority, " wants ", pod.devices,
                      " on ", pod.wanted_node.empty() ? "any node" : pod.wanted_node, " ",
                      pod.group, pod.node.empty() ? "" : " is on ", pod.node,
                      pod.nominated.empty() ? "" : " nominated to ", pod.nominated,
                      pod.is_leaving ? " leaves" : "");
      for (const auto& [device, holder] : held) {
        if (holder == name) absl::StrAppend(&text, " has ", device);
      }
    }
    return text;
  }

  void Check(const Pods& before, const Devices& had) {
    const Pods after = Now();
    int highest = -1;
    for (const auto& [name, pod] : after) {
      const auto was = before.find(name);
      if (pod.node.empty() || (was != before.end() && !was->second.node.empty())) continue;
      highest = std::max(highest, pod.priority);
      placed_at_[name] = step_;
    }
    std::vector<SeenPod> were_nominated, still_nominated;
    for (const auto& [name, pod] : after) {
      if (pod.nominated.empty()) {
        nominated_at_.erase(name);
      } else if (nominated_at_.emplace(name, step_).second) {
        ++nominations_;
      }
    }
    for (const auto& [name, pod] : before) {
      if (pod.nominated.empty() || pod.priority <= highest) continue;
      were_nominated.push_back(pod);
      const auto now = after.find(name);
      if (now != after.end() && now->second.nominated == pod.nominated) {
        still_nominated.push_back(pod);
      }
    }
    highest_placed_.push_back(highest);
    can_have_all_.push_back(CanHaveAll(were_nominated, Available(before, had)));
    if (highest >= 0 && !still_nominated.empty() && can_have_all_.back()) {
      ++kept_;
      EXPECT_TRUE(CanHaveAll(still_nominated, Available(after, Held())))
          << "a device was taken from a nominated pod in second " << step_
          << "\nbefore: " << Show(before, had) << "\nafter: " << Show(after, Held());
    }
    CheckEvictions(after);
    ++step_;
  }

  // A victim says whose it is: "Preempted by pod UID on node N".
  void CheckEvictions(const Pods& after) {
    for (const RecordedEvent& event : simulation_->cluster().RecordedEvents()) {
      if (event.reason != "Preempted" || !seen_events_.insert(event.regarding->uid()).second) {
        continue;
      }
      const std::string victim(event.regarding->name()), preemptor(event.related->name());
      const auto since = nominated_at_.find(preemptor);
      const auto placed = placed_at_.find(victim);
      if (since == nominated_at_.end() || placed == placed_at_.end()) continue;
      // Its devices may have gone to a more important pod.
      const bool was_sure =
          can_have_all_[placed->second] &&
          std::all_of(highest_placed_.begin() + since->second, highest_placed_.end(),
                      [&](int priority) { return priority < after.at(preemptor).priority; });
      if (!was_sure) continue;
      EXPECT_LE(placed->second, since->second)
          << victim << " was let in and evicted by " << preemptor << " in second " << step_;
    }
  }

  // Single pods that wait: no free devices are enough for them.
  void CheckQuiet() {
    const Pods pods = Now();
    const Devices held = Held();
    for (const auto& [name, pod] : pods) {
      if (!pod.node.empty() || !pod.group.empty()) continue;
      for (int i = 0; i < kNodes; ++i) {
        const std::string node = absl::StrCat("n", i);
        if (!pod.wanted_node.empty() && pod.wanted_node != node) continue;
        const auto free =
            std::count_if(all_devices_.begin(), all_devices_.end(), [&](const std::string& device) {
              return !held.contains(device) && Reaches(device, node);
            });
        EXPECT_LT(free, pod.devices) << name << " waits, and could run on " << node;
      }
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Simulation> simulation_;
  std::vector<std::string> all_devices_;
  std::map<std::string, int> nominated_at_, placed_at_;  // by pod: the second
  std::vector<int> highest_placed_;                      // by second
  std::vector<bool> can_have_all_;  // whether who was nominated could have devices then
  std::set<std::string> seen_events_;
  int next_ = 0, step_ = 0, nominations_ = 0, kept_ = 0;
};

TEST(RandomNominatedDevicesTest, WhatIsFreedForANominatedPodIsNotTakenByLessImportantOnes) {
  int nominations = 0, kept = 0;
  const bool counts =
      RunWithAndWithoutMemory<KeptDevicesCluster>(150, 120, [&](const KeptDevicesCluster& cluster) {
        nominations += cluster.nominations();
        kept += cluster.kept();
      });
  if (!counts) return;
  EXPECT_GT(nominations, 500);
  EXPECT_GT(kept, 20);
}

}  // namespace
}  // namespace berth
