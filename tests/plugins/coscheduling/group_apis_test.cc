// SPDX-License-Identifier: Apache-2.0
// All APIs: whatever order a group's object, its pods and their node come in, the group
// starts with the last of them; and whatever happens, it is never in part.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/builtin_plugins.h"
#include "berth/configuration.h"
#include "berth/simulation.h"

namespace berth::testing {
namespace {

// MIN stands for the minimum, POD for a pod's name.
struct Door {
  std::string name;
  std::string object;  // empty: the pods define the group
  std::string pod;     // its metadata, and its spec without containers
};

const std::vector<Door>& Doors() {
  static const auto& apis = *new std::vector<Door>{
      {"scheduler-plugins",
       "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}, "
       "spec: {minMember: MIN}}",
       "metadata: {name: POD, labels: {scheduling.x-k8s.io/pod-group: g}}, spec: {"},
      {"Koordinator's label",
       "{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, "
       "annotations: {gang.scheduling.koordinator.sh/match-policy: waiting-and-running}}, "
       "spec: {minMember: MIN}}",
       "metadata: {name: POD, labels: {pod-group.scheduling.sigs.k8s.io: g}}, spec: {"},
      {"Koordinator's annotations", "",
       "metadata: {name: POD, annotations: {gang.scheduling.koordinator.sh/name: g, "
       "gang.scheduling.koordinator.sh/min-available: 'MIN', "
       "gang.scheduling.koordinator.sh/match-policy: waiting-and-running}}, spec: {"},
      {"label pair", "",
       "metadata: {name: POD, labels: {pod-group.scheduling.sigs.k8s.io/name: g, "
       "pod-group.scheduling.sigs.k8s.io/min-available: 'MIN'}, annotations: "
       "{gang.scheduling.koordinator.sh/match-policy: waiting-and-running}}, spec: {"},
      {"Volcano",
       "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}, "
       "spec: {minMember: MIN}}",
       "metadata: {name: POD, annotations: {scheduling.k8s.io/group-name: g}}, spec: {"},
      {"Kubernetes 1.35",
       "{apiVersion: scheduling.k8s.io/v1alpha1, kind: Workload, metadata: {name: g}, "
       "spec: {podGroups: [{name: w, policy: {gang: {minCount: MIN}}}]}}",
       "metadata: {name: POD}, spec: {workloadRef: {name: g, podGroup: w}, "},
      {"Kubernetes 1.37",
       "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, "
       "spec: {schedulingPolicy: {gang: {minCount: MIN}}}}",
       "metadata: {name: POD}, spec: {schedulingGroup: {podGroupName: g}, "},
      {"a tree",
       "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, "
       "spec: {parentCompositePodGroupName: all, schedulingPolicy: {gang: {minCount: MIN}}}}\n"
       "---\n"
       "{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: all}, "
       "spec: {schedulingPolicy: {gang: {minGroupCount: 1}}}}",
       "metadata: {name: POD}, spec: {schedulingGroup: {podGroupName: g}, "},
  };
  return apis;
}

std::vector<Object> Parse(const std::string& text) {
  Manifests manifests = ParseManifest(text, "f");
  EXPECT_TRUE(manifests.problems.empty()) << text;
  return std::move(manifests.objects);
}

std::vector<Object> ObjectsOf(const Door& api, int minimum) {
  if (api.object.empty()) return {};
  return Parse(absl::StrReplaceAll(api.object, {{"MIN", absl::StrCat(minimum)}}));
}

Object PodOf(const Door& api, const std::string& name, int minimum) {
  return Parse(absl::StrCat(
                   "{apiVersion: v1, kind: Pod, ",
                   absl::StrReplaceAll(api.pod, {{"MIN", absl::StrCat(minimum)}, {"POD", name}}),
                   "containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}}"))
      .front();
}

Object NodeOf(const std::string& name, int cpu) {
  return Parse(absl::StrCat("{apiVersion: v1, kind: Node, metadata: {name: ", name,
                            "}, status: {allocatable: {cpu: '", cpu,
                            "', memory: 8Gi, pods: '110'}}}"))
      .front();
}

class FrontApis : public ::testing::Test {
 protected:
  FrontApis() : registry_(*BuiltinRegistry({})) {}

  std::unique_ptr<Simulation> MakeSimulation() {
    LoadedConfiguration loaded = ParseConfiguration(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- plugins: {multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: "
        "PrioritySort}]}}\n",
        "c", registry_);
    auto simulation = Simulation::Create(
        {.configuration = std::move(loaded.configuration), .registry = &registry_, .objects = {}});
    EXPECT_TRUE(simulation.ok()) << simulation.status();
    return *std::move(simulation);
  }

  const Registry registry_;
};

TEST_F(FrontApis, AGroupStartsWithWhateverComesLast) {
  for (const Door& api : Doors()) {
    const std::vector<Object> objects = ObjectsOf(api, 2);
    std::vector<Object> all = objects;
    all.push_back(PodOf(api, "a", 2));
    all.push_back(PodOf(api, "b", 2));
    all.push_back(NodeOf("n0", 2));
    std::vector<int> order(all.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    do {
      const std::unique_ptr<Simulation> simulation = MakeSimulation();
      std::string what = api.name;
      for (size_t i = 0; i < order.size(); ++i) {
        const Object& object = all[order[i]];
        absl::StrAppend(&what, ", ", object.ToString());
        EXPECT_EQ(simulation->cluster().Bindings().size(), 0) << what;
        simulation->cluster().Set(object);
        simulation->RunUntilIdle();  // no time passes
      }
      EXPECT_EQ(simulation->cluster().Bindings().size(), 2) << what;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// Random events; at rest either nobody of the group runs, or at the moment when it started so many
// did as its minimum then said.
TEST_F(FrontApis, AGroupIsNeverInPart) {
  for (int seed = 0; seed < 160; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
    const Door& api = Doors()[seed % Doors().size()];
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", api.name));
    const std::unique_ptr<Simulation> simulation = MakeSimulation();
    InMemoryCluster& cluster = simulation->cluster();
    int minimum = 1 + below(4), pods = 0, nodes = 0;
    const auto running = [&] {
      size_t count = 0;
      for (int i = 0; i < pods; ++i) {
        const auto pod = cluster.Find(Kind::kPod, absl::StrCat("default/p", i));
        if (pod == nullptr) continue;
        const auto& found = static_cast<const api::Pod&>(*pod);
        if (!found.spec().node_name().empty()) ++count;
      }
      return static_cast<int>(count);
    };
    size_t bindings = 0;
    int ran = 0;
    for (int step = 0; step < 30; ++step) {
      switch (below(6)) {
        case 0:
          // Pods without an object say the minimum themselves, and it stays.
          if (!api.object.empty()) minimum = 1 + below(4);
          for (const Object& object : ObjectsOf(api, minimum)) cluster.Set(object);
          break;
        case 1:
        case 2:
          cluster.Set(PodOf(api, absl::StrCat("p", pods++), minimum));
          break;
        case 3:
          cluster.Set(NodeOf(absl::StrCat("n", nodes++), 1 + below(3)));
          break;
        case 4:
          if (pods > 0) cluster.Delete(Kind::kPod, absl::StrCat("default/p", below(pods)));
          break;
        default:
          simulation->Advance(absl::Seconds(below(20)));
      }
      const int before = std::min(ran, running());  // whom a step took does not run
      simulation->RunUntilQuiet();
      const size_t bound = cluster.Bindings().size();
      if (bound > bindings && before < minimum) {
        EXPECT_GE(running(), minimum) << "step " << step << ", " << before << " ran";
      }
      bindings = bound;
      ran = running();
    }
  }
}

}  // namespace
}  // namespace berth::testing
