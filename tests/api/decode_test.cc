// SPDX-License-Identifier: Apache-2.0
// The decoder: what it reads, what it reports and where; and JSON as its way back.
#include "berth/api/decode.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "berth/api/coordination_v1.pb.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/policy_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the decoder reports of `text`, read as a Message.
template <class Message>
std::vector<std::string> ProblemsOf(absl::string_view text, const DecodeOptions& options = {}) {
  Problems problems;
  Message message;
  for (const Document& document : ReadDocuments(text, "f", problems)) {
    DecodeMessage(document.root(), options, message, problems);
  }
  std::vector<std::string> lines;
  for (const Problem& problem : problems) lines.push_back(problem.ToString());
  return lines;
}

template <class Message>
Message Decode(absl::string_view text) {
  Problems problems;
  Message message;
  for (const Document& document : ReadDocuments(text, "f", problems)) {
    EXPECT_TRUE(DecodeMessage(document.root(), {}, message, problems));
  }
  EXPECT_TRUE(problems.empty()) << problems.ToString();
  return message;
}

TEST(DecodeTest, APod) {
  const auto pod = Decode<api::Pod>(R"(
metadata:
  name: p
  namespace: ns
  labels: {app: web, "quoted": "1"}
  creationTimestamp: "2026-01-02T03:04:05Z"
  managedFields: [{anything: [1, 2]}]
spec:
  priority: -5
  hostNetwork: true
  nodeSelector: {zone: a}
  terminationGracePeriodSeconds: 30
  containers:
  - name: c
    image: i
    resources:
      requests: {cpu: 0.5, memory: 1Gi, example.com/gpu: "2"}
    ports: [{containerPort: 80, hostPort: 8080, protocol: TCP}]
  volumes:
  - name: v
    persistentVolumeClaim: {claimName: claim}
  - name: w
    configMap: {name: config}
  schedulingGates: [{name: g1}, {name: g2}]
  tolerations:
  - {key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  unknownField: {a: [b]}
  nodeName: null
status:
  phase: Pending
)");
  EXPECT_EQ(pod.metadata().name(), "p");
  EXPECT_EQ(pod.metadata().labels().at("app"), "web");
  EXPECT_EQ(pod.metadata().labels().at("quoted"), "1");
  EXPECT_EQ(pod.metadata().creation_timestamp().seconds(), 1767323045);
  EXPECT_EQ(pod.spec().priority(), -5);
  EXPECT_TRUE(pod.spec().host_network());
  EXPECT_FALSE(pod.spec().has_node_name());
  EXPECT_EQ(pod.spec().node_selector().at("zone"), "a");
  const auto& requests = pod.spec().containers(0).resources().requests();
  EXPECT_EQ(requests.at("cpu").string(), "0.5");
  EXPECT_EQ(requests.at("memory").string(), "1Gi");
  EXPECT_EQ(requests.at("example.com/gpu").string(), "2");
  EXPECT_EQ(pod.spec().containers(0).ports(0).host_port(), 8080);
  EXPECT_EQ(pod.spec().volumes(0).volume_source().persistent_volume_claim().claim_name(), "claim");
  EXPECT_EQ(pod.spec().volumes(1).volume_source().config_map().local_object_reference().name(),
            "config");
  EXPECT_EQ(pod.spec().scheduling_gates(1).name(), "g2");
  EXPECT_EQ(pod.spec().tolerations(0).toleration_seconds(), 300);
  EXPECT_EQ(pod.status().phase(), "Pending");
}

TEST(DecodeTest, IntOrStringAndTimes) {
  const auto number = Decode<api::PodDisruptionBudget>("spec: {minAvailable: 2}");
  EXPECT_EQ(number.spec().min_available().type(), 0);
  EXPECT_EQ(number.spec().min_available().int_val(), 2);
  const auto text = Decode<api::PodDisruptionBudget>("spec: {minAvailable: 50%}");
  EXPECT_EQ(text.spec().min_available().type(), 1);
  EXPECT_EQ(text.spec().min_available().str_val(), "50%");
  const auto lease = Decode<api::Lease>("spec: {renewTime: 2026-01-02T03:04:05.000250Z}");
  EXPECT_EQ(lease.spec().renew_time().nanos(), 250'000);
}

TEST(DecodeTest, NullInAMapIsZero) {
  const auto spec = Decode<api::PodSpec>("{overhead: {cpu: null}, nodeSelector: {a: null}}");
  EXPECT_EQ(spec.overhead().at("cpu").string(), "0");
  EXPECT_EQ(spec.node_selector().at("a"), "");
}

TEST(DecodeTest, KeepsWhatIsThereAndMerges) {
  Problems problems;
  api::PodSpec spec;
  spec.set_node_name("n");
  spec.set_priority(1);
  const auto documents = ReadDocuments("{\"priority\": 2}", "f", problems);
  EXPECT_TRUE(DecodeMessage(documents[0].root(), {}, spec, problems));
  EXPECT_EQ(spec.node_name(), "n");
  EXPECT_EQ(spec.priority(), 2);
}

TEST(DecodeTest, ReportsWithPlaceAndPath) {
  const struct {
    absl::string_view yaml, want;
  } cases[] = {
      {"spec:\n  nodeName: 5\n",
       "f:2:13: error: spec.nodeName: is a number, not a string; write it in quotes"},
      {"spec:\n  nodeName: yes\n",
       "f:2:13: error: spec.nodeName: is true or false, not a string; write it in quotes"},
      {"spec: {nodeName: [a]}", "f:1:18: error: spec.nodeName: is a list, not a string"},
      {"spec: 3", "f:1:7: error: spec: is a number, not a map"},
      {"spec: {priority: high}", "f:1:18: error: spec.priority: is a string, not a number"},
      {"spec: {priority: 3000000000}",
       "f:1:18: error: spec.priority: 3000000000 is not between -2147483648 and 2147483647"},
      {"spec: {priority: 1.5}", "f:1:18: error: spec.priority: 1.5 is not a whole number in range"},
      {"spec: {terminationGracePeriodSeconds: 1e30}",
       "f:1:39: error: spec.terminationGracePeriodSeconds: 1e30 is not a whole number in range"},
      {"spec: {hostNetwork: 1}", "f:1:21: error: spec.hostNetwork: is a number, not true or false"},
      {"spec: {containers: {name: c}}", "f:1:20: error: spec.containers: is a map, not a list"},
      {"spec: {containers: [c]}", "f:1:21: error: spec.containers[0]: is a string, not a map"},
      {"spec: {containers: [{name: a}, {resources: {requests: {cpu: 1x}}}]}",
       "f:1:61: error: spec.containers[1].resources.requests.cpu: \"1x\" is not a quantity "
       "(quantities must match the regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$')"},
      {"spec: {overhead: {example.com/gpu: -1}}",
       "f:1:36: error: spec.overhead[\"example.com/gpu\"]: -1 is negative"},
      {"spec: {overhead: {cpu: [1]}}",
       "f:1:24: error: spec.overhead.cpu: is a list, not a quantity"},
      {"spec: {overhead: 1}", "f:1:18: error: spec.overhead: is a number, not a map"},
      {"metadata: {labels: {a: 1}}",
       "f:1:24: error: metadata.labels.a: is a number, not a string; write it in quotes"},
      {"metadata: {deletionTimestamp: yesterday}",
       "f:1:31: error: metadata.deletionTimestamp: \"yesterday\" is not a time such as "
       "\"2026-01-02T03:04:05Z\""},
      {"metadata: {deletionTimestamp: 5}",
       "f:1:31: error: metadata.deletionTimestamp: is a number, not a time"},
      {"spec: {topologySpreadConstraints: [{labelSelector: {matchExpressions: "
       "[{key: a, operator: Near}]}}]}",
       "f:1:52: error: spec.topologySpreadConstraints[0].labelSelector: \"Near\" is not a valid "
       "label selector operator"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(ProblemsOf<api::Pod>(c.yaml), ElementsAre(c.want)) << c.yaml;
  }
}

TEST(DecodeTest, ReportsEveryProblemAndGoesOn) {
  Problems problems;
  api::Pod pod;
  const auto documents =
      ReadDocuments("{\"spec\": {\"nodeName\": 1, \"priority\": \"x\", \"schedulerName\": \"s\"}}",
                    "f", problems);
  EXPECT_FALSE(DecodeMessage(documents[0].root(), {}, pod, problems));
  EXPECT_EQ(problems.errors(), 2);
  EXPECT_EQ(pod.spec().scheduler_name(), "s");
  EXPECT_FALSE(pod.spec().has_node_name());
}

TEST(DecodeTest, StrictReportsUnknownAndRepeatedFields) {
  const DecodeOptions strict = {.unknown_fields = UnknownFields::kReport,
                                .subject = "profile a",
                                .field_path = "args.addedAffinity"};
  EXPECT_THAT(
      ProblemsOf<api::NodeAffinity>("requiredDuringSchedulingIgnoredDuringExecution:\n"
                                    "  nodeSelectorTerm: []\n"
                                    "preferred: []\n"
                                    "requiredDuringSchedulingIgnoredDuringExecution: {}\n",
                                    strict),
      ElementsAre("f:4:1: error: profile a: args.addedAffinity."
                  "requiredDuringSchedulingIgnoredDuringExecution: appears a second time; first "
                  "in line 1",
                  "f:2:3: error: profile a: args.addedAffinity."
                  "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerm: unknown field",
                  "f:3:1: error: profile a: args.addedAffinity.preferred: unknown field"));
  EXPECT_THAT(ProblemsOf<api::PodSpec>("nodeSelector: {a: x, a: z}",
                                       {.unknown_fields = UnknownFields::kReport}),
              ElementsAre("f:1:22: error: nodeSelector.a: appears a second time; first in line 1"));
  EXPECT_THAT(ProblemsOf<api::NodeAffinity>("[]", strict),
              ElementsAre("f:1:1: error: profile a: args.addedAffinity: is a list, not a map"));
}

TEST(ToJsonTest, KubernetesForm) {
  const auto pod = Decode<api::Pod>(R"(
metadata:
  name: p
  labels: {b: "2", a: "1"}
  deletionTimestamp: "2026-01-02T03:04:05+01:00"
spec:
  overhead: {cpu: 0.5, memory: 1024Mi}
  volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}]
  hostIPC: true
  containers: [{name: c}]
)");
  EXPECT_EQ(ToJson(pod),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",)"
            R"("deletionTimestamp":"2026-01-02T02:04:05Z","labels":{"a":"1","b":"2"}},)"
            R"("spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}],)"
            R"("containers":[{"name":"c"}],"hostIPC":true,)"
            R"("overhead":{"cpu":"500m","memory":"1Gi"}}})");
  EXPECT_EQ(ToJson(Decode<api::Toleration>("{key: k}"), JsonStyle::kIndented),
            "{\n  \"key\": \"k\"\n}");
}

TEST(ToJsonTest, ReadsBackAsTheSame) {
  const auto budget = Decode<api::PodDisruptionBudget>(
      "{metadata: {name: b}, spec: {maxUnavailable: 30%, minAvailable: 1, "
      "selector: {matchLabels: {a: b}}}}");
  EXPECT_EQ(Decode<api::PodDisruptionBudget>(ToJson(budget)).SerializeAsString(),
            budget.SerializeAsString());
}

TEST(MessagesTest, UnknownFieldsOfTheWireSurvive) {
  // An object meta with managedFields (17), which the message leaves out.
  const std::string bytes("\x0a\x01p\x8a\x01\x02\x0a\x00", 9 - 1);
  api::ObjectMeta meta;
  ASSERT_TRUE(meta.ParseFromString(bytes));
  EXPECT_EQ(meta.name(), "p");
  EXPECT_EQ(meta.SerializeAsString(), bytes);
}

}  // namespace
}  // namespace berth
