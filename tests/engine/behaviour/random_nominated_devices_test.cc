// SPDX-License-Identifier: Apache-2.0
// Pods and gangs of random priorities come to devices of nodes and of a network, while victims take
// their time to go. Second by second: who is nominated, and could have devices that are free or
// about to be, still can after pods of lower priority were placed; nobody evicts a pod that was
// placed after the nomination; and when all is quiet, no device is kept from a pod that waits. The
// same for devices that claims share, and for cards that are had whole or in halves.
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

// What a pod that asks for two units gets: two devices, both halves of a device's capacity, or the
// whole card instead of one of its halves, which draw on the same counter.
enum class Units { kDevices, kShares, kPartitions };

struct SeenPod {
  int priority = 0, units = 0;  // that it asks for
  std::string node, nominated, wanted_node, group;
  bool is_leaving = false;
};
using Pods = std::map<std::string, SeenPod>;
// Units to the pods that have them: of a device that has two, DEVICE/0 and DEVICE/1.
using Held = std::map<std::string, std::string>;

class KeptDevicesCluster {
 public:
  KeptDevicesCluster(uint64_t seed, bool incremental, Units units) : random_(seed), units_(units) {
    simulation_ = EmptySimulationOf(units == Units::kDevices ? "tests/engine/nominated_devices.yaml"
                                                             : "tests/engine/nominated_shares.yaml",
                                    seed, incremental);
    Set("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}");
    for (int count = 1; count <= 2; ++count) {
      Set(
          absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: "
                       "{name: t",
                       count,
                       ", namespace: default}, spec: {spec: {devices: {requests: [{name: r, "
                       "exactly: {deviceClassName: any, ",
                       Asking(count), "}}]}}}}"));
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
      const Held had = HeldUnits();
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

  std::string Asking(int units) const {
    switch (units_) {
      case Units::kDevices:
        return absl::StrCat("count: ", units);
      case Units::kShares:
        return absl::StrCat("capacity: {requests: {memory: '", units, "'}}");
      case Units::kPartitions:
        break;
    }
    return absl::StrCat("selectors: [{cel: {expression: 'device.attributes[\"d\"].size == ", units,
                        "'}}]");
  }

  std::string DeviceYaml(const std::string& name) const {
    switch (units_) {
      case Units::kDevices:
        return absl::StrCat("{name: ", name, "}");
      case Units::kShares:
        return absl::StrCat("{name: ", name,
                            ", allowMultipleAllocations: true, capacity: {memory: {value: '2'}}}");
      case Units::kPartitions:
        break;
    }
    std::vector<std::string> parts;
    for (const auto& [part, size] :
         std::map<std::string, int>{{"-half-a", 1}, {"-half-b", 1}, {"-whole", 2}}) {
      parts.push_back(absl::StrCat("{name: ", name, part, ", attributes: {size: {int: ", size,
                                   "}}, consumesCounters: [{counterSet: ", name,
                                   ", counters: {parts: {value: '", size, "'}}}]}"));
    }
    return absl::StrJoin(parts, ", ");
  }

  void SetSlice(const std::string& pool, const std::string& nodes, int devices) {
    if (devices == 0) return;
    std::vector<std::string> listed, counters;
    for (int i = 0; i < devices; ++i) {
      const std::string name = absl::StrCat(pool, "-", i);
      listed.push_back(DeviceYaml(name));
      counters.push_back(absl::StrCat("{name: ", name, ", counters: {parts: {value: '2'}}}"));
      devices_.push_back(name);
    }
    const bool has_counters = units_ == Units::kPartitions;
    const auto slice = [&](const std::string& name, const std::string& rest) {
      Set(absl::StrCat(
          "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", name,
          "}, spec: {driver: d, ", nodes, ", pool: {name: ", pool,
          ", generation: 1, resourceSliceCount: ", has_counters ? 2 : 1, "}, ", rest, "}}"));
    };
    slice(pool, absl::StrCat("devices: [", absl::StrJoin(listed, ", "), "]"));
    if (!has_counters) return;
    slice(pool + "-counters",
          absl::StrCat("sharedCounters: [", absl::StrJoin(counters, ", "), "]"));
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
      seen.units = of == "t2" ? 2 : 1;
      const auto host = pod.spec().node_selector().find("host");
      if (host != pod.spec().node_selector().end()) seen.wanted_node = host->second;
      const auto group = pod.metadata().labels().find("scheduling.x-k8s.io/pod-group");
      if (group != pod.metadata().labels().end()) seen.group = group->second;
    }
    return pods;
  }

  std::vector<std::string> UnitsOf(const std::string& device) const {
    if (units_ == Units::kDevices) return {device};
    return {device + "/0", device + "/1"};
  }

  // Of the device, or the card, and how many.
  std::pair<std::string, int> TakenBy(const api::DeviceRequestAllocationResult& result) const {
    const std::string& device = result.device();
    switch (units_) {
      case Units::kDevices:
        return {device, 1};
      case Units::kShares:
        return {device, result.consumed_capacity().at("memory").string() == "2" ? 2 : 1};
      case Units::kPartitions:
        break;
    }
    const size_t part = device.find('-', device.find('-') + 1);
    return {device.substr(0, part), device.substr(part) == "-whole" ? 2 : 1};
  }

  // A claim is named POD-c.
  Held HeldUnits() const {
    Held held;
    for (const Object& object : simulation_->cluster().List(Kind::kResourceClaim)) {
      const auto& claim = object.As<api::ResourceClaim>();
      const std::string pod = claim.metadata().name().substr(0, claim.metadata().name().find('-'));
      for (const auto& result : claim.status().allocation().devices().results()) {
        auto [device, units] = TakenBy(result);
        for (const std::string& unit : UnitsOf(device)) {
          if (units > 0 && held.emplace(unit, pod).second) --units;
        }
        EXPECT_EQ(units, 0) << device << " has more claims than there is of it";
      }
    }
    return held;
  }

  static bool Reaches(const std::string& device, const std::string& node) {
    const std::string pool = device.substr(0, device.find('-'));
    return pool == "all" || pool == node || (pool == "right" && node != "n0");
  }

  // Free, or held by a pod that is leaving: with its priority, which has to be lower.
  struct AvailableUnit {
    std::string device;
    int priority = -1;
    bool is_taken = false;
  };
  std::vector<AvailableUnit> Available(const Pods& pods, const Held& held) const {
    std::vector<AvailableUnit> available;
    for (const std::string& device : devices_) {
      for (const std::string& unit : UnitsOf(device)) {
        const auto holder = held.find(unit);
        const auto pod = holder == held.end() ? pods.end() : pods.find(holder->second);
        if (pod == pods.end()) {
          available.push_back({device});
        } else if (pod->second.is_leaving) {
          available.push_back({device, pod->second.priority});
        }
      }
    }
    return available;
  }

  // Whether all of them can have their units together, each on its nominated node.
  bool CanHaveAll(const std::vector<SeenPod>& pods, std::vector<AvailableUnit> available) const {
    std::vector<const SeenPod*> wants;  // for each unit
    for (const SeenPod& pod : pods) wants.insert(wants.end(), pod.units, &pod);
    const std::function<bool(size_t, const std::string&)> match = [&](size_t i,
                                                                      const std::string& last) {
      if (i == wants.size()) return true;
      const bool is_same_device = units_ != Units::kDevices && i > 0 && wants[i - 1] == wants[i];
      for (AvailableUnit& unit : available) {
        if (unit.is_taken || unit.priority >= wants[i]->priority) continue;
        if (!Reaches(unit.device, wants[i]->nominated)) continue;
        if (is_same_device && unit.device != last) continue;
        unit.is_taken = true;
        if (match(i + 1, unit.device)) return true;
        unit.is_taken = false;
      }
      return false;
    };
    return match(0, "");
  }

  static std::string Show(const Pods& pods, const Held& held) {
    std::string text;
    for (const auto& [name, pod] : pods) {
      absl::StrAppend(&text, "\n  ", name, " priority ", pod.priority, " wants ", pod.units, " on ",
                      pod.wanted_node.empty() ? "any node" : pod.wanted_node, " ", pod.group,
                      pod.node.empty() ? "" : " is on ", pod.node,
                      pod.nominated.empty() ? "" : " nominated to ", pod.nominated,
                      pod.is_leaving ? " leaves" : "");
      for (const auto& [device, holder] : held) {
        if (holder == name) absl::StrAppend(&text, " has ", device);
      }
    }
    return text;
  }

  void Check(const Pods& before, const Held& had) {
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
      EXPECT_TRUE(CanHaveAll(still_nominated, Available(after, HeldUnits())))
          << "a device was taken from a nominated pod in second " << step_
          << "\nbefore: " << Show(before, had) << "\nafter: " << Show(after, HeldUnits());
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

  // Single pods that wait: no free devices are enough for them. Not where a gang is still
  // nominated, for which devices are kept: a victim on another node may be spared although its
  // device is needed (docs/dra.md, What is missing), and the gang waits until that pod ends.
  void CheckQuiet() {
    const Pods pods = Now();
    const Held held = HeldUnits();
    for (const auto& [name, pod] : pods) {
      if (!pod.node.empty() || !pod.group.empty()) continue;
      for (int i = 0; i < kNodes; ++i) {
        const std::string node = absl::StrCat("n", i);
        if (!pod.wanted_node.empty() && pod.wanted_node != node) continue;
        int64_t free = 0;  // of all devices together, or of the one that has most
        for (const std::string& device : devices_) {
          if (!Reaches(device, node)) continue;
          const std::vector<std::string> units = UnitsOf(device);
          const int64_t of_device =
              std::count_if(units.begin(), units.end(),
                            [&](const std::string& unit) { return !held.contains(unit); });
          free = units_ == Units::kDevices ? free + of_device : std::max(free, of_device);
        }
        ASSERT_LT(free, pod.units)
            << name << " waits, and could run on " << node << ":" << Show(pods, held);
      }
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Simulation> simulation_;
  const Units units_;
  std::vector<std::string> devices_;                     // or cards
  std::map<std::string, int> nominated_at_, placed_at_;  // by pod: the second
  std::vector<int> highest_placed_;                      // by second
  std::vector<bool> can_have_all_;  // whether who was nominated could have devices then
  std::set<std::string> seen_events_;
  int next_ = 0, step_ = 0, nominations_ = 0, kept_ = 0;
};

template <Units units>
struct ClusterOf : KeptDevicesCluster {
  ClusterOf(uint64_t seed, bool incremental) : KeptDevicesCluster(seed, incremental, units) {}
};

template <class Cluster>
void ExpectThatDevicesAreKept() {
  int nominations = 0, kept = 0;
  const bool counts = RunWithAndWithoutMemory<Cluster>(150, 120, [&](const Cluster& cluster) {
    nominations += cluster.nominations();
    kept += cluster.kept();
  });
  if (!counts) return;
  EXPECT_GT(nominations, 500);
  EXPECT_GT(kept, 20);
}

TEST(RandomNominatedDevicesTest, WhatIsFreedForANominatedPodIsNotTakenByLessImportantOnes) {
  ExpectThatDevicesAreKept<ClusterOf<Units::kDevices>>();
}

TEST(RandomNominatedDevicesTest, NorAreSharesOfDevices) {
  ExpectThatDevicesAreKept<ClusterOf<Units::kShares>>();
}

TEST(RandomNominatedDevicesTest, NorArePartitions) {
  ExpectThatDevicesAreKept<ClusterOf<Units::kPartitions>>();
}

}  // namespace
}  // namespace berth
