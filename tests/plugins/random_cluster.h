// SPDX-License-Identifier: Apache-2.0
// Random clusters and pods for tests that hold for every plugin.
#ifndef BERTH_TESTS_PLUGINS_RANDOM_CLUSTER_H_
#define BERTH_TESTS_PLUGINS_RANDOM_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/incremental/sign.h"
#include "berth/testing/objects.h"

namespace berth::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  int Below(int bound) { return static_cast<int>(engine_() % bound); }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  bool Percent(int chance) { return Below(100) < chance; }
  template <class T>
  const T& OneOf(const std::vector<T>& choices) {
    return choices[Below(static_cast<int>(choices.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

// Nodes and the pods on them, in a form that can still be changed.
struct RandomCluster {
  std::vector<NodeBuilder> nodes;
  std::vector<std::vector<std::shared_ptr<const PodInfo>>> pods;  // by node
  std::vector<Object> objects;                                    // Services and ReplicaSets

  std::vector<NodeInfo> Infos() const;
};

// One to `max_nodes` nodes with labels, taints, resources, images and pods of every kind, some of
// which belong to Services and ReplicaSets.
RandomCluster MakeRandomCluster(Random& random, int max_nodes);
// A pod that uses a few of the things that plugins look at.
PodBuilder MakeRandomPod(Random& random, absl::string_view name);

// Changes one thing about a pod: any, or the one of this number.
inline constexpr int kPodChanges = 17, kAddsLabel = 0, kAddsInterPodTerm = 11;
void ChangePod(Random& random, PodBuilder& pod);
void ChangePod(Random& random, PodBuilder& pod, int change);
// What a plugin must have declared to notice a change of a node: when it evaluates that node, and
// when it evaluates another.
struct NodeChange {
  int node;
  Aspects own;
  Aspects others;
};
// Changes one thing about one node.
NodeChange ChangeNode(Random& random, RandomCluster& cluster);

}  // namespace berth::testing

#endif  // BERTH_TESTS_PLUGINS_RANDOM_CLUSTER_H_
