// SPDX-License-Identifier: Apache-2.0
// Random histories of a cluster with gangs, and what must hold at every quiet moment of them.
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

// As in random_operations_test.cc: what a release promises, and a share of it.
#ifdef NDEBUG
constexpr uint64_t kHistories = 1500;
#else
constexpr uint64_t kHistories = 150;
#endif

using Bindings = std::vector<std::pair<std::string, std::string>>;

class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {
    auto created = Simulation::Create({.configuration = GangConfiguration(),
                                       .registry = &Builtins(),
                                       .objects = {},
                                       .seed = seed});
    EXPECT_TRUE(created.ok()) << created.status();
    simulation_ = *std::move(created);
  }

  Bindings Run(int steps) {
    for (int i = 0; i < 3; ++i) AddNode();
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      Change();
      if (Chance(3)) {
        simulation_->Advance(absl::Seconds(static_cast<int64_t>(random_() % 20)));
      }
      if (Chance(4)) {
        simulation_->cluster().SetBindFault(nullptr);
        simulation_->RunUntilQuiet();
        Check();
      }
    }
    simulation_->cluster().SetBindFault(nullptr);
    simulation_->RunUntilQuiet();
    Check();
    return simulation_->cluster().Bindings();
  }

 private:
  bool Chance(int one_in) { return random_() % one_in == 0; }
  int Below(int n) { return static_cast<int>(random_() % n); }

  void AddNode() {
    const std::string name = absl::StrCat("n", next_++);
    nodes_.push_back(name);
    simulation_->cluster().Set(MakeGpuNode(name, 1 + Below(8)));
  }

  void Change() {
    switch (Below(9)) {
      case 0:
        AddNode();
        return;
      case 1: {  // a node goes, with its pods
        if (nodes_.size() < 2) return;
        const std::string node = nodes_[Below(static_cast<int>(nodes_.size()))];
        std::erase(nodes_, node);
        for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
          if (object.As<api::Pod>().spec().node_name() == node)
            DeletePod(std::string(object.key()));
        }
        // So does the place of a pod whose binding is to be tried again.
        for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
          if (pod.waiting.node == node) Lost(pod.pod);
        }
        simulation_->cluster().Delete(Kind::kNode, node);
        return;
      }
      case 2:  // a gang
      case 3: {
        const std::string group = absl::StrCat("g", next_++);
        const int members = 2 + Below(4);
        const int min_member = 1 + Below(members);
        const int gpus = 1 + Below(4);
        const bool group_first = Chance(2);
        if (group_first) simulation_->cluster().Set(MakeGroup(group, min_member));
        for (int i = 0; i < members; ++i) {
          simulation_->cluster().Set(MakeGpuPod(absl::StrCat(group, "-", i), gpus, group));
        }
        if (!group_first) simulation_->cluster().Set(MakeGroup(group, min_member));
        min_member_[group] = min_member;
        return;
      }
      case 4:  // a pod goes or ends
      case 5: {
        const std::vector<Object> pods = simulation_->cluster().List(Kind::kPod);
        if (pods.empty()) return;
        const std::string key(pods[Below(static_cast<int>(pods.size()))].key());
        if (Chance(2)) {
          DeletePod(key);
        } else {
          Lost(key);
          simulation_->cluster().Finish(key);
        }
        return;
      }
      case 6:  // bindings fail for a while
        simulation_->cluster().SetBindFault(
            [this](const Identity&, const std::string&) -> absl::Status {
              return Chance(3) ? absl::UnavailableError("chance") : absl::OkStatus();
            });
        return;
      default:
        simulation_->cluster().Set(MakeGpuPod(absl::StrCat("p", next_++), 1 + Below(6)));
        return;
    }
  }

  void DeletePod(const std::string& key) {
    Lost(key);
    simulation_->cluster().Delete(Kind::kPod, key);
  }
  // A group that loses a member from outside may run with fewer.
  void Lost(const std::string& key) {
    for (const auto& [group, min_member] : min_member_) {
      if (key.rfind("default/" + group + "-", 0) == 0) damaged_.insert(group);
    }
  }

  static int Gpus(const api::Pod& pod) {
    const auto& requests = pod.spec().containers(0).resources().requests();
    int gpus = 0;
    EXPECT_TRUE(absl::SimpleAtoi(requests.at("nvidia.com/gpu").string(), &gpus));
    return gpus;
  }

  void Check() {
    std::map<std::string, int> free;
    for (const Object& object : simulation_->cluster().List(Kind::kNode)) {
      int gpus = 0;
      EXPECT_TRUE(absl::SimpleAtoi(
          object.As<api::Node>().status().allocatable().at("nvidia.com/gpu").string(), &gpus));
      free[std::string(object.name())] = gpus;
    }
    std::set<std::string> pending;
    std::map<std::string, int> bound_of_group;
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (pod.status().phase() == "Succeeded") continue;
      const auto label = pod.metadata().labels().find("scheduling.x-k8s.io/pod-group");
      if (pod.spec().node_name().empty()) {
        pending.insert(std::string(object.key()));
      } else {
        free[pod.spec().node_name()] -= Gpus(pod);
        if (label != pod.metadata().labels().end()) ++bound_of_group[label->second];
      }
    }
    for (const auto& [node, gpus] : free) EXPECT_GE(gpus, 0) << node << " is over its allocatable";
    for (const auto& [group, bound] : bound_of_group) {
      if (damaged_.contains(group)) continue;
      EXPECT_GE(bound, min_member_[group]) << group << " runs in part";
    }
    std::set<std::string> known;
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      EXPECT_TRUE(known.insert(pod.pod).second) << pod.pod << " is pending twice";
    }
    EXPECT_EQ(known, pending) << "the scheduler lost track of pods";
    // Every single pod that would fit is bound.
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (!pending.contains(std::string(object.key()))) continue;
      if (pod.metadata().labels().contains("scheduling.x-k8s.io/pod-group")) continue;
      for (const auto& [node, gpus] : free) {
        EXPECT_LT(gpus, Gpus(pod)) << object.key() << " waits although it fits " << node;
      }
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Simulation> simulation_;
  std::vector<std::string> nodes_;
  std::map<std::string, int> min_member_;
  std::set<std::string> damaged_;
  int next_ = 0;
};

// BERTH_SEED=N repeats one history.
TEST(RandomHistory, HoldsItsInvariantsAndRepeats) {
  uint64_t first = 1;
  uint64_t last = kHistories;
  if (const char* seed = std::getenv("BERTH_SEED"); seed != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(seed, &first));
    last = first;
  }
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Bindings once = History(seed).Run(60);
    if (HasFailure()) return;
    EXPECT_EQ(History(seed).Run(60), once) << "the same seed made other decisions";
  }
}

}  // namespace
}  // namespace berth
