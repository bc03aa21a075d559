// SPDX-License-Identifier: Apache-2.0
// Runs every scenario in this folder; to add one, add a file.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/time.h"
#include "berth/builtin_plugins.h"
#include "berth/framework/bind.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/testing/scenario.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ScenarioFiles() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("tests/scenarios")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, Holds) {
  const absl::StatusOr<Registry> registry = BuiltinRegistry();
  ASSERT_TRUE(registry.ok()) << registry.status();
  const ScenarioResult result = RunScenarioFile(GetParam(), *registry);
  EXPECT_TRUE(result.ok()) << absl::StrJoin(result.failures, "\n") << "\n\nWhat happened:\n"
                           << result.timeline;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, ::testing::ValuesIn(ScenarioFiles()),
                         [](const auto& info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

// --- The runner itself ---------------------------------------------------------------------------

ScenarioResult RunText(absl::string_view text, std::vector<PluginRegistration> plugins = {},
                       const ScenarioOptions& options = {}) {
  const absl::StatusOr<Registry> registry = BuiltinRegistry(std::move(plugins));
  EXPECT_TRUE(registry.ok()) << registry.status();
  return RunScenario(text, "test.yaml", *registry, options);
}

constexpr absl::string_view kNodeAndPod = R"(
- create: |
    apiVersion: v1
    kind: Node
    metadata: {name: n0}
    status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: p, namespace: default}
    spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}
)";

TEST(ScenarioRunner, ReportsWhatDoesNotHoldWithWhatHappenedInstead) {
  const ScenarioResult result = RunText(absl::StrCat("name: wrong\nsteps:", kNodeAndPod, R"(
- settle: true
- expect:
    bound: 2
    placed: {p: n1}
    attempts: {p: '>= 2'}
    never: [{bound: p}]
- advance: 5s
)"));
  EXPECT_EQ(result.name, "wrong");
  EXPECT_THAT(
      result.failures,
      ElementsAre("test.yaml:16:12: expected 2 pods with a node that have not ended, there are 1",
                  "test.yaml:17:17: expected default/p on n1, it is on n0",
                  "test.yaml:18:19: expected at least 2 attempts of default/p, there are 1",
                  "test.yaml:19:21: default/p was bound"));
  EXPECT_EQ(result.timeline,
            "t=0s Node n0 created\n"
            "t=0s default/p created\n"
            "t=0s default/p tried, placed on n0\n"
            "t=0s default/p bound to n0\n");
  EXPECT_EQ(result.figures.bound, 1);
  EXPECT_EQ(result.figures.simulated, absl::Seconds(5)) << "it went on after a failure";
}

TEST(ScenarioRunner, WarnsOfWhatIsProbablyAMistakeInItsManifests) {
  const ScenarioResult result = RunText(R"(steps:
- create: |
    apiVersion: v1
    kind: Pod
    metadata: {name: p-$(i), namespace: default}
    spec:
      nodeSelectors: {disk: hdd}
      containers: [{name: c, image: x}]
  copies: 3
)");
  EXPECT_THAT(result.failures, ElementsAre());
  EXPECT_THAT(result.warnings,
              ElementsAre("test.yaml:7:7: warning: Pod default/p-0: spec.nodeSelectors: unknown "
                          "field; did you mean \"nodeSelector\"?"));
}

TEST(ScenarioRunner, TwoPodsHaveNotOneUid) {
  const ScenarioResult result = RunText(R"(steps:
- create: |
    {apiVersion: v1, kind: Pod, metadata: {name: p-$(i), namespace: default, uid: u1},
     spec: {containers: [{name: c, image: x}]}}
  copies: 2
- delete: Pod default/p-0
- create: |
    {apiVersion: v1, kind: Pod, metadata: {name: q, namespace: default, uid: u1},
     spec: {containers: [{name: c, image: x}]}}
)");
  EXPECT_THAT(result.failures,
              ElementsAre("test.yaml:2:11: Pod default/p-1: its uid \"u1\" is that of Pod "
                          "default/p-0"));
}

TEST(ScenarioRunner, TheTimelineSaysWhoRejectedAndWhatWokeThePod) {
  const ScenarioResult result = RunText(absl::StrCat("steps:", kNodeAndPod, R"(
- cordon: n0
- settle: true
- failBinds: {p: 1}
- uncordon: n0
- advance: 3s
- expect: {placed: {p: n0}}
)"));
  EXPECT_THAT(result.failures, ElementsAre());
  EXPECT_THAT(result.timeline, HasSubstr("t=0s Node n0 cordoned\n"));
  EXPECT_THAT(result.timeline,
              HasSubstr("t=0s default/p tried, rejected by NodeUnschedulable: 0/1 nodes"));
  EXPECT_THAT(result.timeline, HasSubstr("default/p tried after Node"));
  EXPECT_THAT(result.timeline, HasSubstr("default/p binding to n0 refused: the scenario"));
  EXPECT_THAT(result.timeline, HasSubstr("default/p bound to n0\n"));
}

TEST(ScenarioRunner, EveryMistakeIsReportedBeforeAnythingRuns) {
  const ScenarioResult result = RunText(R"(name: bad
stpes: []
config: nowhere.yaml
steps:
- create: |
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec: {containers: 7}
- dance: true
- advance: soon
- settle: true
  at: -3s
- update: {Node n0: {spec: {unscheduled: true}}}
- delete: Deployment default/d
- taint: {n0: key}
- faults: {bindFailure: 2, gremlins: 1}
- expect:
    sleeping: 2
    bound: many
    never: [sleeping]
    waitingFor: {p: GODOT, q: {reason: GODOT, since: 3s, until: dawn}}
- copies: 2
- 7
- create: |
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
  runTime: 0s
)");
  EXPECT_TRUE(result.events.empty());
  const std::vector<std::pair<absl::string_view, absl::string_view>> wanted = {
      {"test.yaml:2:1: ", "unknown field stpes"},
      {"test.yaml:3:9: ", "cannot read"},
      {"test.yaml:9:24: ", "containers"},
      {"test.yaml:10:3: ", "unknown step dance"},
      {"test.yaml:11:12: ", "a duration"},
      {"test.yaml:13:7: ", "a duration"},
      {"test.yaml:14:29: ", "unscheduled"},
      {"test.yaml:15:11: ", "Deployment"},
      {"test.yaml:16:15: ", "key=value:NoSchedule"},
      {"test.yaml:17:25: ", "from 0 to 1"},
      {"test.yaml:17:28: ", "unknown fault gremlins"},
      {"test.yaml:19:5: ", "unknown expectation sleeping"},
      {"test.yaml:20:12: ", "a number"},
      {"test.yaml:21:13: ", "never happens: sleeping"},
      {"test.yaml:22:21: ", "GODOT"},
      {"test.yaml:22:40: ", "GODOT"},
      {"test.yaml:22:47: ", "unknown field of waitingFor since"},
      {"test.yaml:22:65: ", "a duration"},
      {"test.yaml:23:3: ", "copies goes with create"},
      {"test.yaml:24:3: ", "a step is a map"},
      {"test.yaml:29:12: ", "a duration of more than 0"},
  };
  std::vector<::testing::Matcher<std::string>> matchers;
  for (const auto& [place, text] : wanted) {
    matchers.push_back(
        ::testing::AllOf(::testing::StartsWith(std::string(place)), HasSubstr(std::string(text))));
  }
  EXPECT_THAT(result.failures, ::testing::ElementsAreArray(matchers));
}

TEST(ScenarioRunner, OvercommitmentIsSeen) {
  const ScenarioResult result = RunText(absl::StrCat("steps:", kNodeAndPod, R"(
- settle: true
- create: |
    apiVersion: v1
    kind: Pod
    metadata: {name: foreign}
    spec:
      nodeName: n0
      containers: [{name: c, image: x, resources: {requests: {cpu: '4'}}}]
- expect: {never: [overcommitted]}
)"));
  EXPECT_THAT(result.failures,
              ElementsAre("test.yaml:21:20: n0 has 5000 of 4000 cpu in use with default/foreign at "
                          "t=0s"));
}

TEST(ScenarioRunner, APodWithoutAUidIsBoundTwiceUnlessItWasDeletedBetween) {
  for (const bool deleted : {false, true}) {
    SCOPED_TRACE(deleted ? "deleted" : "replaced");
    const ScenarioResult result = RunText(absl::StrCat(
        "steps:", kNodeAndPod, "- settle: true\n", deleted ? "- delete: Pod default/p\n" : "", R"(
- create: |
    apiVersion: v1
    kind: Pod
    metadata: {name: p, namespace: default}
    spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}
- settle: true
- expect: {placed: {p: n0}, bindings: 2, never: [boundTwice]}
)"));
    if (deleted) {
      EXPECT_THAT(result.failures, ElementsAre()) << result.timeline;
    } else {
      EXPECT_THAT(result.failures, ElementsAre(HasSubstr("bound twice: default/p")));
    }
  }
}

TEST(ScenarioRunner, LimitsEndAScenario) {
  const std::string endless = absl::StrCat("steps:", kNodeAndPod, R"(
- failBinds: {p: 1000000}
- advance: 1000h
- expect: {bound: 1}
)");
  EXPECT_THAT(RunText(endless, {}, {.max_attempts = 10}).failures,
              ElementsAre(HasSubstr("gave up after 10 attempts")));
  EXPECT_THAT(RunText(endless, {}, {.max_duration = absl::Hours(1)}).failures,
              ElementsAre(HasSubstr("lasts 1h0m0s at most")));
  EXPECT_THAT(RunText("steps: [{copies: 9, create: '{}'}]", {}, {.max_objects = 8}).failures,
              ElementsAre(HasSubstr("more than 8 copies")));
  EXPECT_THAT(RunText("config: x.yaml\nsteps: [{create: y.yaml}]", {}, {.files = false}).failures,
              ElementsAre(HasSubstr("may not name files"), HasSubstr("may not name files")));
}

TEST(ScenarioRunner, AnInterruptEndsARun) {
  int asked = 0;
  const ScenarioResult result =
      RunText(absl::StrCat("steps:", kNodeAndPod, "\n- failBinds: {p: 1000}\n- advance: 100h\n"),
              {}, {.interrupted = [&] { return ++asked > 20; }});
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.ok());
  EXPECT_LT(result.figures.simulated, absl::Hours(100));
  EXPECT_FALSE(result.events.empty());
}

// --- Plugins of a test ---------------------------------------------------------------------------

// Waits at Permit as long as the pod's annotation "wait" says, and sleeps at PreBind for
// "pre-bind"; fails there with "fail".
class Patient final : public Plugin, public PermitPlugin, public PreBindPlugin {
 public:
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs&, Handle& handle) {
    return std::make_unique<Patient>(handle);
  }
  explicit Patient(Handle& handle) : handle_(handle) {}
  absl::string_view Name() const override { return "Patient"; }

  Status Permit(CycleState&, const PodInfo& pod, absl::string_view,
                absl::Duration& timeout) override {
    const std::string wait = Annotation(pod, "wait");
    if (wait.empty()) return Status::Success();
    timeout = *ParseDuration(wait);
    return Status::Wait();
  }
  Status PreBind(CycleState&, const PodInfo& pod, absl::string_view) override {
    const std::string sleep = Annotation(pod, "pre-bind");
    if (!sleep.empty()) handle_.clock().SleepUntil(handle_.clock().Now() + *ParseDuration(sleep));
    if (!Annotation(pod, "fail").empty()) return Status::Error("the volume cannot be attached");
    return Status::Success();
  }

 private:
  static std::string Annotation(const PodInfo& pod, const std::string& key) {
    const auto& annotations = pod.object().metadata().annotations();
    const auto found = annotations.find(key);
    return found == annotations.end() ? "" : found->second;
  }
  Handle& handle_;
};

constexpr absl::string_view kPatientConfig = R"(config: |
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
  profiles:
  - schedulerName: default-scheduler
    plugins: {multiPoint: {enabled: [{name: Patient}]}}
)";

TEST(ScenarioPlugins, PermitTimersRunOutInSimulatedTime) {
  const ScenarioResult result = RunText(absl::StrCat(kPatientConfig, "steps:", kNodeAndPod, R"(
- update: {Pod default/p: {metadata: {annotations: {wait: 20s}}}}
- at: 19s
  expect: {pending: {p: waiting to be permitted by Patient}, waitingFor: {p: WAITING_FOR_PERMIT}}
- at: 20s
  expect: {events: {p: ["FailedScheduling: rejected due to timeout after waiting 20s at plugin Patient"]}}
- expect: {bindings: 0}
- update: {Pod default/p: {metadata: {annotations: {wait: null}}}}
- settle: true
- expect: {placed: {p: n0}, never: [overcommitted, boundTwice]}
)"),
                                        {WithPlugin("Patient", &Patient::Create)});
  EXPECT_THAT(result.failures, ElementsAre()) << result.timeline;
}

TEST(ScenarioPlugins, APreBindThatFailsAfterAWhileIsTakenBack) {
  const ScenarioResult result = RunText(absl::StrCat(kPatientConfig, "steps:", kNodeAndPod, R"(
- update: {Pod default/p: {metadata: {annotations: {pre-bind: 5s, fail: 'yes'}}}}
- advance: 0s
- create: |
    apiVersion: v1
    kind: Pod
    metadata: {name: large}
    spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '4'}}}]}
- at: 4s
  expect: {pending: {large: Insufficient cpu}, waitingFor: {p: BINDING}}
- at: 5s
  expect:
    placed: {large: n0}
    counters: {bindFailures: 1}
    conditions: {p: {PodScheduled: {reason: SchedulerError, message: the volume cannot be attached}}}
    refusedBindings: 0
- finish: large
- update: {Pod default/p: {metadata: {annotations: {fail: null}}}}
- settle: true
- expect: {placed: {p: n0}, never: [overcommitted, boundTwice]}
)"),
                                        {WithPlugin("Patient", &Patient::Create)});
  EXPECT_THAT(result.failures, ElementsAre()) << result.timeline;
}

}  // namespace
}  // namespace berth::testing
