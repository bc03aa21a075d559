// SPDX-License-Identifier: Apache-2.0
// Runs the `berth` binary on good and bad input.
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Command : public ::testing::Test {
 protected:
  std::string Write(absl::string_view name, absl::string_view text) {
    return WriteTemporary(name, text);
  }

  Outcome Run(absl::string_view arguments) { return RunBerth(arguments); }

  const std::string cluster_ = Write("cluster.yaml", R"(
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}
---
apiVersion: v1
kind: Pod
metadata: {name: fits, namespace: default}
spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: large, namespace: default}
spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '9'}}}]}
)");
};

TEST_F(Command, VersionAndHelp) {
  EXPECT_EQ(Run("version").status, 0);
  EXPECT_THAT(Run("version").out, HasSubstr("berth "));
  EXPECT_THAT(Run("--help").out, HasSubstr("simulate"));
}

TEST_F(Command, EveryReadyProfileIsValid) {
  for (const char* name : {"default", "kube-scheduler-default", "gpu", "gpu-fgd", "gpu-binpack",
                           "gang", "quota", "online-and-batch"}) {
    const Outcome outcome = Run(absl::StrCat("validate --config config/", name, ".yaml"));
    EXPECT_EQ(outcome.status, 0) << name << ": " << outcome.err;
    EXPECT_EQ(outcome.err, "") << name;
  }
}

// Each file that it names is read when it is run.
TEST_F(Command, ValidateReadsTheFilesThatExtendersName) {
  const std::string config = Write("extender.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: 'https://x.test', filterVerb: filter, enableHTTPS: true, tlsConfig: {caFile: /no/such/ca}}
)");
  const Outcome outcome = Run(absl::StrCat("validate --config ", config));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/no/such/ca cannot be read"));
}

// A process that is not there is at fault as an extender that is not there is.
TEST_F(Command, SimulateEndsWithAFaultIfARemotePluginIsNotThere) {
  const std::string said =
      Write("said.json", R"({"name": "x", "protocolVersion": 1, "points": ["FILTER"]})");
  const std::string cluster = Write("one.yaml", R"(
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 9}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}
)");
  for (const char* const policy : {"Fail", "Ignore"}) {
    const std::string config =
        Write("remote.yaml", absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Remote}]}}
  pluginConfig:
  - name: Remote
    args: {kind: RemotePluginArgs, address: 'unix:/no/such.sock', startTimeout: 50ms, descriptionFile: )",
                                          said, ", failurePolicy: ", policy, "}\n"));
    const Outcome outcome = Run(absl::StrCat("simulate --config ", config, " --cluster ", cluster));
    EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Remote"));
    EXPECT_THAT(outcome.out, HasSubstr("FAULTS"));
    EXPECT_THAT(outcome.out, HasSubstr("the remote plugin Remote at unix:/no/such.sock"));
  }
}

// What is wrong with a plugin's arguments must not reach the plugin; all problems come at once.
TEST_F(Command, ValidateReportsEveryProblemWithItsPlace) {
  const std::string config = Write("bad.yaml", R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
paralelism: 4
profiles:
- plugins:
    score:
      enabled: [{name: NoSuchPlugin}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: RequestedToCapacityRatio}}
)");
  const Outcome outcome = Run(absl::StrCat("validate --config ", config));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat(config, ":3:1: error: paralelism")));
  EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat(config, ":7:24: error: ")));
  EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat(config, ":10:29: error: ")));
  EXPECT_THAT(outcome.err, HasSubstr("3 errors"));
}

TEST_F(Command, BadManifestsAreReportedWithFileLineAndObject) {
  const std::string bad = Write("badcluster.yaml", R"(apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: 4x}}
)");
  for (const char* command : {"explain", "simulate"}) {
    const Outcome outcome =
        Run(absl::StrCat(command, " --config config/default.yaml --cluster ", bad));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat(bad, ":4:29: error: Node n0: ")));
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(Run("explain --config config/default.yaml --cluster /no/such/file").status, 1);
}

TEST_F(Command, ExplainSaysWhereAndWhyNot) {
  const Outcome table =
      Run(absl::StrCat("explain --config config/default.yaml --cluster ", cluster_));
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("default/fits: would go to n0"));
  EXPECT_THAT(table.out, HasSubstr("default/large: 0/1 nodes are available: 1 Insufficient cpu."));
  const Outcome one = Run(absl::StrCat("explain --config config/default.yaml --cluster ", cluster_,
                                       " --pod default/large -o json"));
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr(R"("reasons":["Insufficient cpu"])"));
  EXPECT_THAT(one.out, Not(HasSubstr("default/fits")));
  EXPECT_EQ(Run(absl::StrCat("explain --config config/default.yaml --cluster ", cluster_,
                             " --pod default/nobody"))
                .status,
            1);
}

// Each of the pods fits on n0, both do not.
TEST_F(Command, ExplainAnswersForTheWholeGroup) {
  const auto member = [](absl::string_view name, absl::string_view group) {
    return absl::StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: ", name,
                        ", labels: {scheduling.x-k8s.io/pod-group: ", group, "}}\n",
                        "spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '2500m"
                        "'}}}]}\n");
  };
  const auto group = [](absl::string_view name, int min_member) {
    return absl::StrCat("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n",
                        "metadata: {name: ", name, "}\nspec: {minMember: ", min_member, "}\n");
  };
  const std::string gangs =
      Write("gangs.yaml", absl::StrCat(group("two", 2), member("a", "two"), member("b", "two"),
                                       group("one", 1), member("c", "one"), member("d", "one")));
  const std::string input =
      absl::StrCat("explain --config config/gang.yaml --cluster ", cluster_, " --cluster ", gangs);
  const Outcome table = Run(input);
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("default/a: PodGroup default/two needs 2 pods at once, 1 can "
                                   "run: 0/1 nodes are available: 1 Insufficient cpu. No place "
                                   "exists: nodes have room for 1 of the 2 members (cpu: 2500m "
                                   "each, 4 free in all), and would have too little if they were "
                                   "empty."));
  EXPECT_THAT(table.out, Not(HasSubstr("default/a: would go to")));
  EXPECT_THAT(table.out, HasSubstr("default/c: would go to n0 with 1 of default/one"));
  EXPECT_THAT(table.out, HasSubstr("default/d: the rest of default/one leaves no room for it"));
  const Outcome json = Run(absl::StrCat(input, " -o json"));
  EXPECT_THAT(json.out, HasSubstr(R"("groups":[{"group":"default/two","profile":"default-sched)"));
  EXPECT_THAT(json.out, HasSubstr(R"("answer":"infeasible","starts":false)"));
  EXPECT_THAT(
      json.out,
      HasSubstr(R"("answer":"placed","starts":true,"placements":{"default/c":"n0"},"plans":{}})"));
}

// The group runs with one pod; the other one preempts for itself.
TEST_F(Command, ExplainHasThePlansOfMembers) {
  const std::string gang = Write("surplus.yaml", R"(apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: g}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {scheduling.x-k8s.io/pod-group: g}}
spec: {priority: 9, containers: [{name: c, image: x, resources: {requests: {cpu: '2'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, labels: {scheduling.x-k8s.io/pod-group: g}}
spec: {priority: 9, containers: [{name: c, image: x, resources: {requests: {cpu: '2'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: low}
spec: {nodeName: n0, containers: [{name: c, image: x, resources: {requests: {cpu: '2'}}}]}
)");
  const std::string input =
      absl::StrCat("explain --config config/gang.yaml --cluster ", cluster_, " ", gang);
  EXPECT_THAT(Run(input).out,
              HasSubstr("default/b: would make room on n0 by evicting default/low"));
  EXPECT_THAT(Run(absl::StrCat(input, " -o json")).out,
              HasSubstr(R"("placements":{"default/a":"n0"},"plans":{"default/b":)"
                        R"({"nominatedNode":"n0","victims":["default/low"]}}})"));
}

TEST_F(Command, SimulatePrintsPlacementsAndReasons) {
  const Outcome json =
      Run(absl::StrCat("simulate --config config/default.yaml -o json --cluster ", cluster_));
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_THAT(json.out, HasSubstr(R"({"pod":"default/fits","node":"n0","reason":""})"));
  EXPECT_THAT(json.out, HasSubstr(R"({"pod":"default/large","node":null,"reason":"0/1 nodes)"));
  EXPECT_THAT(json.out, HasSubstr(R"("waiting":{"reason":"INSUFFICIENT_RESOURCES","text":"Insuf)"));
  EXPECT_THAT(json.out, HasSubstr(R"("resource":"cpu","needed":)"));
  EXPECT_THAT(json.out, HasSubstr(R"("summary":{"pods":2,"bound":1,"pending":1,"evicted":0,)"));
  const Outcome table =
      Run(absl::StrCat("simulate --config config/default.yaml --cluster ", cluster_));
  EXPECT_THAT(table.out, HasSubstr("1 pod placed, 1 pending, on 1 node\n"));
  EXPECT_THAT(table.out, HasSubstr("POD            NODE\n"
                                   "default/fits   n0\n"
                                   "default/large  -\n"));
  EXPECT_THAT(table.out,
              HasSubstr("INSUFFICIENT_RESOURCES  Insufficient cpu on 1 of 1 node; needs "));
  EXPECT_THAT(table.out, Not(HasSubstr("\033"))) << "colour belongs on terminals";
}

TEST_F(Command, GroupsAreReportedIfAPluginSchedulesThem) {
  const std::string group = Write("group.yaml", R"(apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: g}
spec: {minMember: 1}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: without-pods}
spec: {minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: member, labels: {scheduling.x-k8s.io/pod-group: g}}
spec: {containers: [{name: c, image: x}]}
)");
  const std::string input = absl::StrCat(" --cluster ", cluster_, " --cluster ", group);
  const Outcome gang = Run(absl::StrCat("simulate --config config/gang.yaml", input));
  EXPECT_EQ(gang.status, 0) << gang.err;
  EXPECT_THAT(gang.out, HasSubstr("1 of 1 groups run, 0 in part"));
  EXPECT_THAT(
      Run(absl::StrCat("simulate -o json --config config/gang.yaml", input)).out,
      HasSubstr(
          R"("groups":[{"group":"default/g","minMember":1,"bound":1,"waitingPods":0,"pending":0}])"));

  const Outcome plain = Run(absl::StrCat("simulate --config config/default.yaml", input));
  EXPECT_EQ(plain.status, 0) << plain.err;
  EXPECT_THAT(plain.out, Not(HasSubstr("groups")));
  EXPECT_THAT(Run(absl::StrCat("simulate -o json --config config/default.yaml", input)).out,
              HasSubstr(R"("groups":[])"));
}

TEST_F(Command, WorkloadsWithoutPodsAreNoError) {
  const std::string agent = Write("agent.yaml", R"(apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {containers: [{name: c, image: x}]}}}
)");
  const Outcome outcome =
      Run(absl::StrCat("explain --config config/default.yaml --cluster ", agent));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, HasSubstr("There is no pending pod"));
  EXPECT_THAT(outcome.err, HasSubstr("apps/v1 DaemonSet default/agent: no pods here"));
}

TEST_F(Command, PodsOfGangsThatArePlacedAloneAreSaid) {
  const std::string gang = Write("alone.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: a, labels: {scheduling.x-k8s.io/pod-group: g}}
spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '99'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, labels: {scheduling.x-k8s.io/pod-group: g}}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m}
)");
  const std::string input = absl::StrCat(" --cluster ", cluster_, " --cluster ", gang);
  for (const char* command : {"explain", "simulate"}) {
    const Outcome plain = Run(absl::StrCat(command, " --config config/default.yaml", input));
    EXPECT_THAT(plain.err,
                HasSubstr(absl::StrCat(
                    gang,
                    ":1:1: warning: Pod default/a: is placed on its own: the label "
                    "scheduling.x-k8s.io/pod-group names its gang, which profile "
                    "default-scheduler does not read; enable Coscheduling in it (and 1 more "
                    "like this)")));
    EXPECT_THAT(plain.err,
                HasSubstr("left out, as a scheduler does not read them: 1 v1 ConfigMap"));
    EXPECT_THAT(Run(absl::StrCat(command, " --config config/gang.yaml", input)).err,
                Not(HasSubstr("on its own")));
  }
  const Outcome json = Run(absl::StrCat("simulate -o json --config config/default.yaml", input));
  EXPECT_THAT(json.out, HasSubstr(R"("alone":"the label scheduling.x-k8s.io/pod-group names)"));
}

// Pods that were placed say so too, whether somebody reads the mark or not.
TEST_F(Command, PodsOfGangsThatWerePlacedOneByOneAreSaid) {
  const std::string gang = Write("yunikorn.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {yunikorn.apache.org/task-group-name: g}}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {yunikorn.apache.org/task-group-name: g}}
spec: {containers: [{name: c, image: x}]}
)");
  const std::string why =
      "the annotation yunikorn.apache.org/task-group-name names its gang, which is not read; make "
      "a ";
  for (const char* config : {"config/default.yaml", "config/gang.yaml"}) {
    const std::string input =
        absl::StrCat(" --config ", config, " --cluster ", cluster_, " --cluster ", gang);
    const Outcome table = Run(absl::StrCat("simulate", input));
    EXPECT_THAT(table.out, AllOf(HasSubstr("NOT AS A GANG"),
                                 HasSubstr(absl::StrCat("2  default/a    ", why))));
    EXPECT_THAT(
        Run(absl::StrCat("simulate -o json", input)).out,
        HasSubstr(absl::StrCat(R"({"pod":"default/b","node":"n0","reason":"","alone":")", why)));
    EXPECT_THAT(Run(absl::StrCat("explain", input)).out,
                HasSubstr(absl::StrCat("default/b: would go to n0\nplaced on its own: ", why)));
    EXPECT_THAT(Run(absl::StrCat("explain -o json", input)).out,
                HasSubstr(absl::StrCat(
                    R"("pod":"default/b","profile":"default-scheduler","alone":")", why)));
  }
}

TEST_F(Command, RequestsForGpusThatNoPluginReadsAreWarnedOf) {
  const std::string shares = Write("shares.yaml", R"(apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {gpu-fraction: '0.5'}}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, annotations: {gpu-fraction: '0.25'}}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: m, annotations: {alibabacloud.com/gpu-milli: '500'}}
spec: {containers: [{name: c, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: r, annotations: {gpu-memory: '500'}}
spec: {nodeName: n0, containers: [{name: c, image: x}]}
)");
  const std::string input = absl::StrCat(" --cluster ", cluster_, " --cluster ", shares);
  for (const char* command : {"explain", "simulate"}) {
    const Outcome plain = Run(absl::StrCat(command, " --config config/default.yaml", input));
    EXPECT_THAT(
        plain.err,
        AllOf(HasSubstr(absl::StrCat(
                  shares,
                  ":1:1: warning: Pod default/a: is given no GPU: it asks by the annotation "
                  "gpu-fraction, which profile default-scheduler does not read; enable "
                  "GpuDevices in it (and 1 more like this)")),
              HasSubstr(absl::StrCat(shares, ":11:1: warning: Pod default/m: is given no")),
              Not(HasSubstr("gpu-memory"))));
    EXPECT_THAT(Run(absl::StrCat(command, " --config config/gpu.yaml", input)).err,
                Not(HasSubstr("is given no GPU")));
  }
}

// 8 cards on two nodes: a whole one, two shares on one card, and a quarter of another node's.
TEST_F(Command, TheGpuTablesCountShares) {
  const auto pod = [](absl::string_view name, absl::string_view node, absl::string_view milli,
                      absl::string_view card) {
    return absl::StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: ", name,
                        ", annotations: {alibabacloud.com/gpu-milli: '", milli,
                        "', alibabacloud.com/gpu-index: '", card, "'}}\nspec: {nodeName: ", node,
                        ", containers: [{name: c, image: x}]}\n");
  };
  const auto node = [](absl::string_view name) {
    return absl::StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: ", name,
                        "}\nstatus: {allocatable: {cpu: '8', memory: 8Gi, pods: '110', "
                        "nvidia.com/gpu: '4'}}\n");
  };
  const std::string shares = Write(
      "cards.yaml", absl::StrCat(node("g0"), node("g1"), pod("a", "g0", "500", "1"),
                                 pod("b", "g0", "250", "1"), pod("c", "g1", "250", "3"), R"(---
apiVersion: v1
kind: Pod
metadata: {name: whole}
spec: {containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: '1'}}}]}
)"));
  const Outcome table = Run(absl::StrCat("simulate --config config/gpu.yaml --cluster ", shares));
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("nvidia.com/gpu            8          2  25.0 %"),
                               HasSubstr("in parts                 2      1       16.7 %"),
                               HasSubstr("2 on a node              1      2       33.3 %"),
                               HasSubstr("3 on a node              1      3       50.0 %")))
      << table.out;
}

TEST_F(Command, ExplainNamesTheOtherNodeThatIsAsGood) {
  const std::string nodes = Write("same.yaml", R"(apiVersion: v1
kind: Node
metadata: {name: a0}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}
---
apiVersion: v1
kind: Node
metadata: {name: a1}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: x}]}
)");
  EXPECT_THAT(Run(absl::StrCat("explain --config config/default.yaml --cluster ", nodes)).out,
              HasSubstr("default/p: would go to a0 (or a1, just as good)"));
}

TEST_F(Command, ImportWritesWhatValidateTakes) {
  const std::string path = Write("quotas.yaml", "");
  for (const char* example : {"kueue_cohort", "kai_queues", "volcano_capacity",
                              "yunikorn_preemption", "koordinator_tree"}) {
    const std::string file = absl::StrCat("tests/import/examples/", example, ".yaml");
    const Outcome outcome = Run(absl::StrCat("import ", file, " -o ", path));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(" what differs\n"));
    const Outcome valid = Run(absl::StrCat("validate --cluster ", path));
    EXPECT_EQ(valid.status, 0) << example << ": " << valid.err;
    const std::string written = ReadWhole(path);
    EXPECT_EQ(Run(absl::StrCat("import ", file)).out, written);
    EXPECT_THAT(written, HasSubstr(absl::StrCat(file, ":")));
  }
  const Outcome none = Run(absl::StrCat("import ", cluster_));
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("cluster.yaml:1: error: has no queues of Kueue"));
  EXPECT_EQ(Run("import /no/such/file").status, 1);
  const Outcome unwritable =
      Run("import tests/import/examples/kai_queues.yaml -o /no/such/folder/quotas.yaml");
  EXPECT_EQ(unwritable.status, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("/no/such/folder/quotas.yaml: cannot be written: No such"));
}

TEST_F(Command, ASuspendedJobSaysWhyItHasNoPods) {
  const std::string job = Write("job.yaml", R"(apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {suspend: true, template: {spec: {containers: [{name: c, image: x}]}}}
)");
  EXPECT_THAT(Run(absl::StrCat("explain --config config/default.yaml --cluster ", job)).err,
              HasSubstr("batch/v1 Job default/j: no pods here, spec.suspend is true"));
}

TEST_F(Command, ArgumentsOfAPluginThatIsOffAreAWarning) {
  const std::string config = Write("off.yaml", R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - {name: Coscheduling, args: {permitWaitingTimeSeconds: 10}}
)");
  const Outcome outcome = Run(absl::StrCat("validate --config ", config));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, absl::StrCat(config,
                                      ":5:12: warning: profiles[0].pluginConfig[0].name: "
                                      "\"Coscheduling\" has arguments but is not enabled in this "
                                      "profile\n"));
}

}  // namespace
}  // namespace berth
