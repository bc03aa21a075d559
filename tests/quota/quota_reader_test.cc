// SPDX-License-Identifier: Apache-2.0
// Reading quotas, and what contradicts itself among them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "berth/api/manifest.h"
#include "berth/quota/quota_spec.h"
#include "quota/quotas_of_objects.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Read {
  Manifests manifests;
  std::vector<QuotaSpec> specs;
  Problems problems;
};

Read ReadText(absl::string_view text, const QuotaAmounts& capacity = {}) {
  Read read;
  read.manifests = ParseManifest(text, "q.yaml");
  EXPECT_TRUE(read.manifests.problems.empty()) << read.manifests.problems.ToString();
  std::vector<const Object*> objects;
  for (const Object& object : read.manifests.objects) objects.push_back(&object);
  read.specs = ReadQuotas(objects, read.problems);
  CheckQuotas(read.specs, capacity, read.problems);
  return read;
}

TEST(ReadQuotas, AClusterQuotaWithAllItCanSay) {
  const Read read = ReadText(R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: dept}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: team, creationTimestamp: '2026-01-01T00:00:00Z', uid: u}
spec:
  parent: dept
  namespaces: [a, b]
  namespaceSelector: {matchLabels: {team: x}}
  podSelector: {matchExpressions: [{key: batch, operator: Exists}]}
  min: {gpu: 1500m, pods: 3, cpu: 2, memory: 1Gi, 'gpu{model=H100}': 1}
  max: {gpu: 4}
  borrowingLimit: {gpu: 1}
  lendingLimit: {gpu: 500m}
  weight: 3
  weights: {gpu: '0.5'}
  priority: 7
  history: {halfLife: 4h, factor: '0.5'}
  reclaim: {strategy: FairShare, victims: LowerPriority}
  preemption: Never
  fence: Both
  minRuntime: {reclaim: 90s, preempt: 1h}
  order: [Share, Age]
  queueing: StrictFIFO
)");
  EXPECT_THAT(read.problems, IsEmpty()) << read.problems.ToString();
  ASSERT_EQ(read.specs.size(), 2u);
  const QuotaSpec& team = read.specs[1];
  EXPECT_EQ(team.name, "team");
  EXPECT_EQ(team.parent, "dept");
  EXPECT_THAT(team.namespaces, ElementsAre(Symbol::Intern("a"), Symbol::Intern("b")));
  EXPECT_TRUE(team.namespace_selector->Matches({{"team", "x"}}));
  EXPECT_TRUE(team.pod_selector->Matches({{"batch", ""}}));
  const auto min = [&](absl::string_view line) { return team.min.Find(*QuotaLine::Parse(line)); };
  EXPECT_EQ(min("gpu"), 1500);
  EXPECT_EQ(min("pods"), 3);
  EXPECT_EQ(min("cpu"), 2000);
  EXPECT_EQ(min("memory"), int64_t{1} << 30);
  EXPECT_EQ(min("gpu{model=H100}"), 1000);
  EXPECT_EQ(min("nvidia.com/gpu"), std::nullopt);
  EXPECT_EQ(team.lending_limit.Find(*QuotaLine::Parse("gpu")), 500);
  EXPECT_EQ(team.weight, 3);
  EXPECT_EQ(team.weights.Find(*QuotaLine::Parse("gpu")), 500);
  EXPECT_EQ(team.priority, 7);
  EXPECT_EQ(team.half_life, absl::Hours(4));
  EXPECT_EQ(team.history_milli, 500);
  EXPECT_EQ(team.reclaim, ReclaimStrategy::kFairShare);
  EXPECT_EQ(team.victims, ReclaimVictims::kLowerPriority);
  EXPECT_EQ(team.preemption, QuotaPreemption::kNever);
  EXPECT_EQ(team.fence, QuotaFence::kBoth);
  EXPECT_EQ(team.reclaim_min_runtime, absl::Seconds(90));
  EXPECT_EQ(team.preempt_min_runtime, absl::Hours(1));
  EXPECT_THAT(team.order, ElementsAre(QuotaOrderKey::kShare, QuotaOrderKey::kAge));
  EXPECT_EQ(team.queueing, QuotaQueueing::kStrictFifo);
}

TEST(ReadQuotas, KoordinatorsLabels) {
  const Read read = ReadText(R"(
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: dept
  namespace: kube-system
  labels: {quota.scheduling.koordinator.sh/is-parent: 'true', quota.scheduling.koordinator.sh/parent: root}
spec: {max: {cpu: 8}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: team
  namespace: ns
  labels:
    quota.scheduling.koordinator.sh/parent: dept
    quota.scheduling.koordinator.sh/allow-lent-resource: 'false'
    quota.scheduling.koordinator.sh/tree-id: t
  annotations:
    quota.scheduling.koordinator.sh/shared-weight: '{"cpu": "40", "memory": 2}'
    quota.scheduling.koordinator.sh/namespaces: '["x", "y"]'
spec: {min: {cpu: 4}, max: {cpu: 8}}
)");
  ASSERT_EQ(read.specs.size(), 2u);
  const QuotaSpec &dept = read.specs[0], &team = read.specs[1];
  EXPECT_EQ(dept.name, "kube-system/dept");
  EXPECT_EQ(dept.parent, "");
  EXPECT_THAT(dept.namespaces, IsEmpty());
  EXPECT_TRUE(dept.max_is_weight);
  EXPECT_EQ(team.parent, "kube-system/dept");
  EXPECT_THAT(team.namespaces, ElementsAre(Symbol::Intern("x"), Symbol::Intern("y")));
  EXPECT_FALSE(team.lends);
  EXPECT_EQ(team.weights.Find(*QuotaLine::Parse("cpu")), 40'000);
  EXPECT_EQ(team.weights.Find(*QuotaLine::Parse("memory")), 2'000);
  ASSERT_EQ(read.problems.size(), 1u) << read.problems.ToString();
  EXPECT_THAT(read.problems.ToString(), HasSubstr("tree-id: is not read"));
}

TEST(CheckQuotas, SaysWhatContradictsItselfAndWhere) {
  QuotaAmounts capacity;
  capacity.Set(*QuotaLine::Parse("cpu"), 6000);
  const Read read = ReadText(R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: a}
spec: {min: {cpu: 9}, max: {cpu: 8}, namespaces: [x]}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: b}
spec: {parent: a, min: {cpu: 10}, max: {cpu: 20}, namespaces: [x]}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: c}
spec: {parent: nowhere, fence: Sideways, min: {'gpu{': 1}, minRuntime: {reclaim: soon}}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: d}
spec: {parent: d}
)",
                             capacity);
  const std::string text = read.problems.ToString();
  for (const absl::string_view expected :
       {"q.yaml:2:1: error: ClusterQuota a: spec.min[cpu] is 9, more than spec.max, 8",
        "q.yaml:7:1: error: ClusterQuota b: selects the pods of namespace x as ClusterQuota a does",
        "q.yaml:2:1: warning: ClusterQuota a: the quotas below it are guaranteed 10 cpu, more than "
        "its "
        "spec.max, 8",
        "q.yaml:7:1: warning: ClusterQuota b: spec.max[cpu] is 20, more than its parent a may "
        "have, 8",
        "there is no quota \"nowhere\", its parent",
        "spec.fence: \"Sideways\" is none of None, Out", "spec.min[gpu{]: is no line",
        "spec.minRuntime.reclaim: \"soon\" is no length of time",
        "ClusterQuota d: is above itself, through its parent \"d\"",
        "ClusterQuota a: all quotas together are guaranteed 9 cpu; the nodes have 6"}) {
    EXPECT_THAT(text, HasSubstr(std::string(expected)));
  }
}

TEST(ReadQuotas, WhatIsNoLine) {
  for (const absl::string_view text :
       {".deviceclass.resource.k8s.io/devices", ".deviceclass.resource.k8s.io/devices{a=b}",
        "gpu{attribute:gpu.nvidia.com/architecture=Hopper}{model=}", "gpu{a=b}{c=d}", "gpu{a={b}",
        "gpu{}", "gpu{a}", "{a=b}", ""}) {
    EXPECT_FALSE(QuotaLine::Parse(text).has_value()) << text;
  }
  for (const absl::string_view text :
       {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices", "pods", "gpu{a=b=c}"}) {
    EXPECT_TRUE(QuotaLine::Parse(text).has_value()) << text;
  }
}

TEST(ReadQuotas, AmountsThatAreFinerThanTheyAreCounted) {
  const Read read = ReadText(R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: a}
spec:
  min: {pods: 1.5, cpu: 1.5, memory: 1.5Gi, gpu: 1.5}
  max: {nvidia.com/gpu: 2500m, cpu: 1500100u, gpu: 9223372036854775807}
)");
  EXPECT_EQ(read.problems.ToString(),
            "q.yaml:2:1: warning: ClusterQuota a: spec.min[pods]: 1.5 is finer than it is counted, "
            "and taken as 2; write that, or less\n"
            "q.yaml:2:1: warning: ClusterQuota a: spec.max[cpu]: 1500100u is finer than it is "
            "counted, and taken as 1501m; write that, or less\n"
            "q.yaml:2:1: warning: ClusterQuota a: spec.max[nvidia.com/gpu]: 2500m is finer than it "
            "is counted, and taken as 3; write that, or less\n");
}

TEST(CheckQuotasOf, SaysInWhichLineTheFieldIs) {
  const Manifests manifests = ParseManifest(R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: a}
spec:
  parent: nowhere
  fence: Sideways
  min:
    cpu: 9
    'gpu{': 1
  max:
    cpu: 8
    pods: 1.5
  order: [Share,
    Best]
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: e
  annotations:
    quota.scheduling.koordinator.sh/namespaces: '{'
spec:
  max: {cpu: 1}
  min: {cpu: 2}
)",
                                            "q.yaml");
  EXPECT_TRUE(manifests.problems.empty()) << manifests.problems.ToString();
  const std::string text = CheckQuotasOf(manifests).ToString();
  for (const absl::string_view expected :
       {"q.yaml:6:3: error: ClusterQuota a: there is no quota \"nowhere\"",
        "q.yaml:7:3: error: ClusterQuota a: spec.fence: ",
        "q.yaml:9:5: error: ClusterQuota a: spec.min[cpu] is 9, more than spec.max, 8",
        "q.yaml:10:5: error: ClusterQuota a: spec.min[gpu{]: is no line",
        "q.yaml:13:5: warning: ClusterQuota a: spec.max[pods]: 1.5 is finer",
        "q.yaml:14:3: error: ClusterQuota a: spec.order: \"Best\"",
        "q.yaml:22:5: error: ElasticQuota default/e: quota.scheduling.koordinator.sh/namespaces",
        "q.yaml:25:9: error: ElasticQuota default/e: spec.min[cpu] is 2, more than spec.max, 1"}) {
    EXPECT_THAT(text, HasSubstr(std::string(expected)));
  }
}

TEST(CheckQuotasOf, SaysThatALendingLimitLimitsNothing) {
  const auto told = [](absl::string_view limit) {
    const std::string text = absl::StrCat(
        "apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\nmetadata: {name: a}\n"
        "spec: {namespaces: [a], min: {cpu: 4}, lendingLimit: {cpu: ",
        limit, "}}\n");
    return CheckQuotasOf(ParseManifest(text, "q.yaml")).ToString();
  };
  EXPECT_EQ(told("4"), "");
  EXPECT_EQ(
      told("5"),
      "q.yaml:4:55: warning: ClusterQuota a: spec.lendingLimit[cpu] is 5, more than spec.min, "
      "4: it lends all of that\n");
}

TEST(CheckQuotasOf, SaysWhereSelectorsOverlap) {
  const auto quota = [](absl::string_view name, absl::string_view spec) {
    return absl::StrCat("---\n{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, ",
                        "metadata: {name: ", name, "}, spec: {", spec, "}}\n");
  };
  const std::string team = "namespaceSelector: {matchLabels: {team: x}}";
  const std::string gpus = "podSelector: {matchLabels: {on: gpu}}";
  const std::string space =
      "---\n{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: x, env: prod}}}\n";
  const auto check = [](const std::string& text) {
    return CheckQuotasOf(ParseManifest(text, "q.yaml")).ToString();
  };
  EXPECT_THAT(check(quota("a", gpus) + quota("b", gpus)),
              HasSubstr("error: ClusterQuota b: spec.podSelector selects the pods that "
                        "ClusterQuota a selects, which is older and has them"));
  EXPECT_THAT(check(quota("a", team) + quota("b", team) + space),
              HasSubstr("error: ClusterQuota b: spec.namespaceSelector selects the pods that"));
  EXPECT_THAT(check(quota("a", team) + quota("b", "namespaces: [a]") + space),
              HasSubstr("warning: ClusterQuota b: selects the pods of namespace a, as ClusterQuota "
                        "a does, which is older and has them"));
  EXPECT_THAT(
      check(quota("a", team) + quota("b", "namespaceSelector: {matchLabels: {env: prod}}") + space),
      HasSubstr("warning: ClusterQuota b: selects the pods of namespace a, as"));
  EXPECT_EQ(check(quota("a", absl::StrCat(team, ", ", gpus)) + quota("b", team) +
                  quota("c", "namespaces: [b]") + space +
                  "---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n"),
            "");
}

TEST(CheckQuotasOf, SaysWhoHasNoPods) {
  const auto quota = [](absl::string_view name, absl::string_view spec) {
    return absl::StrCat("---\n{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, ",
                        "metadata: {name: ", name, "}, spec: {", spec, "}}\n");
  };
  const std::string elastic =
      "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: e, "
      "namespace: k}}\n";
  const std::string spaces =
      "---\n{apiVersion: v1, kind: Namespace, metadata: {name: k, labels: {team: x}}}\n"
      "---\n{apiVersion: v1, kind: Namespace, metadata: {name: m}}\n";
  const std::string gpus = ", podSelector: {matchLabels: {on: gpu}}";
  const std::string team = "namespaceSelector: {matchLabels: {team: x}}";
  const auto check = [](const std::string& text) {
    return CheckQuotasOf(ParseManifest(text, "q.yaml")).ToString();
  };
  const absl::string_view hidden =
      "has only pods that name it: all that it selects are of ClusterQuota a";
  EXPECT_EQ(check(quota("a", "namespaces: [k, m]") + quota("b", "namespaces: [k]" + gpus)),
            absl::StrCat("q.yaml:4:1: warning: ClusterQuota b: ", hidden,
                         ", which is older; narrow that one\n"));
  EXPECT_THAT(check(quota("a", team) + quota("b", team + gpus)), HasSubstr(std::string(hidden)));
  EXPECT_THAT(check(elastic + quota("a", "namespaces: [k]")),
              HasSubstr(absl::StrCat("ElasticQuota k/e: ", hidden, "; narrow")));
  // One has pods of m, or comes first, or the other one has some of k's alone.
  EXPECT_EQ(check(quota("a", "namespaces: [k]") + quota("b", "namespaces: [k, m]" + gpus)), "");
  EXPECT_EQ(check(quota("a", "namespaces: [k]" + gpus) + quota("b", "namespaces: [k]")), "");
  EXPECT_EQ(check(elastic + quota("a", "namespaces: [k]" + gpus)), "");

  const std::string none = "namespaceSelector: {matchLabels: {team: y}}";
  EXPECT_EQ(check(quota("a", none)), "");  // namespaces are not among the files
  EXPECT_EQ(check(quota("a", team) + spaces), "");
  EXPECT_EQ(check(quota("a", none) + spaces),
            "q.yaml:2:93: warning: ClusterQuota a: spec.namespaceSelector: matches none of the 2 "
            "namespaces that are given\n");
}

TEST(CheckQuotasOf, SaysThatANamespaceIsNotThere) {
  const auto check = [](const std::string& more) {
    return CheckQuotasOf(
               ParseManifest("{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, "
                             "metadata: {name: a}, spec: {namespaces: [k, nosuch]}}\n" +
                                 more,
                             "q.yaml"))
        .ToString();
  };
  const std::string space = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: k}}\n";
  const std::string pod =
      "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: nosuch}, "
      "spec: {containers: [{name: c}]}}\n";
  EXPECT_EQ(check(""), "");  // namespaces are not among the files
  EXPECT_THAT(check(space), HasSubstr("warning: ClusterQuota a: spec.namespaces: there is no "
                                      "namespace \"nosuch\" among those that are given\n"));
  EXPECT_EQ(check(space + pod), "");
}

TEST(CheckQuotasOf, SaysThatAPodNamesNoQuota) {
  const std::string quotas =
      "{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, metadata: {name: a}}\n"
      "---\n{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: e, "
      "namespace: k}}\n";
  const auto pod = [](absl::string_view name, absl::string_view labels) {
    return absl::StrCat("---\n{apiVersion: v1, kind: Pod, metadata: {name: ", name, ", labels: {",
                        labels, "}}, spec: {containers: [{name: c}]}}\n");
  };
  const auto check = [&](const std::string& pods) {
    const Manifests manifests = ParseManifest(quotas + pods, "q.yaml");
    EXPECT_TRUE(manifests.problems.empty()) << manifests.problems.ToString();
    return CheckQuotasOf(manifests).ToString();
  };
  EXPECT_EQ(check(pod("p", "scheduling.berth.dev/quota: a") +
                  pod("q", "quota.scheduling.koordinator.sh/name: e") +
                  pod("r", "alibabacloud.com/quota-name: a")),
            "");
  EXPECT_EQ(
      check(pod("p", "scheduling.berth.dev/quota: e") + pod("q", "scheduling.berth.dev/quota: e")),
      "q.yaml:5:1: warning: Pod default/p: metadata.labels[\"scheduling.berth.dev/quota\"]: "
      "there is no quota \"e\", so the label does not count; of 2 pods\n");
}

TEST(CheckQuotasOf, SaysASelectorThatCannotBeReadOnce) {
  const Manifests manifests = ParseManifest(
      "{apiVersion: scheduling.berth.dev/v1alpha1, kind: ClusterQuota, metadata: {name: a}, spec: "
      "{podSelector: {matchExpressions: [{key: k, operator: Is}]}, history: {factor: '2'}}}\n",
      "q.yaml");
  EXPECT_EQ(manifests.problems.size(), 1u) << manifests.problems.ToString();
  EXPECT_EQ(CheckQuotasOf(manifests).ToString(),
            "q.yaml:1:152: error: ClusterQuota a: spec.history: lacks halfLife, such as 4h\n");
}

TEST(CheckQuotasOf, SaysThatAClassDoesNotExist) {
  const std::string quota = R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: a}
spec:
  min:
    gpu.deviceclass.resource.k8s.io/devices: 1
  max:
    'nosuch.deviceclass.resource.k8s.io/devices{attribute:d/size=2}': 2
    deviceclass.resource.kubernetes.io/nosuch: 2
)";
  const std::string device_class =
      "---\n{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}\n";
  EXPECT_EQ(CheckQuotasOf(ParseManifest(quota + device_class, "q.yaml")).ToString(),
            "q.yaml:10:5: warning: ClusterQuota a: "
            "spec.max[deviceclass.resource.kubernetes.io/nosuch]: there is no DeviceClass nosuch, "
            "so it counts nothing\n"
            "q.yaml:9:5: warning: ClusterQuota a: "
            "spec.max[nosuch.deviceclass.resource.k8s.io/devices{attribute:d/size=2}]: there is no "
            "DeviceClass nosuch, so it counts nothing\n");
  // Where there are no classes at all, they are not known.
  EXPECT_EQ(CheckQuotasOf(ParseManifest(quota, "q.yaml")).ToString(), "");
}

// All that is wrong, although some of it keeps the quota from being read.
TEST(CheckQuotasOf, SaysWhatElseIsWrongWithAQuotaThatCannotBeRead) {
  Manifests manifests = ParseManifest(R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: a}
spec:
  fence: Sideways
  weight: -1
  min:
    cpu: few
    memory: 1e400
  max:
    memory: lots
    'gpu{attribute:foo=bar}': 2
    pods: 1.5
  lendingLimit: {cpu: 1}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: b}
spec: {parent: a, namespaces: [b], fence: Up}
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: e}
spec:
  min: {cpu: -1, memory: 3}
  max: {cpu: 1e20, memory: 2, pods: 0.5}
)",
                                      "q.yaml");
  manifests.problems.Append(CheckQuotasOf(manifests));
  manifests.problems.SortByLocation();
  const std::vector<std::string> lines =
      absl::StrSplit(manifests.problems.ToString(), '\n', absl::SkipEmpty());
  EXPECT_THAT(
      lines,
      ElementsAre(
          StartsWith("q.yaml:6:3: error: ClusterQuota a: spec.fence: "),
          StartsWith("q.yaml:7:3: error: ClusterQuota a: spec.weight: is negative"),
          StartsWith("q.yaml:9:10: error: ClusterQuota a: spec.min.cpu: \"few\" is not a quantity"),
          StartsWith("q.yaml:10:5: warning: ClusterQuota a: spec.min[memory]: 1e400 is more than "
                     "can be counted, and taken as 9223372036854775807; write that, or less"),
          StartsWith("q.yaml:12:13: error: ClusterQuota a: spec.max.memory: \"lots\" is not"),
          StartsWith(
              "q.yaml:13:5: warning: ClusterQuota a: spec.max[gpu{attribute:foo=bar}]: names "
              "no driver"),
          StartsWith("q.yaml:14:5: warning: ClusterQuota a: spec.max[pods]: 1.5 is finer"),
          StartsWith("q.yaml:20:36: error: ClusterQuota b: spec.fence: \"Up\" is none of"),
          StartsWith("q.yaml:26:14: error: ElasticQuota default/e: spec.min.cpu: -1 is negative"),
          StartsWith(
              "q.yaml:26:18: error: ElasticQuota default/e: spec.min[memory] is 3, more than "
              "spec.max, 2"),
          StartsWith("q.yaml:27:9: warning: ElasticQuota default/e: spec.max[cpu]: 1e20 is more"),
          StartsWith(
              "q.yaml:27:31: warning: ElasticQuota default/e: spec.max[pods]: 0.5 is finer")));
}

TEST(CheckQuotas, SumsEndWhere64BitsDo) {
  const Read read = ReadText(R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: r}
spec: {max: {nvidia.com/gpu: 9223372036854775807}}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: a}
spec: {parent: r, namespaces: [a], min: {nvidia.com/gpu: 9223372036854775807}}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: b}
spec: {parent: r, namespaces: [b], min: {nvidia.com/gpu: 9223372036854775807}}
)",
                             QuotaAmounts());
  EXPECT_THAT(read.problems.ToString(),
              HasSubstr("the quotas below it are guaranteed 9223372036854775807 nvidia.com/gpu"));
}

}  // namespace
}  // namespace berth
