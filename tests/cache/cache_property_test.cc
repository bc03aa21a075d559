// SPDX-License-Identifier: Apache-2.0
// Random sequences of events, sensible or not: the sums are those of a recomputation, the table is
// that of a fresh one, and what observers sum up is right. BERTH_TEST_SEED repeats one sequence.
#include <cstdlib>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "cache/cache.h"
#include "gmock/gmock.h"

namespace berth::testing {
namespace {

constexpr int kSequences = 20;
constexpr int kOperations = 1000;
constexpr int kPods = 40;
constexpr int kNodes = 12;
constexpr int kZones = 3;

const char* const kZoneLabel = "topology.kubernetes.io/zone";

class CpuSums final : public AssignmentObserver {
 public:
  void OnPodAssigned(const PodInfo& pod, const NodeInfo& node) override { Add(pod, node, 1); }
  void OnPodUnassigned(const PodInfo& pod, const NodeInfo& node) override { Add(pod, node, -1); }
  std::map<std::string, int64_t> sums;  // by node; those of 0 left out

 private:
  void Add(const PodInfo& pod, const NodeInfo& node, int64_t sign) {
    int64_t& sum = sums[std::string(node.name().view())];
    sum += sign * pod.requests().Get(kCpu);
    if (sum == 0) sums.erase(std::string(node.name().view()));
  }
};

// What the cache should know, without any cleverness.
struct Model {
  struct Placed {
    std::shared_ptr<const PodInfo> pod;
    std::string node;
    bool assumed;
  };
  std::map<std::string, Placed> pods;  // by uid
  std::map<std::string, std::shared_ptr<const NodeSpec>> nodes;
};

class CacheMachine {
 public:
  explicit CacheMachine(uint64_t seed) : random_(seed) { cache_.AddObserver(&observer_); }

  void Step() {
    const std::string pod = absl::StrCat("p", Below(kPods));
    const std::string uid = absl::StrCat("default/", pod);
    const std::string node = absl::StrCat("n", Below(kNodes));
    const Symbol node_name = Symbol::Intern(node);
    switch (Below(10)) {
      case 0:
      case 1:
        SetPod(MakePodOn(pod, node));
        break;
      case 2:
        SetPod(MakePodOn(pod, ""));
        break;
      case 3:
        cache_.RemovePod(uid);
        model_.pods.erase(uid);
        break;
      case 4:
      case 5: {
        const auto info = MakePodOn(pod, "");
        const bool can =
            !model_.pods.contains(uid) && model_.nodes.contains(node) && !info->terminal();
        ASSERT_EQ(cache_.AssumePod(info, node_name).ok(), can);
        if (can) model_.pods[uid] = {info, node, true};
        break;
      }
      case 6: {
        const auto it = model_.pods.find(uid);
        const bool can = it != model_.pods.end() && it->second.assumed;
        ASSERT_EQ(cache_.ForgetPod(uid), can);
        if (can) model_.pods.erase(it);
        break;
      }
      case 7:
        cache_.FinishBinding(uid);
        break;
      case 8:
        SetNode(node);
        break;
      case 9:
        ASSERT_EQ(cache_.RemoveNode(node_name), model_.nodes.erase(node) == 1);
        break;
    }
    if (Below(20) == 0) ChangeZone();
    if (Below(3) == 0) cache_.Refresh();
  }

  void Check() {
    ASSERT_TRUE(cache_.CheckInvariants().ok()) << cache_.CheckInvariants();
    ASSERT_EQ(cache_.pod_count(), static_cast<int>(model_.pods.size()));
    std::map<std::string, int64_t> cpu;
    int assumed = 0;
    for (const auto& [uid, placed] : model_.pods) {
      cpu[placed.node] += placed.pod->requests().Get(kCpu);
      assumed += placed.assumed ? 1 : 0;
      ASSERT_NE(cache_.FindPod(uid), nullptr) << uid;
      ASSERT_EQ(cache_.FindPod(uid)->pod, placed.pod) << uid;
      ASSERT_EQ(cache_.FindPod(uid)->node_name.view(), placed.node) << uid;
    }
    ASSERT_EQ(cache_.assumed_count(), assumed);
    ASSERT_EQ(observer_.sums, cpu);
    for (const auto& [node, sum] : cpu) {
      ASSERT_EQ(cache_.FindNode(Symbol::Intern(node))->requested().Get(kCpu), sum) << node;
    }
    CheckTable();
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  std::shared_ptr<const PodInfo> MakePodOn(const std::string& name, const std::string& node) {
    PodBuilder pod = MakePod().Name(name).Request("cpu", absl::StrCat(1 + Below(4)));
    if (!node.empty()) pod.NodeName(node);
    if (Below(8) == 0) pod.Phase("Succeeded");
    if (Below(8) == 0) pod.HostPort(80);
    return pod.Obj();
  }

  void SetNode(const std::string& name) {
    NodeBuilder node = MakeNode().Name(name).Capacity("cpu", absl::StrCat(1 + Below(64)));
    node.Label(kZoneLabel, absl::StrCat(Below(kZones)));
    if (Below(4) == 0) node.Taint("k", absl::StrCat(Below(2)), TaintEffect::kNoSchedule);
    if (Below(2) == 0) node.Image("image", Below(1000));
    const std::shared_ptr<const NodeSpec> spec = node.Obj();
    cache_.SetNode(spec);
    model_.nodes[name] = spec;
  }

  // All nodes of a zone go, or change, or many nodes come.
  void ChangeZone() {
    const Symbol zone = Symbol::Intern(absl::StrCat(Below(kZones)));
    const uint32_t what = Below(3);
    for (int i = 0; i < kNodes; ++i) {
      const std::string name = absl::StrCat("n", i);
      const auto known = model_.nodes.find(name);
      if (known == model_.nodes.end() || what == 2) {
        if (what == 2) SetNode(name);
      } else if (*known->second->labels.Find(Symbol::Intern(kZoneLabel)) == zone) {
        if (what == 1) {
          SetNode(name);
          continue;
        }
        ASSERT_TRUE(cache_.RemoveNode(Symbol::Intern(name)));
        model_.nodes.erase(known);
      }
    }
  }

  void SetPod(const std::shared_ptr<const PodInfo>& pod) {
    cache_.SetPod(pod);
    const auto it = model_.pods.find(pod->uid());
    const bool waits = it != model_.pods.end() && it->second.assumed && pod->node_name().empty();
    if (waits && !pod->terminal()) return;
    model_.pods.erase(pod->uid());
    if (!pod->terminal() && !pod->node_name().empty()) {
      model_.pods[pod->uid()] = {pod, pod->node_name(), false};
    }
  }

  // The table kept in step is the one made from scratch.
  void CheckTable() {
    cache_.Refresh();
    const NodeTable& table = cache_.table();
    ASSERT_EQ(table.size(), static_cast<int>(model_.nodes.size()));
    std::vector<const NodeInfo*> nodes;
    for (NodeRow row = 0; row < table.size(); ++row) {
      const NodeInfo& node = table.node(row);
      ASSERT_TRUE(model_.nodes.contains(std::string(node.name().view())));
      ASSERT_EQ(cache_.FindNode(node.name()), &node);
      nodes.push_back(&node);
    }
    NodeRow next = 0;
    cache_.ForEachNode([&](const NodeInfo& node) {
      if (next < table.size()) {
        ASSERT_EQ(&table.node(next), &node) << "in another order";
      }
      ++next;
    });
    NodeTable fresh;
    fresh.SetOrder(nodes);
    const Symbol zone = Symbol::Intern(kZoneLabel);
    const Symbol image = Symbol::Intern("image");
    ASSERT_EQ(table.image_node_count(image), fresh.image_node_count(image));
    ASSERT_EQ(table.image_size_bytes(image), fresh.image_size_bytes(image));
    for (NodeRow row = 0; row < table.size(); ++row) {
      ASSERT_EQ(table.FindRow(table.node(row).name()), row);
      ASSERT_EQ(table.requested(kCpu)[row], fresh.requested(kCpu)[row]);
      ASSERT_EQ(table.allocatable(kCpu)[row], fresh.allocatable(kCpu)[row]);
      ASSERT_EQ(table.nonzero_requested(kCpu)[row], fresh.nonzero_requested(kCpu)[row]);
      ASSERT_EQ(table.pod_count()[row], fresh.pod_count()[row]);
      ASSERT_EQ(table.has_used_ports()[row], fresh.has_used_ports()[row]);
      ASSERT_EQ(table.label_column(zone).at(row), fresh.label_column(zone).at(row));
      ASSERT_EQ(table.taints().at(row), fresh.taints().at(row));
    }
  }

  std::mt19937_64 random_;
  CpuSums observer_;
  Cache cache_;
  Model model_;
};

void RunSequence(uint64_t seed) {
  SCOPED_TRACE(absl::StrCat("BERTH_TEST_SEED=", seed));
  CacheMachine machine(seed);
  for (int i = 0; i < kOperations && !::testing::Test::HasFatalFailure(); ++i) {
    machine.Step();
    if (i % 7 == 0) machine.Check();
  }
  machine.Check();
}

TEST(CacheProperty, WhatItSumsUpIsRight) {
  if (const char* seed = std::getenv("BERTH_TEST_SEED")) {
    return RunSequence(std::strtoull(seed, nullptr, 10));
  }
  for (uint64_t seed = 1; seed <= kSequences && !HasFatalFailure(); ++seed) RunSequence(seed);
}

}  // namespace
}  // namespace berth::testing
