// SPDX-License-Identifier: Apache-2.0
// Texts of enumerations and names of resources that an API server refuses: each field of the table
// is in a message, and manifests are told of with place and advice.
#include "api/field_values.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/manifest.h"
#include "berth/api/value.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> TroubleIn(absl::string_view text) {
  std::vector<std::string> lines;
  for (const Problem& problem : ParseManifest(text, "f").problems) {
    lines.push_back(problem.ToString());
  }
  return lines;
}

std::string PodWith(absl::string_view spec, absl::string_view container = "") {
  return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p},\nspec: {", spec,
                      spec.empty() ? "" : ", ", "containers: [{name: c, image: x", container,
                      "}]}}");
}

std::string PodRequesting(absl::string_view amounts) {
  return PodWith("", absl::StrCat(",\nresources: {requests: {", amounts, "}}"));
}

std::string NodeWith(absl::string_view rest) {
  return absl::StrCat("{apiVersion: v1, kind: Node, metadata: {name: n0},\n", rest, "}");
}

const google::protobuf::FieldDescriptor* FieldOf(absl::string_view message,
                                                 absl::string_view field) {
  const auto* const type =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
          absl::StrCat("berth.api.", message));
  if (type == nullptr) return nullptr;
  for (int i = 0; i < type->field_count(); ++i) {
    if (type->field(i)->json_name() == field) return type->field(i);
  }
  return nullptr;
}

TEST(FieldValues, EveryRowIsAFieldOfAMessage) {
  for (const FieldValues& row : EnumeratedFields()) {
    const auto* const field = FieldOf(row.message, row.field);
    ASSERT_NE(field, nullptr) << row.message << "." << row.field;
    EXPECT_EQ(field->type(), google::protobuf::FieldDescriptor::TYPE_STRING) << row.message;
    EXPECT_EQ(FindFieldValues(row.message, row.field), &row) << "twice: " << row.message;
  }
  for (const ResourceField& row : ResourceFields()) {
    const auto* const field = FieldOf(row.message, row.field);
    ASSERT_NE(field, nullptr) << row.message << "." << row.field;
    EXPECT_TRUE(field->is_map()) << row.message;
  }
  for (const RequiredField& row : RequiredFields()) {
    ASSERT_NE(FieldOf(row.message, row.field), nullptr) << row.message << "." << row.field;
  }
}

TEST(FieldValues, EveryValueIsTakenAndItsBeginningIsNot) {
  for (const FieldValues& row : EnumeratedFields()) {
    for (const absl::string_view value : absl::StrSplit(row.values, ' ')) {
      EXPECT_EQ(CheckValue(value, row).message, "") << row.message << " " << value;
      const std::string cut(value.substr(0, value.size() - 1));
      const ValueMistake mistake = CheckValue(cut, row);
      EXPECT_THAT(mistake.message, HasSubstr("is none of")) << row.message << " " << cut;
      EXPECT_EQ(mistake.is_refused, row.is_refused);
    }
    EXPECT_EQ(CheckValue("", row).message, "");
  }
}

TEST(FieldValues, EnumerationsOfPodsAndNodes) {
  const struct {
    std::string text, want;
  } cases[] = {
      {PodWith("tolerations: [{key: a, operator: Exist}]"),
       "f:2:41: error: Pod default/p: spec.tolerations[0].operator: \"Exist\" is none of Equal, "
       "Exists; did you mean \"Exists\"?"},
      {PodWith("tolerations: [{key: a, effect: NoSchedul}]"),
       "f:2:39: error: Pod default/p: spec.tolerations[0].effect: \"NoSchedul\" is none of "
       "NoSchedule, PreferNoSchedule, NoExecute; did you mean \"NoSchedule\"?"},
      {PodWith("tolerations: [{key: a, operator: Gt, value: '1'}]"),
       "f:2:41: warning: Pod default/p: spec.tolerations[0].operator: \"Gt\" is not read; it "
       "counts "
       "as none of Equal, Exists"},
      {PodWith("preemptionPolicy: Nevr"),
       "f:2:26: error: Pod default/p: spec.preemptionPolicy: \"Nevr\" is none of "
       "PreemptLowerPriority, Never; did you mean \"Never\"?"},
      {PodWith(
           "topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Maybe}]"),
       "f:2:84: error: Pod default/p: spec.topologySpreadConstraints[0].whenUnsatisfiable: "
       "\"Maybe\" is none of DoNotSchedule, ScheduleAnyway"},
      {NodeWith("spec: {taints: [{key: a, effect: NoSched}]}"),
       "f:2:34: error: Node n0: spec.taints[0].effect: \"NoSched\" is none of NoSchedule, "
       "PreferNoSchedule, NoExecute; did you mean \"NoSchedule\"?"},
      {"{apiVersion: v1, kind: Pod, metadata: {name: p}, status: {phase: Runing}}",
       "f:1:66: warning: Pod default/p: status.phase: \"Runing\" is none of Pending, Running, "
       "Succeeded, Failed, Unknown; did you mean \"Running\"?"},
      {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c},\n"
       "spec: {accessModes: [ReadWriteOncePods]}}",
       "f:2:22: error: PersistentVolumeClaim default/c: spec.accessModes[0]: \"ReadWriteOncePods\" "
       "is none of ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod; did you mean "
       "\"ReadWriteOncePod\"?"},
      {"{apiVersion: batch/v1, kind: Job, metadata: {name: j},\nspec: {template: {spec: "
       "{restartPolicy: never}}}}",
       "f:2:41: error: Job default/j: spec.template.spec.restartPolicy: \"never\" is none of "
       "Always, OnFailure, Never; did you mean \"Never\"?"},
  };
  for (const auto& c : cases) EXPECT_THAT(TroubleIn(c.text), ElementsAre(c.want)) << c.text;
}

TEST(RequiredFields, OfPodsAndNodes) {
  const std::string anti_affinity = "affinity: {podAntiAffinity: {";
  const std::string node_affinity = "affinity: {nodeAffinity: {";
  const struct {
    std::string text, want;
  } cases[] = {
      {NodeWith("spec: {taints: [{key: a}]}"),
       "f:2:17: error: Node n0: spec.taints[0].effect: is missing"},
      {NodeWith("spec: {taints: [{key: a, effect: ''}]}"),
       "f:2:34: error: Node n0: spec.taints[0].effect: is missing"},
      {NodeWith("spec: {taints: [{effect: NoSchedule}]}"),
       "f:2:17: error: Node n0: spec.taints[0].key: is missing"},
      {PodWith("topologySpreadConstraints: [{maxSkew: 1, topologyKey: z}]"),
       "f:2:36: error: Pod default/p: spec.topologySpreadConstraints[0].whenUnsatisfiable: is "
       "missing"},
      {PodWith("topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule}]"),
       "f:2:36: error: Pod default/p: spec.topologySpreadConstraints[0].maxSkew: is missing"},
      {PodWith(anti_affinity +
               "requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}]}}"),
       "f:2:86: error: Pod default/p: "
       "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
       "topologyKey: "
       "is missing"},
      {PodWith(node_affinity +
               "preferredDuringSchedulingIgnoredDuringExecution: [{preference: {}}]}}"),
       "f:2:84: error: Pod default/p: "
       "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: is "
       "missing"},
      {PodWith("volumes: [{name: v, persistentVolumeClaim: {readOnly: true}}]"),
       "f:2:51: error: Pod default/p: spec.volumes[0].persistentVolumeClaim.claimName: is missing"},
  };
  for (const auto& c : cases) EXPECT_THAT(TroubleIn(c.text), ElementsAre(c.want)) << c.text;
  EXPECT_THAT(
      TroubleIn(
          "{apiVersion: v1, kind: Node, metadata: {name: n0, uid: u}, spec: {taints: [{key: a}]}}"),
      ElementsAre(HasSubstr("warning: Node n0: spec.taints[0].effect: is missing")));
}

TEST(FieldValues, AnObjectOfAnEnumerationsErrorIsLeftOut) {
  EXPECT_THAT(ParseManifest(PodWith("preemptionPolicy: Nevr"), "f").objects, IsEmpty());
}

TEST(ResourceNames, WithoutADomainAreKubernetesOwn) {
  EXPECT_THAT(
      TroubleIn(PodRequesting("cpus: 1, memroy: 1Gi, foo: 1")),
      ElementsAre("f:3:24: error: Pod default/p: spec.containers[0].resources.requests.cpus: no "
                  "such resource; did you mean \"cpu\"? A name without a domain is one of cpu, "
                  "memory, ephemeral-storage and hugepages-<size>; write any other with its "
                  "domain, as in example.com/cpus",
                  HasSubstr("requests.memroy: no such resource; did you mean \"memory\"? A name"),
                  HasSubstr("requests.foo: no such resource; A name")));
  EXPECT_THAT(
      TroubleIn(PodRequesting("cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi, hugepages-2Mi: 2Mi, "
                              "example.com/foo: 1")),
      IsEmpty());
  EXPECT_THAT(TroubleIn(PodWith("overhead: {cpus: 1}")),
              ElementsAre(HasSubstr("error: Pod default/p: spec.overhead.cpus: no such resource")));
  EXPECT_THAT(TroubleIn("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: r}, "
                        "overhead: {podFixed: {memroy: 1Gi}}}"),
              ElementsAre(HasSubstr("overhead.podFixed.memroy: no such resource")));
}

// An API server takes them; no pod can request them.
TEST(ResourceNames, OfNodesAndVolumesAreWarnings) {
  EXPECT_THAT(TroubleIn(NodeWith("status: {allocatable: {cpus: 4, pods: 10, "
                                 "attachable-volumes-aws-ebs: 39, example.com/foo: 1}}")),
              ElementsAre(HasSubstr("f:2:24: warning: Node n0: status.allocatable.cpus: no such "
                                    "resource; did you mean \"cpu\"?")));
  EXPECT_THAT(TroubleIn("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: "
                        "{resources: {requests: {storge: 1Gi}}}}"),
              ElementsAre(HasSubstr("warning: PersistentVolumeClaim default/c: "
                                    "spec.resources.requests.storge: volumes have no such "
                                    "resource; only storage counts; did you mean \"storage\"?")));
}

// Lines of which no pod asks are taken, as Kueue's of transformed resources; slips are warned of.
TEST(ResourceNames, OfGroupsAndQuotasAreWarningsWhereTheyAreNearMisses) {
  const std::string kind = "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ";
  EXPECT_THAT(
      TroubleIn(kind + "PodGroup, metadata: {name: g},\nspec: {minResources: {memroy: 1Gi, gpu: 1, "
                       "credits: 3, cpu: 500m, pods: 3}}}"),
      ElementsAre(
          HasSubstr("f:2:23: warning: PodGroup default/g: spec.minResources.memroy: no such "
                    "resource; did you mean \"memory\"? A name"),
          HasSubstr("minResources.gpu: no such resource; did you mean \"nvidia.com/gpu\"? A")));
  EXPECT_THAT(
      TroubleIn(kind + "ElasticQuota, metadata: {name: q},\nspec: {min: {cpus: 1, credits: 3, "
                       "nvidia.com/gpu: 500m}, max: {gpu: 500m, pods: 3, memory: 1Gi}}}"),
      ElementsAre(
          HasSubstr("f:2:14: warning: ElasticQuota default/q: spec.min.cpus: no such resource; "
                    "did you mean \"cpu\"? A name")));
  EXPECT_THAT(
      TroubleIn(
          "{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, metadata: {name: q},\n"
          "spec: {min: {'memroy{zone=a}': 1, 'gpu{model=H100}': 1}}}"),
      ElementsAre(HasSubstr("did you mean \"memory\"?")));
}

TEST(ResourceAmounts, ExtendedResourcesAreWholeNumbers) {
  for (const char* amount : {"500m", "1500m", "0.5", "'1.5'", "100u"}) {
    EXPECT_THAT(TroubleIn(PodRequesting(absl::StrCat("nvidia.com/gpu: ", amount))),
                ElementsAre(testing::AllOf(
                    HasSubstr("f:3:40: error: Pod default/p: "
                              "spec.containers[0].resources.requests[\"nvidia.com/gpu\"]: "),
                    HasSubstr(" is not a whole number, and an API server refuses it for "
                              "nvidia.com/gpu; a pod asks for a part of a GPU by the annotation "
                              "gpu-fraction (\"0.5\") or alibabacloud.com/gpu-milli (\"500\")"))))
        << amount;
  }
  EXPECT_THAT(TroubleIn(PodRequesting("example.com/nic: 500m")),
              ElementsAre(testing::EndsWith("500m is not a whole number, and an API server refuses "
                                            "it for example.com/nic")));
  EXPECT_THAT(
      TroubleIn(NodeWith("status: {capacity: {pods: 1.5, nvidia.com/gpu: 1500m}}")),
      ElementsAre(HasSubstr("status.capacity.pods: 1.5 is not a whole number"),
                  testing::EndsWith("status.capacity[\"nvidia.com/gpu\"]: 1500m is not a whole "
                                    "number, and an API server refuses it for nvidia.com/gpu")));
  for (const char* amount : {"1", "2000m", "1k", "'3'", "2.0"}) {
    EXPECT_THAT(TroubleIn(PodRequesting(absl::StrCat("nvidia.com/gpu: ", amount))), IsEmpty())
        << amount;
  }
  // Not counted in wholes.
  EXPECT_THAT(TroubleIn(PodRequesting("cpu: 500m, memory: 1.5, kubernetes.io/x: 500m")), IsEmpty());
}

// What a cluster's API server stored is taken as it is.
TEST(FieldValues, ObjectsOfAClusterAreNotChecked) {
  api::Pod pod;
  Problems problems;
  const std::vector<Document> documents =
      ReadDocuments(PodWith("preemptionPolicy: Later"), "f", problems);
  EXPECT_TRUE(DecodeMessage(documents.at(0).root(), {}, pod, problems)) << problems.ToString();
  EXPECT_EQ(pod.spec().preemption_policy(), "Later");
}

TEST(UnknownFields, AreWarnedOfInWhatNoApiServerStored) {
  EXPECT_THAT(
      TroubleIn("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {affinity: {nodeAffinity: "
                "{requiredDuringScheduling: {}}}, xyz: 1}}"),
      ElementsAre(
          HasSubstr("spec.affinity.nodeAffinity.requiredDuringScheduling: unknown field; did "
                    "you mean \"requiredDuringSchedulingIgnoredDuringExecution\"?"),
          testing::EndsWith("spec.xyz: unknown field; it is left out, as an API server "
                            "does")));
  EXPECT_THAT(TroubleIn("{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: "
                        "{name: q},\nspec: {mn: {cpu: 1}}}"),
              ElementsAre("f:2:8: warning: ElasticQuota default/q: spec.mn: unknown field; it is "
                          "left out, as an API server does; the fields here are min, max"));
  EXPECT_THAT(TroubleIn("{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {xyz: 1}}"),
              IsEmpty());
}

TEST(UnknownFields, OfLists) {
  EXPECT_THAT(TroubleIn("{apiVersion: v1, kind: List, item: []}"),
              ElementsAre("f:1:30: warning: List: item: unknown field; did you mean \"items\"?"));
  EXPECT_THAT(TroubleIn("{apiVersion: v1, kind: PodList, itemz: []}"),
              ElementsAre(HasSubstr("warning: PodList: itemz: unknown field; did you mean")));
  EXPECT_THAT(TroubleIn("{apiVersion: v1, kind: Lizt, items: []}"),
              ElementsAre(HasSubstr("did you mean \"List\"?")));
}

// An API server took them, so they are of a later version.
TEST(EnumeratedFields, ValuesInStoredObjectsAreWarnedOf) {
  EXPECT_THAT(
      TroubleIn("{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {tolerations: "
                "[{operator: Matches}]}}"),
      ElementsAre(AllOf(HasSubstr("warning: Pod default/p: spec.tolerations[0].operator: "),
                        HasSubstr("is none of Equal, Exists"))));
}

// Without uids the objects of the dump are nobody's but the author's: exactly the fields that no
// Kubernetes has are warned of, so the lists of fields are whole.
TEST(UnknownFields, ADumpWithoutUidsHasOnlyThoseOfOthers) {
  std::stringstream dump;
  dump << std::ifstream("tests/api/cluster_dump.yaml").rdbuf();
  std::string text;
  for (absl::string_view line : absl::StrSplit(dump.str(), '\n')) {
    if (absl::StrContains(line, "resourceVersion: \"1") || absl::StrContains(line, "    uid: ")) {
      continue;
    }
    absl::StrAppend(
        &text,
        absl::StrReplaceAll(line,
                            {{"uid: 1a", ""}, {"uid: 1b", ""}, {"uid: 1c}", "}"}, {"uid: 1e", ""}}),
        "\n");
  }
  std::vector<std::string> unknown;
  for (const std::string& line : TroubleIn(text)) {
    unknown.push_back(line.substr(0, line.find(": unknown field")));
  }
  EXPECT_THAT(unknown, ElementsAre(testing::EndsWith("metadata.clusterName"),
                                   testing::EndsWith("spec.somethingOfAVendor"),
                                   testing::EndsWith("spec.podPreemptionPolicy")));
}

}  // namespace
}  // namespace berth
