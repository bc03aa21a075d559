// SPDX-License-Identifier: Apache-2.0
// What manifests leave out and an API server would fill in, and the pods of workloads.
#include "berth/api/admission.h"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/api/scheduling_v1.pb.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Names(const Manifests& manifests) {
  std::vector<std::string> names;
  for (const Object& object : manifests.objects) names.push_back(object.ToString());
  return names;
}

std::vector<std::string> Lines(const Manifests& manifests) {
  std::vector<std::string> lines;
  for (const Problem& problem : manifests.problems) lines.push_back(problem.ToString());
  return lines;
}

const api::Pod& FindPod(const Manifests& manifests, absl::string_view name) {
  for (const Object& object : manifests.objects) {
    if (object.kind() == Kind::kPod && object.name() == name) return object.As<api::Pod>();
  }
  static const api::Pod none;
  ADD_FAILURE() << "no pod " << name;
  return none;
}

// "cpu=1,memory=2Gi", in the order of the names.
template <class Map>
std::string Text(const Map& quantities) {
  std::map<std::string, std::string> sorted;
  for (const auto& [name, quantity] : quantities) sorted[name] = quantity.string();
  std::string text;
  for (const auto& [name, quantity] : sorted) {
    absl::StrAppend(&text, text.empty() ? "" : ",", name, "=", quantity);
  }
  return text;
}

TEST(AdmissionTest, LimitsAreRequestedIfNothingElseIs) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  initContainers:
  - {name: i, resources: {limits: {memory: 1Gi}}}
  containers:
  - name: c
    resources:
      limits: {nvidia.com/gpu: 2, cpu: "4"}
      requests: {cpu: "1"}
  - {name: d}
)",
                                            "f");
  EXPECT_THAT(Lines(manifests), IsEmpty());
  const api::PodSpec& spec = FindPod(manifests, "p").spec();
  EXPECT_EQ(Text(spec.init_containers(0).resources().requests()), "memory=1Gi");
  EXPECT_EQ(Text(spec.containers(0).resources().requests()), "cpu=1,nvidia.com/gpu=2");
  EXPECT_FALSE(spec.containers(1).has_resources());
}

TEST(AdmissionTest, PodLevelLimitsAreRequestedWhereNoContainerRequestsAny) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resources:
    limits: {cpu: "4", memory: 2Gi, hugepages-2Mi: 4Mi, nvidia.com/gpu: 1}
  containers:
  - {name: c, resources: {requests: {cpu: "1", hugepages-2Mi: 2Mi}}}
)",
                                            "f");
  EXPECT_EQ(Text(FindPod(manifests, "p").spec().resources().requests()),
            "hugepages-2Mi=4Mi,memory=2Gi");
}

TEST(AdmissionTest, ClassesGivePriorityWhereverTheyStand) {
  const Manifests manifests = ParseManifest(R"(
{apiVersion: v1, kind: Pod, metadata: {name: named}, spec: {priorityClassName: high}}
---
{apiVersion: v1, kind: Pod, metadata: {name: stored}, spec: {priorityClassName: high, priority: 7}}
---
{apiVersion: v1, kind: Pod, metadata: {name: plain}}
---
{apiVersion: v1, kind: Pod, metadata: {name: system}, spec: {priorityClassName: system-node-critical}}
---
{apiVersion: v1, kind: Pod, metadata: {name: unknown}, spec: {priorityClassName: hihg}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000,
 preemptionPolicy: Never}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 10,
 globalDefault: true}
)",
                                            "f");
  EXPECT_EQ(FindPod(manifests, "named").spec().priority(), 1000);
  EXPECT_EQ(FindPod(manifests, "named").spec().preemption_policy(), "Never");
  EXPECT_EQ(FindPod(manifests, "stored").spec().priority(), 7);
  EXPECT_FALSE(FindPod(manifests, "stored").spec().has_preemption_policy());
  EXPECT_EQ(FindPod(manifests, "plain").spec().priority(), 10);
  EXPECT_EQ(FindPod(manifests, "plain").spec().priority_class_name(), "usual");
  EXPECT_EQ(FindPod(manifests, "system").spec().priority(), 2000001000);
  EXPECT_EQ(FindPod(manifests, "unknown").spec().priority(), 0);
  EXPECT_THAT(Lines(manifests),
              ElementsAre("f:10:1: warning: Pod default/unknown: spec.priorityClassName: there is "
                          "no PriorityClass hihg here; the pod has priority 0"));
}

TEST(AdmissionTest, EarlierManifestsCount) {
  Admission admission;
  ParseManifest(
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, "
      "value: 5}",
      "f", {.admission = &admission});
  const Manifests manifests = ParseManifest(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priorityClassName: "
      "high}}",
      "f", {.admission = &admission});
  EXPECT_EQ(FindPod(manifests, "p").spec().priority(), 5);
}

TEST(AdmissionTest, AForgottenClassGivesNothing) {
  const auto learn = [](Admission& admission, const std::string& name, int32_t value,
                        bool global_default) {
    api::PriorityClass priority_class;
    priority_class.mutable_metadata()->set_name(name);
    priority_class.set_value(value);
    priority_class.set_global_default(global_default);
    admission.Learn(priority_class);
  };
  const auto priority = [](const Admission& admission, const std::string& class_name) {
    api::PodSpec spec;
    if (!class_name.empty()) spec.set_priority_class_name(class_name);
    admission.AdmitPriority(spec);
    return spec.has_priority() ? std::optional(spec.priority()) : std::nullopt;
  };
  Admission admission;
  learn(admission, "high", 9, true);
  learn(admission, "low", 3, true);
  learn(admission, "system-node-critical", 1, false);
  EXPECT_EQ(priority(admission, ""), 3);
  EXPECT_EQ(priority(admission, "system-node-critical"), 1);
  admission.ForgetPriorityClass("low");
  admission.ForgetPriorityClass("system-node-critical");
  admission.ForgetPriorityClass("nobody knows it");
  EXPECT_EQ(priority(admission, ""), 9);
  EXPECT_EQ(priority(admission, "low"), std::nullopt);
  EXPECT_EQ(priority(admission, "system-node-critical"), 2000001000);
  learn(admission, "high", 9, false);
  EXPECT_EQ(priority(admission, ""), std::nullopt);
}

TEST(AdmissionTest, RuntimeClassesGiveOverheadAndPlacement) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
overhead: {podFixed: {cpu: 250m, memory: 120Mi}}
scheduling:
  nodeSelector: {runtime: kata, zone: a}
  tolerations: [{key: kata, operator: Exists}, {key: other, operator: Exists}]
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  runtimeClassName: kata
  nodeSelector: {zone: b}
  tolerations: [{key: kata, operator: Exists}]
---
{apiVersion: v1, kind: Pod, metadata: {name: stored, uid: u}, spec: {runtimeClassName: gvisor}}
---
{apiVersion: v1, kind: Pod, metadata: {name: unknown}, spec: {runtimeClassName: gvisor}}
)",
                                            "f");
  const api::PodSpec& spec = FindPod(manifests, "p").spec();
  EXPECT_EQ(Text(spec.overhead()), "cpu=250m,memory=120Mi");
  EXPECT_EQ(spec.node_selector().at("runtime"), "kata");
  EXPECT_EQ(spec.node_selector().at("zone"), "b");
  EXPECT_EQ(spec.tolerations_size(), 2);
  ASSERT_THAT(Lines(manifests), ElementsAre(HasSubstr("Pod default/unknown")));
  EXPECT_THAT(manifests.ignored_kinds, IsEmpty());
}

// What an API server makes of them: requirements of the selector, once.
TEST(AdmissionTest, LabelKeysOfPodAffinityBecomeRequirements) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {tenant: one, revision: "2"}}
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: zone, labelSelector: {}, matchLabelKeys: [tenant, absent]}
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: zone
        mismatchLabelKeys: [revision]
        labelSelector:
          matchExpressions: [{key: revision, operator: NotIn, values: ["2"]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: zone, matchLabelKeys: [tenant]}}
)",
                                            "f");
  const api::Affinity& affinity = FindPod(manifests, "p").spec().affinity();
  const auto requirements = [](const api::PodAffinityTerm& term) {
    std::string text;
    for (const api::LabelSelectorRequirement& r : term.label_selector().match_expressions()) {
      absl::StrAppend(&text, r.key(), " ", r.operator_(), " ", r.values(0), ";");
    }
    return text;
  };
  EXPECT_EQ(
      requirements(affinity.pod_affinity().required_during_scheduling_ignored_during_execution(0)),
      "tenant In one;");
  EXPECT_EQ(
      requirements(
          affinity.pod_anti_affinity().required_during_scheduling_ignored_during_execution(0)),
      "revision NotIn 2;");
  EXPECT_FALSE(affinity.pod_anti_affinity()
                   .preferred_during_scheduling_ignored_during_execution(0)
                   .pod_affinity_term()
                   .has_label_selector())
      << "no selector selects nothing, with keys as well";
}

TEST(AdmissionTest, TheDefaultStorageClassIsForClaimsThatNameNone) {
  const Manifests manifests = ParseManifest(R"(
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: b}, spec: {storageClassName: ""}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, uid: stored}, spec: {}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: example.com/disk
)",
                                            "f");
  ASSERT_EQ(manifests.objects.size(), 4u);
  const auto class_of = [&](int i) {
    return manifests.objects[i].As<api::PersistentVolumeClaim>().spec().storage_class_name();
  };
  EXPECT_EQ(class_of(0), "standard");
  EXPECT_EQ(class_of(1), "");
  EXPECT_EQ(class_of(2), "");
}

TEST(AdmissionTest, NodesAndNamespaces) {
  const Manifests manifests = ParseManifest(R"(
{apiVersion: v1, kind: Node, metadata: {name: node}, status: {capacity: {cpu: "4"}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team}}
)",
                                            "f");
  EXPECT_EQ(Text(manifests.objects[0].As<api::Node>().status().allocatable()), "cpu=4");
  EXPECT_EQ(manifests.objects[1].As<api::Namespace>().metadata().labels().at(
                "kubernetes.io/metadata.name"),
            "team");
}

TEST(AdmissionTest, NamesAreGenerated) {
  const Manifests manifests = ParseManifest(
      "{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}\n",
      "f");
  EXPECT_THAT(Names(manifests), ElementsAre("Pod default/a-0", "Pod default/a-1"));
}

// --- Workloads ---

TEST(WorkloadTest, PodsOfTheTemplate) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, creationTimestamp: null}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {name: ignored, labels: {app: web}}
    spec:
      priorityClassName: high
      containers: [{name: c, resources: {limits: {cpu: "2"}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: sum-}
spec: {parallelism: 3, completions: 1, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: later}
spec: {suspend: true, template: {spec: {containers: [{name: c}]}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}
)",
                                            "f");
  EXPECT_THAT(Lines(manifests), IsEmpty());
  EXPECT_THAT(Names(manifests),
              UnorderedElementsAre("PriorityClass high", "ReplicaSet shop/web", "Pod shop/web-0",
                                   "Pod shop/web-1", "Pod default/sum-0-0"));
  const api::Pod& pod = FindPod(manifests, "web-1");
  EXPECT_EQ(pod.metadata().labels().at("app"), "web");
  EXPECT_EQ(pod.metadata().owner_references(0).kind(), "ReplicaSet");
  EXPECT_EQ(pod.spec().priority(), 9);
  EXPECT_EQ(Text(pod.spec().containers(0).resources().requests()), "cpu=2");
  EXPECT_EQ(FindPod(manifests, "sum-0-0").metadata().labels().at("job-name"), "sum-0");
  ASSERT_EQ(manifests.workloads.size(), 3u);
  EXPECT_EQ(manifests.workloads[0].workload, "apps/v1 Deployment shop/web");
  EXPECT_EQ(manifests.workloads[0].pods, 2);
}

TEST(WorkloadTest, StatefulSetsHaveClaims) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c}]}}
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {storageClassName: fast}}
)",
                                            "f");
  EXPECT_THAT(Names(manifests),
              UnorderedElementsAre("StatefulSet default/db", "Pod default/db-0", "Pod default/db-1",
                                   "PersistentVolumeClaim default/data-db-0",
                                   "PersistentVolumeClaim default/data-db-1"));
  EXPECT_EQ(FindPod(manifests, "db-1")
                .spec()
                .volumes(0)
                .volume_source()
                .persistent_volume_claim()
                .claim_name(),
            "data-db-1");
}

// What an API server has stored, and what has pods in the input: the controllers have made
// all that is to be made.
TEST(WorkloadTest, NoPodsTwice) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: stored, uid: u1}
spec: {replicas: 3, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-5d4f-x
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d4f, controller: true}]
)",
                                            "f");
  EXPECT_THAT(Names(manifests),
              UnorderedElementsAre("ReplicaSet default/stored", "Pod default/web-5d4f-x"));
  EXPECT_THAT(manifests.workloads, IsEmpty());
}

TEST(WorkloadTest, WhatCannotBeMade) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {containers: [{name: c}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: huge}
spec: {replicas: 1000000000, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: bad}
spec: {template: {spec: {containers: 3}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a/b}
spec: {template: {spec: {containers: [{name: c}]}}}
)",
                                            "f");
  EXPECT_THAT(manifests.objects, IsEmpty());
  ASSERT_EQ(manifests.workloads.size(), 1u);
  EXPECT_THAT(manifests.workloads[0].why_none, HasSubstr("a pod for each node"));
  EXPECT_THAT(Lines(manifests),
              ElementsAre(HasSubstr("Deployment huge: spec: 1000000000 pods are wanted"),
                          HasSubstr("Deployment default/bad: spec.template.spec.containers"),
                          HasSubstr("Deployment a/b: metadata: a name or namespace contains")));
}

}  // namespace
}  // namespace berth
