// SPDX-License-Identifier: Apache-2.0
// Random histories of a cluster with claims of devices, and what must hold at every quiet moment:
// no device has two claims, every pod on a node has its claims there, and no pod waits for a device
// while one is free, or would be if a less important pod went where such pods are evicted. Some
// pods wait for a disk first. With and without memory the same.
#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/node_selector.h"
#include "berth/api/pod_status.h"
#include "berth/api/quantity.h"
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

#ifdef NDEBUG
constexpr int kHistories = 150;
#else
constexpr int kHistories = 20;
#endif

constexpr int kDevicesOfNode = 3;

constexpr int kCapacity = 4;  // of a device that claims share

// What a node has: partitions consume its counters, and of devices that are shared claims have some
// of the capacity. Partitions that are shared consume counters once.
enum class Devices { kWhole, kPartitions, kScoredPartitions, kShared, kSharedPartitions };

// Whether pods have priorities, and are evicted for their devices.
enum class Preemption { kOff, kOn };

class History {
 public:
  History(uint64_t seed, bool incremental, Devices devices, Preemption preemption)
      : random_(seed),
        preempts_(preemption == Preemption::kOn),
        partitioned_(devices != Devices::kWhole && devices != Devices::kShared),
        shared_(devices == Devices::kShared || devices == Devices::kSharedPartitions) {
    simulation_ = EmptySimulationOf(
        preempts_ ? "tests/engine/preempted_devices.yaml" : ConfigurationFor(devices), seed,
        incremental);
  }

  void Run(int steps) {
    Set("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}");
    Set("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow, annotations: "
        "{simulation.berth/provision-time: 30s}}, provisioner: example.com/disks, "
        "volumeBindingMode: WaitForFirstConsumer}");
    for (const int count : {1, 2}) {
      Set(absl::StrCat(
          "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: of-",
          count,
          ", namespace: default}, spec: {spec: {devices: {requests: [{name: r, exactly: "
          "{deviceClassName: any, count: ",
          count, shared_ ? ", capacity: {requests: {m: '1'}}" : "", "}}]}}}}"));
    }
    Set("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: whole, "
        "namespace: default}, spec: {spec: {devices: {requests: [{name: r, exactly: "
        "{deviceClassName: any, selectors: [{cel: {expression: 'device.attributes[\"d\"].size == "
        "3'}}]}}]}}}}");
    Set("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: much, "
        "namespace: default}, spec: {spec: {devices: {requests: [{name: r, exactly: "
        "{deviceClassName: any, capacity: {requests: {m: '3'}}}}]}}}}");
    for (int i = 0; i < 2; ++i) AddNode();
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      Change();
      if (Chance(3)) simulation_->Advance(absl::Seconds(static_cast<int64_t>(random_() % 20)));
      if (Chance(4)) Quiet();
    }
    Quiet();
  }

  std::vector<std::pair<std::string, std::string>> bindings() const {
    return simulation_->cluster().Bindings();
  }
  int checked() const { return checked_; }

 private:
  static std::string ConfigurationFor(Devices devices) {
    switch (devices) {
      case Devices::kWhole:
        return "config/kube-scheduler-default.yaml";
      case Devices::kPartitions:
        return "tests/engine/partitions.yaml";
      case Devices::kScoredPartitions:
        return "tests/engine/scored_partitions.yaml";
      case Devices::kShared:
      case Devices::kSharedPartitions:
        break;
    }
    return "tests/engine/shared_devices.yaml";
  }

  bool Chance(int one_in) { return random_() % static_cast<unsigned>(one_in) == 0; }
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void Set(const std::string& yaml) { simulation_->cluster().Set(ObjectsFromYaml(yaml)[0]); }

  void AddNode() {
    const std::string name = absl::StrCat("n", next_++);
    simulation_->cluster().Set(
        MakeNode().Name(name).Allocatable("cpu", "64").Allocatable("memory", "64Gi").Object());
    SetSlice(name, kDevicesOfNode);
  }

  void SetSlice(const std::string& node, int devices) {
    const auto slice = [&](const std::string& name, const std::string& rest) {
      Set(absl::StrCat(
          "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", name,
          "}, spec: {driver: d, nodeName: ", node, ", pool: {name: ", node,
          ", generation: 1, resourceSliceCount: ", partitioned_ ? 2 : 1, "}, ", rest, "}}"));
    };
    const auto device = [&](const std::string& name, int size) {
      std::string yaml = absl::StrCat("{name: ", name, ", attributes: {size: {int: ", size, "}}");
      if (partitioned_) {
        absl::StrAppend(&yaml, ", consumesCounters: [{counterSet: c, counters: {n: {value: '", size,
                        "'}}}]");
      }
      if (shared_) {
        absl::StrAppend(&yaml, ", allowMultipleAllocations: true, capacity: {m: {value: '",
                        kCapacity, "'}}");
      }
      return yaml + "}, ";
    };
    std::string listed;
    for (int i = 0; i < devices; ++i) listed += device(absl::StrCat("x", i), 1);
    if (partitioned_) listed += device("whole", devices);
    slice(node, absl::StrCat("devices: [", listed, "]"));
    if (!partitioned_) return;
    slice(node + "-counters",
          absl::StrCat("sharedCounters: [{name: c, counters: {n: {value: '", devices, "'}}}]"));
  }

  void AddPod() {
    PodBuilder pod = MakePod();
    pod.Name(absl::StrCat("p", next_++)).Namespace("default").Request("cpu", "1");
    if (preempts_) pod.Priority(Below(3));
    api::PodSpec& spec = *pod.Message().mutable_spec();
    if (Chance(4)) {  // of a claim that several pods use, and that may not be there
      auto& claim = *spec.add_resource_claims();
      claim.set_name("shared");
      claim.set_resource_claim_name(absl::StrCat("s", Below(3)));
    }
    if (spec.resource_claims().empty() || Chance(3)) {
      auto& claim = *spec.add_resource_claims();
      claim.set_name("own");
      const bool whole = partitioned_ && Chance(4);
      const bool much = shared_ && Chance(3);
      claim.set_resource_claim_template_name(whole       ? "whole"
                                             : much      ? "much"
                                             : Chance(3) ? "of-2"
                                                         : "of-1");
    }
    if (Chance(4)) {  // takes long to be bound, when its devices are in flight
      const std::string disk = absl::StrCat("disk-", next_++);
      Set(absl::StrCat("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", disk,
                       ", namespace: default}, spec: {accessModes: [ReadWriteOnce], "
                       "storageClassName: slow, resources: {requests: {storage: 1Gi}}}}"));
      pod.Claim(disk);
    }
    simulation_->cluster().Set(pod.Object());
  }

  void Change() {
    InMemoryCluster& cluster = simulation_->cluster();
    const std::vector<Object> pods = cluster.List(Kind::kPod);
    const std::string pod =
        pods.empty() ? "" : std::string(pods[Below(static_cast<int>(pods.size()))].key());
    switch (Below(14)) {
      case 0:
        if (cluster.List(Kind::kNode).size() < 5) AddNode();
        return;
      case 1:
        if (!pod.empty()) cluster.Finish(pod);
        return;
      case 2:
        if (!pod.empty()) cluster.Delete(Kind::kPod, pod);
        return;
      case 3:
        if (!pod.empty()) cluster.DeleteGracefully(pod);
        return;
      case 4:
        Set(absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: s",
                         Below(3),
                         ", namespace: default}, spec: {devices: {requests: [{name: r, exactly: "
                         "{deviceClassName: any}}]}}}"));
        return;
      case 5:
        cluster.SetBindFault([this](const Identity&, const std::string&) -> absl::Status {
          return Chance(3) ? absl::UnavailableError("chance") : absl::OkStatus();
        });
        return;
      case 6:
        simulation_->Restart();
        return;
      case 7:
        cluster.Relist();
        return;
      case 8:  // events come late, and bindings take their time
        cluster.SetFaults({.seed = random_(),
                           .lost_answer = 0.1,
                           .slow_bind = 0.5,
                           .min_bind_delay = absl::Seconds(1),
                           .max_bind_delay = absl::Seconds(20),
                           .delayed_event = 0.5,
                           .max_event_delay = absl::Seconds(10)});
        return;
      default:
        AddPod();
        return;
    }
  }

  void Quiet() {
    simulation_->cluster().SetBindFault(nullptr);
    simulation_->cluster().SetFaults({});
    simulation_->RunUntilQuiet();
    Check();
    ++checked_;
  }

  void Check() {
    InMemoryCluster& cluster = simulation_->cluster();
    std::map<std::string, std::string> holder;  // of each device
    std::map<std::string, int64_t> consumed;    // of each device: what is shared, or 1
    std::map<std::string, const api::ResourceClaim*> claims;
    const std::vector<Object> objects = cluster.List(Kind::kResourceClaim);
    for (const Object& object : objects) {
      const auto& claim = object.As<api::ResourceClaim>();
      claims[std::string(object.key())] = &claim;
      for (const auto& result : claim.status().allocation().devices().results()) {
        std::string device = absl::StrCat(result.pool(), "/", result.device());
        if (shared_) {
          EXPECT_FALSE(result.share_id().empty()) << object.key();
          const auto amount = result.consumed_capacity().find("m");
          if (amount == result.consumed_capacity().end()) {
            ADD_FAILURE() << object.key() << " consumes nothing";
          } else {
            consumed[device] += Quantity::Parse(amount->second.string())->Value();
          }
          absl::StrAppend(&device, "/", result.share_id());
        } else {
          ++consumed[device];
        }
        const auto [it, is_new] = holder.emplace(device, object.key());
        EXPECT_TRUE(is_new) << device << " is held by " << it->second << " and " << object.key();
      }
    }
    std::map<std::string, int> used;  // counters of each pool
    for (const auto& [device, amount] : consumed) {
      EXPECT_LE(amount, shared_ ? kCapacity : 1) << device << " is overdrawn";
      used[device.substr(0, device.find('/'))] += SizeOf(device);
    }
    for (const auto& [pool, counters] : used) {
      EXPECT_LE(counters, kDevicesOfNode) << pool << " is overdrawn";
    }
    bool waits = false;       // a pod that one device would help, wherever it is
    int most_important = -1;  // of these
    int least_important = std::numeric_limits<int>::max();  // that has a device for itself alone
    for (const Object& object : cluster.List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (HasEnded(pod.status())) continue;
      const std::string& node = pod.spec().node_name();
      bool needs_one = node.empty() && pod.spec().resource_claims_size() == 1;
      for (const auto& status : pod.status().resource_claim_statuses()) {
        const auto found = claims.find("default/" + status.resource_claim_name());
        ASSERT_NE(found, claims.end()) << object.key();
        CheckClaim(*found->second, object, node);
        const auto& request = found->second->spec().devices().requests(0).exactly();
        needs_one &= request.count() == 1 && request.selectors().empty() && NeedsLittle(request) &&
                     !found->second->status().has_allocation();
      }
      for (const auto& reference : pod.spec().resource_claims()) {
        if (!reference.has_resource_claim_name()) continue;
        needs_one = false;
        const auto found = claims.find("default/" + reference.resource_claim_name());
        if (found != claims.end()) CheckClaim(*found->second, object, node);
      }
      if (pod.metadata().has_deletion_timestamp()) continue;
      waits |= needs_one;
      if (needs_one) most_important = std::max(most_important, pod.spec().priority());
      const bool has_own = !node.empty() && pod.spec().resource_claims_size() == 1 &&
                           pod.status().resource_claim_statuses_size() == 1;
      if (has_own) least_important = std::min(least_important, pod.spec().priority());
    }
    if (preempts_) {
      EXPECT_LE(most_important, least_important) << "a pod waits, and a less important one runs";
    }
    if (!waits) return;
    for (const Object& node : cluster.List(Kind::kNode)) {
      const std::string pool(node.name());
      for (const absl::string_view name : {"x0", "x1", "x2", "whole"}) {
        const std::string device = absl::StrCat(pool, "/", name);
        if (name == "whole" && !partitioned_) continue;
        const bool is_in_use = consumed.contains(device);
        EXPECT_TRUE(is_in_use ? !shared_ || consumed[device] == kCapacity
                              : used[pool] + SizeOf(device) > kDevicesOfNode)
            << "a pod waits, and " << device << " is free, or has room";
      }
    }
  }

  // How much of its pool's counter, or of its node's devices, it is.
  static int SizeOf(const std::string& device) {
    return absl::EndsWith(device, "/whole") ? kDevicesOfNode : 1;
  }

  // A request without a capacity is for all of it.
  bool NeedsLittle(const api::ExactDeviceRequest& request) const {
    if (!shared_) return true;
    const auto amount = request.capacity().requests().find("m");
    return amount != request.capacity().requests().end() && amount->second.string() == "1";
  }

  static void CheckClaim(const api::ResourceClaim& claim, const Object& pod,
                         const std::string& node) {
    if (node.empty()) return;
    const auto& status = claim.status();
    // A shared claim may have been replaced under a pod that runs.
    if (claim.metadata().owner_references().empty() && !status.has_allocation()) return;
    ASSERT_TRUE(status.has_allocation()) << pod.key() << ", " << claim.metadata().name();
    EXPECT_TRUE(NodeSelector(status.allocation().node_selector())
                    .Matches(LabelSet(), Symbol::Intern(node)) ||
                claim.metadata().owner_references().empty())
        << pod.key() << " is on " << node;
    bool reserved = false;
    for (const auto& user : status.reserved_for()) reserved |= user.uid() == pod.uid();
    EXPECT_TRUE(reserved || claim.metadata().owner_references().empty()) << pod.key();
  }

  std::mt19937_64 random_;
  const bool preempts_, partitioned_, shared_;
  std::unique_ptr<Simulation> simulation_;
  int next_ = 0;
  int checked_ = 0;
};

void RunHistories(Devices devices, Preemption preemption = Preemption::kOff) {
  int checked = 0;
  for (const int seed : testing::Seeds(kHistories)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": BERTH_SEED=", seed));
    History history(seed, /*incremental=*/true, devices, preemption);
    history.Run(60);
    if (::testing::Test::HasFailure()) return;
    checked += history.checked();
    if (seed % 5 != 0) continue;
    History plain(seed, /*incremental=*/false, devices, preemption);
    plain.Run(60);
    ASSERT_EQ(history.bindings(), plain.bindings());
  }
  if (testing::IsOneSeed()) return;
  EXPECT_GT(checked, 100);
}

TEST(RandomClaimsTest, HoldAtEveryQuietMoment) { RunHistories(Devices::kWhole); }

TEST(RandomClaimsTest, PartitionsTakeNoMoreThanThereIs) { RunHistories(Devices::kPartitions); }

TEST(RandomClaimsTest, SharesOfDevicesTakeNoMoreThanTheirCapacity) {
  RunHistories(Devices::kShared);
}

TEST(RandomClaimsTest, WhoIsLessImportantGoesForADevice) {
  RunHistories(Devices::kWhole, Preemption::kOn);
}

TEST(RandomClaimsTest, WhoIsLessImportantGoesForAShare) {
  RunHistories(Devices::kShared, Preemption::kOn);
}

TEST(RandomClaimsTest, WhoIsLessImportantGoesForAPartition) {
  RunHistories(Devices::kPartitions, Preemption::kOn);
}

TEST(RandomClaimsTest, SharedPartitionsTakeCountersOnce) {
  RunHistories(Devices::kSharedPartitions);
}

TEST(RandomClaimsTest, WhoIsLessImportantGoesForAShareOfAPartition) {
  RunHistories(Devices::kSharedPartitions, Preemption::kOn);
}

TEST(RandomClaimsTest, SoDoPartitionsThatAreScored) { RunHistories(Devices::kScoredPartitions); }

}  // namespace
}  // namespace berth
