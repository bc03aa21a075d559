// SPDX-License-Identifier: Apache-2.0
// What manifests are warned of: misspelt and misplaced fields, kinds, selectors, marks of gangs;
// and that what a real cluster prints gives no false alarm.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/group_marks.h"
#include "berth/api/manifest.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> WarningsOf(absl::string_view text) {
  std::vector<std::string> lines;
  for (const Problem& problem : ParseManifest(text, "f").problems) {
    lines.push_back(problem.ToString());
  }
  return lines;
}

TEST(FieldWarnings, MisspeltFieldsAreSaidWithTheirPlace) {
  EXPECT_THAT(WarningsOf("apiVersion: v1\n"
                         "kind: Pod\n"
                         "metadata: {name: p}\n"
                         "spec:\n"
                         "  nodeSelectors: {a: b}\n"
                         "  containers:\n"
                         "  - name: c\n"
                         "    resource: {requests: {cpu: '1'}}\n"),
              ElementsAre("f:5:3: warning: Pod default/p: spec.nodeSelectors: unknown field; did "
                          "you mean \"nodeSelector\"?",
                          "f:8:5: warning: Pod default/p: spec.containers[0].resource: unknown "
                          "field; did you mean \"resources\"?"));
}

TEST(FieldWarnings, MisplacedFieldsAreSaidWithTheirHome) {
  EXPECT_THAT(WarningsOf("apiVersion: v1\n"
                         "kind: Pod\n"
                         "metadata: {name: p}\n"
                         "nodeSelector: {a: b}\n"
                         "spec: {containers: [{name: c, requests: {cpu: '1'}}]}\n"),
              ElementsAre(HasSubstr("f:4:1: warning: Pod default/p: nodeSelector: unknown field "
                                    "here; it belongs to the spec of a pod"),
                          HasSubstr("requests: unknown field here; it belongs to the resources")));
}

TEST(FieldWarnings, RunTimesThatAreNoTimes) {
  const auto warnings_of = [](absl::string_view annotation, absl::string_view value) {
    return WarningsOf(absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n",
                                   "  annotations:\n    ", annotation, ": ", value,
                                   "\nspec: {containers: [{name: c, image: i}]}\n"));
  };
  const char simulated[] = "simulation.berth/run-time",
             declared[] = "scheduling.berth.dev/run-time";
  EXPECT_THAT(warnings_of(simulated, "abc"),
              ElementsAre("f:6:32: warning: Pod default/p: "
                          "metadata.annotations[\"simulation.berth/run-time\"]: \"abc\" is not a "
                          "duration such as \"1h30m\" or \"500ms\"; the pod runs for ever"));
  EXPECT_THAT(warnings_of(simulated, "1e9s"), ElementsAre(HasSubstr("\"1e9s\" is not a duration")));
  EXPECT_THAT(warnings_of(simulated, "''"), ElementsAre(HasSubstr("\"\" is not a duration")));
  EXPECT_THAT(warnings_of(simulated, "'90'"), ElementsAre(HasSubstr("\"90\" is not a duration")));
  EXPECT_THAT(warnings_of(simulated, "-5s"),
              ElementsAre(HasSubstr("\"-5s\" is not more than 0; the pod runs for ever")));
  EXPECT_THAT(warnings_of(simulated, "0s"), ElementsAre(HasSubstr("\"0s\" is not more than 0")));
  EXPECT_THAT(
      warnings_of(declared, "-1m"),
      ElementsAre(HasSubstr("metadata.annotations[\"scheduling.berth.dev/run-time\"]: \"-1m\" "
                            "is not more than 0; it is not known how long the pod runs")));
  EXPECT_THAT(warnings_of(simulated, "90s"), IsEmpty());
  EXPECT_THAT(warnings_of(declared, "1h30m"), IsEmpty());
  EXPECT_THAT(
      WarningsOf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n"
                 "    metadata:\n      annotations: {simulation.berth/run-time: soon}\n"
                 "    spec: {containers: [{name: c, image: i}]}\n"),
      ElementsAre(HasSubstr("f:7:48: warning: Job default/j: "
                            "spec.template.metadata.annotations")));
}

TEST(FieldWarnings, CheckpointTimesThatAreNoTimes) {
  const auto warnings_of = [](absl::string_view value) {
    return WarningsOf(absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n",
                                   "  annotations:\n    scheduling.berth.dev/checkpoint-time: ",
                                   value, "\nspec: {containers: [{name: c, image: i}]}\n"));
  };
  EXPECT_THAT(
      warnings_of("yesterday"),
      ElementsAre(
          "f:6:43: warning: Pod default/p: "
          "metadata.annotations[\"scheduling.berth.dev/checkpoint-time\"]: \"yesterday\" is "
          "no time; write it as 2026-11-26T08:00:00Z; its work counts as saved when it "
          "started"));
  EXPECT_THAT(warnings_of("'2026-11-26'"), ElementsAre(HasSubstr("is no time")));
  EXPECT_THAT(warnings_of("'2026-11-26T08:00:00Z'"), IsEmpty());
}

TEST(FieldWarnings, WhatDevicesCountAs) {
  const auto warnings_of = [](absl::string_view value) {
    return WarningsOf(absl::StrCat(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: mig\n",
        "  annotations:\n    scheduling.berth.dev/gpu-milli: ", value, "\nspec: {}\n"));
  };
  EXPECT_THAT(
      warnings_of("half"),
      ElementsAre("f:6:37: warning: DeviceClass mig: "
                  "metadata.annotations[\"scheduling.berth.dev/gpu-milli\"]: \"half\" is no "
                  "whole number of thousandths of a GPU; for half of one write \"500\"; "
                  "devices of the class count for gpu as if it were not there"));
  EXPECT_THAT(warnings_of("'-1'"), ElementsAre(HasSubstr("is no whole number")));
  EXPECT_THAT(warnings_of("'0.5'"), ElementsAre(HasSubstr("is no whole number")));
  EXPECT_THAT(warnings_of("'500'"), IsEmpty());
}

TEST(FieldWarnings, TheSameMistakeIsSaidOnce) {
  std::string text;
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&text, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p", i,
                    "}\nspec: {toleration: []}\n");
  }
  EXPECT_THAT(WarningsOf(text), ElementsAre("f:5:8: warning: Pod default/p0: spec.toleration: "
                                            "unknown field; did you mean \"tolerations\"? (and 2 "
                                            "more like this)"));
}

TEST(FieldWarnings, WorkloadsTheirTemplatesAndSelectors) {
  EXPECT_THAT(WarningsOf("apiVersion: apps/v1\n"
                         "kind: Deployment\n"
                         "metadata: {name: d}\n"
                         "spec:\n"
                         "  replica: 2\n"
                         "  templates: {spec: {}}\n"),
              ElementsAre(HasSubstr("f:5:3: warning: Deployment default/d: spec.replica: unknown "
                                    "field; did you mean \"replicas\"?"),
                          HasSubstr("f:6:3: warning: Deployment default/d: spec.templates: unknown "
                                    "field; did you mean \"template\"?"),
                          HasSubstr("spec.template.spec: is missing; no pods are made")));
  EXPECT_THAT(WarningsOf("apiVersion: apps/v1\n"
                         "kind: Deployment\n"
                         "metadata: {name: d}\n"
                         "spec:\n"
                         "  selector: {matchLabels: {app: a}}\n"
                         "  template:\n"
                         "    metadata: {labels: {app: b}}\n"
                         "    spec: {nodeSelectors: {}}\n"),
              testing::UnorderedElementsAre(
                  "f:5:13: warning: Deployment default/d: spec.selector: does not match the labels "
                  "of spec.template; an API server would refuse this Deployment",
                  HasSubstr("spec.template.spec.nodeSelectors: unknown field")));
  EXPECT_THAT(
      WarningsOf("apiVersion: v1\n"
                 "kind: ReplicationController\n"
                 "metadata: {name: d}\n"
                 "spec: {selector: {app: a}, template: {metadata: {labels: {}}, spec: {}}}\n"),
      ElementsAre(HasSubstr("spec.selector: does not match")));
}

TEST(FieldWarnings, AWorkloadsOwnFieldsAreTyped) {
  EXPECT_THAT(WarningsOf("apiVersion: apps/v1\n"
                         "kind: Deployment\n"
                         "metadata: {name: d}\n"
                         "spec: {replicas: three, template: {spec: {}}}\n"),
              ElementsAre("f:4:18: error: Deployment default/d: spec.replicas: is a string, not a "
                          "number"));
}

TEST(KindWarnings, MisspeltKindsAndVersions) {
  struct Case {
    absl::string_view api_version, kind, want;  // "" for no warning
  };
  const Case cases[] = {
      {"apps/v1", "Deploymint", "did you mean \"Deployment\"?"},
      {"apps/v1", "deployment", "did you mean \"Deployment\"?"},
      {"v1", "Pods", "did you mean \"Pod\"?"},
      {"v1", "Deployment", "write it as apps/v1"},
      {"extensions/v1beta1", "Deployment", "write it as apps/v1"},
      {"app/v1", "StatefulSet", "write it as apps/v1"},
      {"batch/v1beta1", "CronJob", "write it as batch/v1"},
      // Others' kinds of a name that is near or the same.
      {"apps.kruise.io/v1beta1", "StatefulSet", ""},
      {"karpenter.sh/v1", "NodeClass", ""},
      {"example.com/v1", "Pods", ""},
      {"serving.knative.dev/v1", "Service", ""},
      {"kueue.x-k8s.io/v1beta1", "Workload", ""},  // a group of which one kind is read
      {"kueue.x-k8s.io/v1beta1", "ClusterQueue", ""},
      {"kai.scheduler/v1", "Topology", "write it as kai.scheduler/v1alpha1"},
      {"resource.k8s.io/v1", "ResourceClaim", ""},
      {"metrics.k8s.io/v1beta1", "PodMetrics", ""},
  };
  for (const Case& c : cases) {
    const auto warnings = WarningsOf(
        absl::StrCat("apiVersion: ", c.api_version, "\nkind: ", c.kind, "\nmetadata: {name: x}\n"));
    if (c.want.empty()) {
      EXPECT_THAT(warnings, IsEmpty()) << c.api_version << " " << c.kind;
    } else {
      EXPECT_THAT(warnings,
                  ElementsAre(testing::AllOf(testing::AnyOf(StartsWith("f:1:"), StartsWith("f:2:")),
                                             HasSubstr(c.want))))
          << c.api_version << " " << c.kind;
    }
  }
}

TEST(KindWarnings, KindsOfKubernetesThatAreNotReadAreNoMistakes) {
  const std::pair<absl::string_view, absl::string_view> kinds[] = {
      {"v1", "Binding"},
      {"v1", "ComponentStatus"},
      {"v1", "ConfigMap"},
      {"v1", "Endpoints"},
      {"v1", "Event"},
      {"v1", "LimitRange"},
      {"v1", "PodTemplate"},
      {"v1", "ResourceQuota"},
      {"v1", "Secret"},
      {"v1", "ServiceAccount"},
      {"v1", "Eviction"},
      {"apps/v1", "ControllerRevision"},
      {"policy/v1", "Eviction"},
      {"policy/v1beta1", "PodSecurityPolicy"},
      {"storage.k8s.io/v1", "VolumeAttributesClass"},
      {"coordination.k8s.io/v1alpha2", "LeaseCandidate"},
      {"autoscaling/v2", "HorizontalPodAutoscaler"},
  };
  for (const auto& [api_version, kind] : kinds) {
    EXPECT_THAT(WarningsOf(absl::StrCat("apiVersion: ", api_version, "\nkind: ", kind,
                                        "\nmetadata: {name: x}\n")),
                IsEmpty())
        << kind;
  }
}

// tests/api/cluster_dump.yaml is what `kubectl get -o yaml` prints of all kinds of objects, with
// fields of later versions and of others' resources.
TEST(FieldWarnings, ADumpOfAClusterGivesNone) {
  const Manifests manifests = ReadManifests({{"tests/api/cluster_dump.yaml"}});
  EXPECT_EQ(manifests.problems.ToString(), "");
  EXPECT_GE(manifests.objects.size(), 8u);
}

TEST(GroupMarkWarnings, EveryMarkThatNoPluginReadsIsReported) {
  for (const GroupMark& mark : GroupMarks()) {
    std::string text;
    switch (mark.place) {
      case GroupMark::Place::kLabel:
        text = absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {", mark.name,
                            ": '1'}}}");
        break;
      case GroupMark::Place::kAnnotation:
        text = absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {",
                            mark.name, ": '1'}}}");
        break;
      case GroupMark::Place::kPodField:
        text = absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {", mark.name,
                            ": {}}}");
        break;
      case GroupMark::Place::kPodGroupField:
      case GroupMark::Place::kVolcanoPodGroupField:
      case GroupMark::Place::kKubernetesPodGroupField: {
        absl::string_view version = "scheduling.x-k8s.io/v1alpha1";
        if (mark.place == GroupMark::Place::kVolcanoPodGroupField) {
          version = "scheduling.volcano.sh/v1beta1";
        } else if (mark.place == GroupMark::Place::kKubernetesPodGroupField) {
          version = "scheduling.k8s.io/v1beta1";
        }
        const absl::string_view value = mark.name == "resourceClaims" ? "[]" : "{}";
        text =
            absl::StrCat("{apiVersion: ", version, ", kind: PodGroup, metadata: {name: g}, spec: {",
                         mark.name, ": ", value, "}}");
        break;
      }
      case GroupMark::Place::kKind: {
        const size_t dot = mark.name.find('.');
        text =
            absl::StrCat("{apiVersion: ", mark.name.substr(dot + 1),
                         "/v1alpha1, kind: ", mark.name.substr(0, dot), ", metadata: {name: g}}");
        break;
      }
    }
    const auto warnings = WarningsOf(text);
    const bool of_pod =
        mark.place == GroupMark::Place::kLabel || mark.place == GroupMark::Place::kAnnotation;
    if (!mark.reader.empty() && !mark.names_group && of_pod) {
      EXPECT_THAT(warnings, ElementsAre(testing::AllOf(
                                StartsWith("f:1:"), HasSubstr("but nothing names its gang: the pod "
                                                              "is placed on its own"))))
          << mark.name;
    } else if (!mark.reader.empty()) {
      EXPECT_THAT(warnings, IsEmpty()) << mark.name;
    } else if (mark.names_group) {
      EXPECT_THAT(warnings, ElementsAre(testing::AllOf(StartsWith("f:1:"),
                                                       HasSubstr("the pod is placed on its own"))))
          << mark.name;
    } else {
      EXPECT_THAT(warnings, ElementsAre(StartsWith("f:1:"))) << mark.name;
    }
  }
}

TEST(GroupMarkWarnings, WithAMarkThatIsReadTheOthersAreLeftOut) {
  EXPECT_THAT(WarningsOf("apiVersion: v1\n"
                         "kind: Pod\n"
                         "metadata:\n"
                         "  name: p\n"
                         "  labels: {pod-group.scheduling.sigs.k8s.io: g}\n"
                         "  annotations:\n"
                         "    yunikorn.apache.org/task-group-name: g\n"),
              ElementsAre("f:7:5: warning: Pod default/p: "
                          "metadata.annotations[\"yunikorn.apache.org/task-group-name\"] says "
                          "more about a gang for YuniKorn; it is left out"));
}

TEST(GroupMarkWarnings, AMinimumOfNoGang) {
  EXPECT_THAT(
      WarningsOf("apiVersion: v1\n"
                 "kind: Pod\n"
                 "metadata:\n"
                 "  name: p\n"
                 "  labels: {pod-group.scheduling.sigs.k8s.io/min-available: '2'}\n"),
      ElementsAre("f:5:12: warning: Pod default/p: "
                  "metadata.labels[\"pod-group.scheduling.sigs.k8s.io/min-available\"] says "
                  "more about a gang for the first Coscheduling, but nothing names its "
                  "gang: the pod is placed on its own; name the gang with the label "
                  "pod-group.scheduling.sigs.k8s.io/name"));
  EXPECT_THAT(WarningsOf("apiVersion: v1\n"
                         "kind: Pod\n"
                         "metadata:\n"
                         "  name: p\n"
                         "  labels: {pod-group.scheduling.sigs.k8s.io/min-available: '2', "
                         "pod-group.scheduling.sigs.k8s.io/name: g}\n"),
              IsEmpty());
}

TEST(GroupMarkWarnings, AWorkloadOfALaterVersionIsATemplate) {
  for (const char* version : {"v1alpha2", "v1alpha3", "v1beta1"}) {
    EXPECT_THAT(WarningsOf(absl::StrCat("{apiVersion: scheduling.k8s.io/", version,
                                        ", kind: Workload, metadata: {name: w}}")),
                IsEmpty());
  }
}

TEST(GroupMarkWarnings, MarksOfTemplatesAndPodGroups) {
  EXPECT_THAT(
      WarningsOf("apiVersion: batch/v1\n"
                 "kind: Job\n"
                 "metadata: {name: j}\n"
                 "spec:\n"
                 "  template:\n"
                 "    metadata: {annotations: {yunikorn.apache.org/task-group-name: g}}\n"
                 "    spec: {}\n"
                 "---\n"
                 "apiVersion: scheduling.x-k8s.io/v1alpha1\n"
                 "kind: PodGroup\n"
                 "metadata: {name: g, annotations: {yunikorn.apache.org/task-groups: g}}\n"),
      ElementsAre(StartsWith("f:6:30: warning: Job default/j: "
                             "spec.template.metadata.annotations"
                             "[\"yunikorn.apache.org/task-group-name\"] "
                             "names a gang for YuniKorn and is not read"),
                  StartsWith("f:11:35: warning: PodGroup default/g: ")));
}

TEST(Workloads, WhyThereAreNoPods) {
  const auto why = [](absl::string_view spec) {
    return ParseManifest(absl::StrCat("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, "
                                      "spec: {template: {spec: {}}, ",
                                      spec, "}}"),
                         "f")
        .workloads.at(0)
        .why_none;
  };
  EXPECT_EQ(why("suspend: true"), "spec.suspend is true");
  EXPECT_EQ(why("parallelism: 0"), "none are wanted");
  EXPECT_EQ(why("parallelism: 1"), "");
}

}  // namespace
}  // namespace berth
