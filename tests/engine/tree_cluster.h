// SPDX-License-Identifier: Apache-2.0
// Trees of PodGroups on a small cluster with racks and blocks, for tests against all assignments:
// the objects, and what became of them. Parts are PodGroups p0, p1, ... with pods p0-0, p0-1, ...
#ifndef BERTH_TESTS_ENGINE_TREE_CLUSTER_H_
#define BERTH_TESTS_ENGINE_TREE_CLUSTER_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"

namespace berth {

inline void AddYaml(const std::string& yaml, std::vector<Object>& objects) {
  objects.push_back(testing::ObjectsFromYaml(yaml).front());
}

// Node n`n`, two racks a block, with `free` GPUs and `low` pods of one GPU that may be evicted.
inline void AddTreeNode(size_t n, int rack, int free, int low, std::vector<Object>& objects) {
  objects.push_back(testing::MakeNode()
                        .Name(absl::StrCat("n", n))
                        .Allocatable("cpu", "64")
                        .Allocatable("nvidia.com/gpu", absl::StrCat(free + low))
                        .Label("rack", absl::StrCat("r", rack))
                        .Label("block", absl::StrCat("b", rack / 2))
                        .Object());
  for (int i = 0; i < low; ++i) {
    objects.push_back(testing::MakePod()
                          .Name(absl::StrCat("low", n, "-", i))
                          .Namespace("default")
                          .Request("nvidia.com/gpu", "1")
                          .NodeName(absl::StrCat("n", n))
                          .Phase("Running")
                          .Object());
  }
}

// PodGroup p`part` below `parent`, and a pod for each of `gpus`.
inline void AddTreePart(size_t part, const std::string& parent, int min_count, bool one_rack,
                        const std::vector<int>& gpus, std::vector<Object>& objects) {
  AddYaml(absl::StrCat("apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: p",
                       part, ", namespace: default}\nspec: {parentCompositePodGroupName: ", parent,
                       ", schedulingPolicy: {gang: {minCount: ", min_count, "}}",
                       one_rack ? ", schedulingConstraints: {topology: [{key: rack}]}" : "", "}\n"),
          objects);
  for (size_t m = 0; m < gpus.size(); ++m) {
    AddYaml(
        absl::StrCat(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p", part, "-", m,
            ", namespace: default}\nspec: {priority: 100, schedulingGroup: {podGroupName: p", part,
            "}, containers: [{name: c, image: x, resources: {requests: {nvidia.com/gpu: '", gpus[m],
            "'}}}]}\n"),
        objects);
  }
}

struct TreeAtRest {
  struct Member {
    int part, number, node;
  };
  std::vector<Member> placed;
  std::vector<int> evicted;  // nodes of those that went
  std::string text;          // of all that, and why others wait
};

inline TreeAtRest RunTree(std::vector<Object> objects) {
  auto simulation = Simulation::Create({.configuration = GangConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = std::move(objects)})
                        .value();
  simulation->RunUntilQuiet();
  TreeAtRest result;
  const auto number = [](absl::string_view text) {
    int n = 0;
    EXPECT_TRUE(absl::SimpleAtoi(text, &n)) << text;
    return n;
  };
  for (const std::string& pod : simulation->cluster().Evictions()) {
    const absl::string_view name = absl::string_view(pod).substr(sizeof("default/low") - 1);
    result.evicted.push_back(number(name.substr(0, name.find('-'))));
    absl::StrAppend(&result.text, pod, " evicted; ");
  }
  for (const auto& [pod, node] : simulation->cluster().Bindings()) {
    const absl::string_view name = absl::string_view(pod).substr(sizeof("default/p") - 1);
    result.placed.push_back({number(name.substr(0, name.find('-'))),
                             number(name.substr(name.find('-') + 1)),
                             number(absl::string_view(node).substr(1))});
    absl::StrAppend(&result.text, pod, " on ", node, "; ");
  }
  for (const UnboundPod& pod : simulation->scheduler().Unbound()) {
    absl::StrAppend(&result.text, pod.message, "; ");
  }
  return result;
}

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_TREE_CLUSTER_H_
