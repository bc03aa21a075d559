// SPDX-License-Identifier: Apache-2.0
// Random nodes and pods that come, change and go, for tests of what the pruned search keeps of
// them.
#ifndef BERTH_TESTS_PREEMPTION_PRUNING_CHANGING_NODES_H_
#define BERTH_TESTS_PREEMPTION_PRUNING_CHANGING_NODES_H_

#include <list>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/columns/node_table.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"
#include "preemption/pruning/bound_calculator.h"
#include "preemption/pruning/priority_levels.h"

namespace berth::testing {

inline constexpr char kHuge[] = "144115188075855872";  // 2^57

// A resource that is not common.
inline ResourceId Rare() {
  static const ResourceId id = [] {
    for (int i = 0; i < kCommonResources; ++i) ResourceIdOf(absl::StrCat("example.com/other-", i));
    return ResourceIdOf("example.com/rare");
  }();
  return id;
}

// Random nodes, of which some are in a table, and pods on them. They have cpu and another resource.
class ChangingNodes {
 public:
  ChangingNodes(unsigned seed, int count, ResourceId other = kMemory)
      : random_(seed), count_(count), other_(ResourceName(other)) {
    for (int i = 0; i < count; ++i) {
      nodes_.push_back(MakeNode()
                           .Name(absl::StrCat("n", i))
                           .Capacity("cpu", "8")
                           .Capacity(other_, i % 50 == 7 ? kHuge : "8")
                           .Info());
    }
    table_.SetOrder({});
  }

  int Below(int bound) { return static_cast<int>(random_() % bound); }
  const NodeTable& table() const { return table_; }

  void Change() {
    NodeInfo& node = *std::next(nodes_.begin(), Below(count_));
    const NodeRow row = table_.FindRow(node.name());
    // Rows move now and then, by one or all of them.
    const int kind = Below(10) > 0 && row >= 0 && count_ > 64 ? 9 : Below(10);
    if (row < 0) {
      if (kind > 5) table_.InsertRow(Below(table_.size() + 1), &node);
    } else if (kind == 0) {
      std::vector<const NodeInfo*> some;
      for (const NodeInfo& other : nodes_) {
        if (Below(3) > 0) some.push_back(&other);
      }
      if (Below(5) > 0) {
        table_.Rearrange(some);
      } else {
        table_.SetOrder(some);
      }
    } else if (kind == 1) {
      std::vector<NodeRow> rows = {row};
      for (NodeRow other = row + 1; other < table_.size(); ++other) {
        if (Below(3) == 0) rows.push_back(other);
      }
      table_.RemoveRow(rows);
    } else {
      ChangePods(node);
      table_.RefreshRow(row);
    }
  }

 private:
  void ChangePods(NodeInfo& node) {
    const int kind = Below(4);
    if (node.pods().empty() || (kind > 0 && node.pods().size() < 8)) {
      node.AddPod(Pod().Obj());
      return;
    }
    const auto pod = node.pods()[Below(static_cast<int>(node.pods().size()))];
    if (kind == 1) {
      node.RemovePod(*pod);
    } else {  // it starts
      const auto started = pod->packed()->With(
          [](api::Pod& object) { object.mutable_status()->mutable_start_time()->set_seconds(3); });
      node.ReplacePod(*pod, *PodInfo::Create(started, pod.get()));
    }
  }

  PodBuilder Pod() {
    PodBuilder pod = MakePod().Name(absl::StrCat("p", ++pods_)).Priority(Below(7) - 2);
    if (Below(3) > 0) pod.Started(absl::FromUnixSeconds(Below(4)));
    if (Below(4) > 0) pod.Request("cpu", absl::StrCat(Below(4)));
    if (Below(4) > 0) pod.Request(other_, Below(50) == 0 ? kHuge : absl::StrCat(Below(4)));
    return pod;
  }

  std::mt19937 random_;
  const int count_;
  const absl::string_view other_;
  int pods_ = 0;
  std::list<NodeInfo> nodes_;
  NodeTable table_;
};

inline void Read(PriorityLevels& levels, const NodeTable& nodes) {
  ASSERT_TRUE(levels.Refresh(nodes, CycleState()));
}

inline PreemptorClass ClassOf(int64_t milli_cpu, int64_t memory, int64_t priority,
                              ResourceId other = kMemory) {
  PreemptorClass preemptor{
      .priority = priority, .by_priority = true, .victims_by_priority = priority > 2};
  preemptor.need.emplace();
  preemptor.need->needed.requests = {{kCpu, milli_cpu}, {other, memory}};
  return preemptor;
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_PREEMPTION_PRUNING_CHANGING_NODES_H_
