// SPDX-License-Identifier: Apache-2.0
// What the commands say of plugins that misbehave, and the exit status that goes with it.
#include "gmock/gmock.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kPluginFault = 3;

struct Outcome {
  int status;
  std::string output;
};

Outcome Berth(std::vector<std::string> words) {
  words.insert(words.begin(), FAULTY_SCHEDULER);
  Process process(std::move(words));
  const int status = process.Wait();
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, process.output()};
}

std::string Config() {
  return WriteTemporary("faulty-config.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Faulty}]}}}]
)");
}

// As a scenario in the same folder names it.
std::string ConfigName() {
  const std::string path = Config();
  return path.substr(path.rfind('/') + 1);
}

// A node and a pod with the label "do".
std::string Objects(absl::string_view what) {
  return absl::StrCat(R"(apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, labels: {do: )",
                      what, R"(}}
spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}
)");
}

Outcome Command(const std::string& command, absl::string_view what, const std::string& output) {
  return Berth({command, "--config", Config(), "--cluster",
                WriteTemporary("faulty.yaml", Objects(what)), "-o", output});
}

TEST(PluginFaultReports, Simulate) {
  const Outcome good = Command("simulate", "nothing", "json");
  EXPECT_EQ(good.status, 0) << good.output;
  EXPECT_THAT(good.output, AllOf(HasSubstr(R"("troubles":[])"), HasSubstr(R"("unconfirmed":0)"),
                                 HasSubstr(R"("pluginCounters":{"Faulty/asked":1})")));

  const Outcome json = Command("simulate", "postbind", "json");
  EXPECT_EQ(json.status, kPluginFault) << json.output;
  EXPECT_THAT(json.output, AllOf(HasSubstr(R"({"plugin":"Faulty","point":"PostBind","faults":1,)"
                                           R"("firstFault":"threw: no postbind","slowCalls":0,)"
                                           R"("slowestSeconds":)"),
                                 HasSubstr(R"("bound":1)")));

  const Outcome table = Command("simulate", "postbind", "table");
  EXPECT_EQ(table.status, kPluginFault) << table.output;
  EXPECT_THAT(table.output, AllOf(HasSubstr("PLUGIN TROUBLE"), HasSubstr("threw: no postbind"),
                                  HasSubstr("COUNTED BY PLUGINS"), HasSubstr("Faulty/asked")));
}

TEST(PluginFaultReports, SimulateEndsWithASentence) {
  const Outcome table = Command("simulate", "again", "table");
  EXPECT_EQ(table.status, kPluginFault) << table.output;
  EXPECT_THAT(table.output, AllOf(HasSubstr("gave up: plugins keep the scheduler busy without end"),
                                  Not(HasSubstr("Interrupted"))));
  const Outcome json = Command("simulate", "again", "json");
  EXPECT_EQ(json.status, kPluginFault) << json.output;
  EXPECT_THAT(json.output, HasSubstr(R"("gave_up":"gave up: plugins keep)"));
}

TEST(PluginFaultReports, Explain) {
  EXPECT_EQ(Command("explain", "nothing", "json").status, 0);
  const Outcome json = Command("explain", "filter", "json");
  EXPECT_EQ(json.status, kPluginFault) << json.output;
  EXPECT_THAT(json.output, HasSubstr(R"("firstFault":"threw: no filter")"));
  const Outcome table = Command("explain", "filter", "table");
  EXPECT_EQ(table.status, kPluginFault) << table.output;
  EXPECT_THAT(table.output, HasSubstr("threw: no filter"));
}

std::string Scenario(absl::string_view what, absl::string_view expected) {
  std::string objects = Objects(what);
  for (size_t at = 0; (at = objects.find('\n', at)) != std::string::npos; at += 5) {
    objects.replace(at, 1, "\n    ");
  }
  return WriteTemporary("faulty-scenario.yaml", absl::StrCat("name: faulty\nconfig: ", ConfigName(),
                                                             "\nsteps:\n- create: |\n    ", objects,
                                                             "\n- settle: true\n", expected));
}

TEST(PluginFaultReports, Scenarios) {
  const std::string bound = "- expect: {placed: {p: n0}}\n";
  EXPECT_EQ(Berth({"simulate", "--scenario", Scenario("nothing", bound)}).status, 0);
  const Outcome table = Berth({"simulate", "--scenario", Scenario("postbind", bound)});
  EXPECT_EQ(table.status, kPluginFault) << table.output;
  EXPECT_THAT(table.output, HasSubstr("threw: no postbind"));
  const Outcome json = Berth({"simulate", "--scenario", Scenario("postbind", bound), "-o", "json"});
  EXPECT_EQ(json.status, kPluginFault) << json.output;
  EXPECT_THAT(json.output, HasSubstr(R"("firstFault":"threw: no postbind")"));
  const Outcome busy = Berth({"simulate", "--scenario", Scenario("again", "")});
  EXPECT_EQ(busy.status, 1) << busy.output;
  EXPECT_THAT(busy.output, HasSubstr("gave up: plugins keep the scheduler busy"));
}

TEST(PluginFaultReports, TheTimelineSaysWhenAHoldWasCut) {
  const Outcome json = Berth({"simulate", "--scenario", Scenario("hold", ""), "-o", "json"});
  EXPECT_THAT(json.output,
              HasSubstr("placed on n0, held by Faulty for 15m0s at most, though it asked for "
                        "1h0m0s"));
}

}  // namespace
}  // namespace berth
