// SPDX-License-Identifier: Apache-2.0
// What other schedulers' queues become, and that it can be read. The examples are theirs; the
// scenarios tests/scenarios/import_*.yaml run what they become.
#include "import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/manifest.h"
#include "berth/quota/quota_spec.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct ReadBack {
  std::vector<QuotaSpec> specs;
  Problems problems;  // errors alone
};

// As `berth validate --cluster` reads it.
ReadBack Validate(const std::string& yaml) {
  ReadBack back;
  const Manifests manifests = ParseManifest(yaml, "written.yaml");
  EXPECT_TRUE(manifests.problems.empty()) << manifests.problems.ToString() << yaml;
  std::vector<const Object*> objects;
  for (const Object& object : manifests.objects) objects.push_back(&object);
  Problems problems;
  back.specs = ReadQuotas(objects, problems);
  CheckQuotas(back.specs, QuotaAmounts(), problems);
  for (const Problem& problem : problems) {
    if (problem.severity == Severity::kError) back.problems.Add(problem);
  }
  EXPECT_TRUE(back.problems.ok()) << back.problems.ToString() << yaml;
  return back;
}

ImportResult Import(std::string text) { return ImportQuotas({{{"q.yaml", std::move(text)}}}); }

const QuotaSpec& Find(const ReadBack& back, absl::string_view name) {
  for (const QuotaSpec& spec : back.specs) {
    if (spec.name == name) return spec;
  }
  ADD_FAILURE() << "there is no " << name;
  return back.specs.at(0);
}

std::string Of(const QuotaAmounts& amounts, absl::string_view line) {
  const auto parsed = QuotaLine::Parse(line);
  const auto found = amounts.Find(*parsed);
  return found.has_value() ? parsed->QuantityOf(*found).ToString() : "none";
}

// Each example and what it becomes. With BERTH_UPDATE_EXPECTED set it is written again.
TEST(Import, ExamplesBecomeWhatIsExpected) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/import/examples")) {
    const std::string path = entry.path();
    const std::string expected =
        absl::StrCat("tests/import/expected/", entry.path().filename().string());
    SCOPED_TRACE(path);
    const ImportResult result = ImportQuotas(
        {{{absl::StrCat("examples/", entry.path().filename().string()), ReadFile(path)}}});
    EXPECT_TRUE(result.problems.ok()) << result.problems.ToString();
    Validate(result.yaml);
    if (std::getenv("BERTH_UPDATE_EXPECTED") != nullptr) {
      std::ofstream(expected) << result.yaml;
    }
    EXPECT_EQ(result.yaml, ReadFile(expected));
    ++examples;
  }
  EXPECT_GE(examples, 25);
}

constexpr absl::string_view kQueue = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  cohortName: org
  namespaceSelector: {matchLabels: {team: a}}
  queueingStrategy: StrictFIFO
  stopPolicy: HoldAndDrain
  admissionChecksStrategy: {admissionChecks: [{name: check}]}
  fairSharing: {weight: '0.5'}
  flavorFungibility: {whenCanBorrow: TryNextFlavor}
  preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: LowerPriority,
               borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 100}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - {name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 4, borrowingLimit: 2, lendingLimit: 1}]}
    - {name: t4, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: b}
spec:
  cohortName: org
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu, cpu]
    flavors:
    - name: t4
      resources: [{name: nvidia.com/gpu, nominalQuota: 1}, {name: cpu, nominalQuota: 100}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: org}
spec:
  parentName: all
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 3}]}]
---
apiVersion: v1
kind: List
items:
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ResourceFlavor
  metadata: {name: h100}
  spec: {nodeLabels: {cloud: x, gpu: h100}, nodeTaints: [{key: gpu, effect: NoSchedule}]}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ResourceFlavor
  metadata: {name: t4}
  spec: {nodeLabels: {cloud: x, gpu: t4}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: q, namespace: n1}, spec: {clusterQueue: a}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: r, namespace: n1}, spec: {clusterQueue: b}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: r, namespace: n2}, spec: {clusterQueue: a}}
)";

TEST(ImportKueue, PoliciesFlavorsAndCohorts) {
  const ImportResult result = Import(std::string(kQueue));
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  const QuotaSpec& a = Find(back, "a");
  EXPECT_EQ(a.parent, "org");
  EXPECT_EQ(Of(a.min, "nvidia.com/gpu{gpu=h100}"), "4") << result.yaml;
  EXPECT_EQ(Of(a.borrowing_limit, "nvidia.com/gpu{gpu=h100}"), "2");
  EXPECT_EQ(Of(a.lending_limit, "nvidia.com/gpu{gpu=h100}"), "1");
  EXPECT_EQ(Of(a.borrowing_limit, "nvidia.com/gpu{gpu=t4}"), "none");
  EXPECT_EQ(Of(a.max, "pods"), "0");  // held
  EXPECT_EQ(Of(a.max, "cpu"), "0");   // not covered, but by b
  EXPECT_EQ(a.preemption, QuotaPreemption::kLowerOrNewerEqualPriority);
  EXPECT_EQ(a.reclaim, ReclaimStrategy::kGuarantee);
  EXPECT_EQ(a.victims, ReclaimVictims::kLowerPriority);
  EXPECT_EQ(a.queueing, QuotaQueueing::kStrictFifo);
  EXPECT_EQ(a.weight, 500);
  EXPECT_THAT(a.namespaces, IsEmpty());  // (n2, r) is a's and (n1, r) is b's: two quotas below it
  EXPECT_EQ(Find(back, "a-n1-q").parent, "a");
  EXPECT_THAT(Find(back, "a-n2-r").namespaces, ElementsAre(Symbol::Intern("n2")));

  const QuotaSpec& b = Find(back, "b");
  EXPECT_EQ(b.preemption, QuotaPreemption::kNever);
  EXPECT_EQ(b.reclaim, ReclaimStrategy::kNever);
  EXPECT_EQ(Of(b.max, "nvidia.com/gpu{gpu=h100}"), "0");  // a flavor that it has not
  EXPECT_EQ(b.weight, 1000);

  // The cohort's own three, and four of a.
  EXPECT_EQ(Of(Find(back, "org").min, "nvidia.com/gpu{gpu=h100}"), "7");
  EXPECT_EQ(Find(back, "org").parent, "all");
  // The root is closed.
  EXPECT_EQ(Of(Find(back, "all").borrowing_limit, "nvidia.com/gpu{gpu=t4}"), "0");
  EXPECT_EQ(Of(Find(back, "all").lending_limit, "cpu{gpu=t4}"), "0");
  for (const absl::string_view said :
       {"borrowWithinCohort", "flavorFungibility", "admissionChecksStrategy", "not drained",
        "has taints", "namespaceSelector"}) {
    EXPECT_THAT(result.yaml, HasSubstr(said));
  }
}

TEST(ImportKueue, FlavorsWithoutLabelsAreOneLine) {
  const ImportResult result = Import(R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: a}
spec:
  resourceGroups:
  - flavors:
    - {name: spot, resources: [{name: cpu, nominalQuota: 9}]}
    - {name: on-demand, resources: [{name: cpu, nominalQuota: 18}]}
)");
  const ReadBack back = Validate(result.yaml);
  EXPECT_EQ(Of(Find(back, "a").min, "cpu"), "27");
  EXPECT_THAT(result.yaml, HasSubstr("ResourceFlavor spot is not in the files"));
  EXPECT_THAT(result.yaml, HasSubstr("no LocalQueue names it"));
}

// What is misspelt, or of another type, is not taken for something that is not there.
TEST(ImportKueue, WhatCannotBeReadIsAnError) {
  const ImportResult result = Import(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  fairSharing: 3
  preemption:
    withinClusterQueue: Any
    reclaimWithinCohort: LowerOrNewerEqualPriority
    borrowWithinCohort: {policy: Any}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: f
      resources: [{name: cpu}, {name: pods, nominalQuota: 3}]
)");
  for (const absl::string_view said :
       {"q.yaml:6:16: error: Kueue ClusterQueue a: spec.fairSharing: is a number, not a map",
        "8:25: error: Kueue ClusterQueue a: spec.preemption.withinClusterQueue: \"Any\" is none of "
        "Never, LowerPriority, LowerOrNewerEqualPriority",
        "9:26: error: Kueue ClusterQueue a: spec.preemption.reclaimWithinCohort: "
        "\"LowerOrNewerEqualPriority\" is none of Never, LowerPriority, Any",
        "borrowWithinCohort.policy: \"Any\" is none of Never, LowerPriority",
        "15:19: error: Kueue ClusterQueue a: cpu: nominalQuota is required",
        "resource \"pods\" is not among coveredResources",
        "flavor \"f\" has no \"memory\", which is among coveredResources"}) {
    EXPECT_THAT(result.problems.ToString(), HasSubstr(said));
  }
  EXPECT_EQ(result.problems.errors(), 7) << result.problems.ToString();
}

TEST(ImportKueue, NothingOfAFlavorIsLeftOutUnsaid) {
  const ImportResult result = Import(R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  flavorFungibility: {preference: BorrowingOverPreemption}
  resourceGroups:
  - coveredResources: [cpu]
    groups: 1
    flavors:
    - name: f
      reserved: true
      resources: [{name: cpu, nominalQuota: 3, borowingLimit: 1, lendingLimit: 2}]
    - {name: g, resources: [{name: cpu, nominalQuota: 4}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}, spec: {nodeLabels: {gpu: a, zone: x}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: g}, spec: {nodeLabels: {gpu: a, zone: x}}}
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  EXPECT_EQ(Of(Find(Validate(result.yaml), "a").min, "cpu{gpu=a}"), "7");
  for (const absl::string_view said :
       {"spec.resourceGroups[0].groups: 1 has no equal",
        "flavor f of its resourceGroups: reserved: true has no equal",
        "cpu{gpu=a}: borowingLimit: 1 has no equal",
        "cpu{gpu=a}: the sum of 2 flavors, which this label does not tell apart",
        "cpu{gpu=a}: 6 there, but outside of a root there is nobody", "BorrowingOverPreemption"}) {
    EXPECT_THAT(result.yaml, HasSubstr(said));
  }
}

// An empty weight is 0 there, an empty priority 100.
TEST(ImportKai, DefaultsAreKais) {
  const ImportResult result = Import(R"(
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: low}
spec: {priority: 50, resources: {gpu: {quota: 1, limit: -1, overQuotaWeight: 1}}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: usual}
spec: {resources: {gpu: {quota: 1, limit: -1}}}
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  EXPECT_EQ(Find(back, "low").priority, 50);
  EXPECT_EQ(Find(back, "usual").priority, 100);
  EXPECT_EQ(Of(Find(back, "low").weights, "gpu"), "1");
  EXPECT_EQ(Of(Find(back, "usual").weights, "gpu"), "0");
}

// What a quota does not name is not taken back from it; there it is.
TEST(Import, WhoIsGuaranteedNothingGivesBack) {
  const std::pair<const char*, const char*> cases[] = {
      {"{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: a}, spec: "
       "{deserved: {cpu: 4}}}\n---\n"
       "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: b}, spec: {}}\n",
       "b"},
      {"{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: a}, spec: {resources: "
       "{cpu: {quota: 4000, limit: -1}, gpu: {quota: 0, limit: -1}}}}\n---\n"
       "{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: b}, spec: {resources: "
       "{memory: {quota: 1, limit: -1}}}}\n",
       "b"},
      {"partitions: [{name: default, queues: [{name: root, queues: [{name: a, resources: "
       "{guaranteed: {vcore: 4}}}, {name: b}]}]}]\n",
       "root.b"}};
  for (const auto& [text, name] : cases) {
    const ImportResult result = Import(text);
    ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
    const ReadBack back = Validate(result.yaml);
    EXPECT_EQ(Of(Find(back, name).min, "cpu"), "0") << result.yaml;
    EXPECT_EQ(Of(Find(back, name).min, "gpu"), "none") << result.yaml;  // nobody is guaranteed any
    EXPECT_THAT(result.yaml, HasSubstr("# 0: others are guaranteed it"));
  }
  // A parent names it already, and a parent has no pods.
  const ReadBack back = Validate(Import(R"(
partitions:
- queues:
  - name: root
    queues:
    - {name: p, resources: {guaranteed: {vcore: 2}}, queues: [{name: c}]}
    - {name: q, queues: [{name: d}]}
)")
                                     .yaml);
  EXPECT_EQ(Of(Find(back, "root.p.c").min, "cpu"), "none");
  EXPECT_EQ(Of(Find(back, "root.q").min, "cpu"), "none");
  EXPECT_EQ(Of(Find(back, "root.q.d").min, "cpu"), "0");
}

TEST(Import, OtherTypesAreErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: a}, spec: {resources: 3}}",
       "KAI Queue a: spec.resources: is a number, not a map"},
      {"{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: a}, spec: {resources: "
       "{gpu: 3}}}",
       "KAI Queue a: spec.resources.gpu: is a number, not a map"},
      {"{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: a}, spec: "
       "{guarantee: 3}}",
       "Volcano Queue a: spec.guarantee: is a number, not a map"},
      {"{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: a}, spec: "
       "{parent: {name: b}}}",
       "Volcano Queue a: spec.parent: is a map, not a text"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: a, namespace: "
       "[b]}}",
       "metadata.namespace: is no name of an object"},
      {"partitions: [{name: default, queues: [{name: root, queues: [{name: a, properties: "
       "[x]}]}]}]",
       "YuniKorn queue root.a: properties: is a list, not a map"},
      {"partitions: [{name: default, preemption: {enabled: 'no way'}, queues: [{name: a}]}]",
       "YuniKorn partition default: preemption.enabled: \"no way\" is neither true nor false"}};
  for (const auto& [text, said] : cases) {
    EXPECT_THAT(Import(text).problems.ToString(), HasSubstr(said)) << text;
  }
}

TEST(ImportKai, UnitsLimitsAndMinimumRunTimes) {
  const ImportResult result = Import(R"(
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: top}
spec: {resources: {gpu: {quota: -1, limit: 8}}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: leaf}
spec:
  parentQueue: top
  priority: 7
  reclaimMinRuntime: 1h
  resources:
    cpu: {quota: 1500, limit: -1, overQuotaWeight: 2}
    memory: {quota: 4096, limit: 8192, overQuotaWeight: 2}
    gpu: {quota: 0.5, overQuotaWeight: 2}
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  const QuotaSpec& leaf = Find(back, "leaf");
  EXPECT_EQ(Of(leaf.min, "cpu"), "1500m");
  EXPECT_EQ(Of(leaf.max, "cpu"), "none");
  EXPECT_EQ(Of(leaf.min, "memory"), "4000000Ki");
  EXPECT_EQ(Of(leaf.max, "gpu"), "500m");  // nothing beyond its quota
  EXPECT_EQ(leaf.weight, 2);
  EXPECT_EQ(leaf.priority, 7);
  EXPECT_EQ(leaf.reclaim, ReclaimStrategy::kFairShare);
  EXPECT_EQ(leaf.reclaim_min_runtime, absl::Hours(1));
  EXPECT_TRUE(leaf.pod_selector.has_value());
  EXPECT_FALSE(Find(back, "top").pod_selector.has_value());
  EXPECT_EQ(Of(Find(back, "top").min, "gpu"), "8");  // unlimited, up to its limit
}

TEST(ImportVolcano, CapacityAndProportion) {
  const ImportResult capacity = Import(R"(
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: root}, spec: {capability: {cpu: 10}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
spec: {parent: root, deserved: {cpu: 4}, guarantee: {resource: {cpu: 1, memory: 1Gi}}, capability: {cpu: 8},
       weight: 3, reclaimable: false, priority: 2, dequeueStrategy: fifo}
)");
  const ReadBack back = Validate(capacity.yaml);
  const QuotaSpec& q = Find(back, "q");
  EXPECT_EQ(q.parent, "");
  EXPECT_EQ(Of(q.min, "cpu"), "4");
  EXPECT_EQ(Of(q.lending_limit, "cpu"), "3");
  EXPECT_EQ(Of(q.lending_limit, "memory"), "0");
  EXPECT_EQ(Of(q.max, "cpu"), "8");
  EXPECT_EQ(q.weight, 1);
  EXPECT_EQ(q.fence, QuotaFence::kIn);
  EXPECT_EQ(q.reclaim, ReclaimStrategy::kGuarantee);
  EXPECT_THAT(capacity.yaml, HasSubstr("weight 3 does not count"));
  EXPECT_THAT(capacity.yaml, HasSubstr("dequeueStrategy"));
  EXPECT_THAT(capacity.yaml, HasSubstr("Queue root, which is the cluster: spec.capability"));

  const ImportResult proportion = Import(R"(
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q}, spec: {weight: 3}}
)");
  const ReadBack shares = Validate(proportion.yaml);
  EXPECT_EQ(Find(shares, "q").weight, 3);
  EXPECT_EQ(Find(shares, "q").reclaim, ReclaimStrategy::kFairShare);
}

TEST(ImportYuniKorn, NamesPropertiesAndRules) {
  const ImportResult result = Import(R"(
partitions:
- name: default
  preemption: {enabled: false}
  placementrules:
  - {name: tag, value: namespace, parent: {name: fixed, value: tenants}}
  - {name: user}
  queues:
  - name: tenants
    childtemplate: {maxapplications: 10}
    queues:
    - name: dev
      resources: {guaranteed: {vcore: 2, memory: 1G}, max: {vcore: 500m}}
  - name: Big_Team
    submitacl: 'sue admins'
    maxapplications: 3
    limits: [{limit: one, users: [sue], maxapplications: 1}]
    properties: {preemption.policy: disabled, application.sort.policy: fair, preemption.delay: 10s}
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  const QuotaSpec& dev = Find(back, "root.tenants.dev");
  EXPECT_EQ(dev.parent, "root.tenants");
  EXPECT_THAT(dev.namespaces, ElementsAre(Symbol::Intern("dev")));
  EXPECT_EQ(Of(dev.min, "cpu"), "500m");  // no more than its max
  EXPECT_EQ(Of(dev.min, "memory"), "1000000000");
  EXPECT_EQ(dev.reclaim, ReclaimStrategy::kNever);
  EXPECT_EQ(Find(back, "root.big-team").fence, QuotaFence::kIn);
  for (const absl::string_view said :
       {"is called root.Big_Team there", "childtemplate", "submitacl", "maxapplications", "limits",
        "application.sort.policy", "preemption.delay: \"10s\"",
        "{\"name\":\"user\"} is left out"}) {
    EXPECT_THAT(result.yaml, HasSubstr(said));
  }
}

TEST(ImportVolcano, ClosedQueuesAndGuaranteesAboveWhatIsDeserved) {
  const ImportResult result = Import(R"(
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q1}
spec: {deserved: {cpu: 4}, guarantee: {resource: {cpu: 6}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q2}
status: {state: Closed}
spec: {deserved: {cpu: 1}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q3}
status: {state: Open}
spec: {deserved: {cpu: 1}}
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  EXPECT_EQ(Of(Find(Validate(result.yaml), "q1").min, "cpu"), "6");
  EXPECT_THAT(result.yaml, HasSubstr("of cpu guarantee is more than deserved"));
  EXPECT_THAT(result.yaml, HasSubstr("status.state Closed: it takes no new work there"));
  EXPECT_THAT(result.yaml, ::testing::Not(HasSubstr("status.state Open")));
}

TEST(ImportYuniKorn, APolicyThatDisablesPreemptionIsHandedDown) {
  const ImportResult result = Import(R"(
partitions:
- name: default
  queues:
  - name: root
    queues:
    - name: p
      parent: true
      properties: {preemption.policy: disabled}
      queues:
      - {name: a, resources: {guaranteed: {vcore: 2}}}
      - {name: b, properties: {preemption.policy: fence}}
      - {name: c, properties: {preemption.policy: default}}
    - name: f
      parent: true
      properties: {preemption.policy: fence}
      queues: [{name: d}]
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  const std::pair<const char*, QuotaFence> fences[] = {
      {"root.p", QuotaFence::kIn},    {"root.p.a", QuotaFence::kIn},
      {"root.p.b", QuotaFence::kOut}, {"root.p.c", QuotaFence::kNone},
      {"root.f", QuotaFence::kOut},   {"root.f.d", QuotaFence::kNone}};
  for (const auto& [name, fence] : fences) EXPECT_EQ(Find(back, name).fence, fence) << name;
  EXPECT_THAT(result.yaml, HasSubstr("preemption.policy disabled above: its pods are nobody's"));
}

TEST(ImportKoordinator, OneNamespaceForAllQuotas) {
  const ImportResult result = Import(R"(
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: a, namespace: kube-system, labels: {quota.scheduling.koordinator.sh/parent: nobody}}
spec: {min: {cpu: 1}}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: b, namespace: kube-system, labels: {quota.scheduling.koordinator.sh/parent: root}}
spec: {min: {cpu: 2}, max: {cpu: 1}}
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  EXPECT_THAT(Find(back, "kube-system/a").namespaces, ElementsAre(Symbol::Intern("kube-system")));
  EXPECT_THAT(Find(back, "kube-system/b").namespaces, IsEmpty());
  EXPECT_THAT(result.yaml, HasSubstr("its parent nobody is not in the files"));
  EXPECT_EQ(Of(Find(back, "kube-system/b").min, "cpu"), "1");
}

// Its documentation, "WebHook Verify" 1: the server refuses the child.
TEST(ImportKoordinator, ChildrenAboveTheirParentAreToldOf) {
  const ImportResult result = Import(R"(
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: quota-parent-example
  namespace: default
  labels:
    quota.scheduling.koordinator.sh/is-parent: true
spec:
  max:
    cpu: 40
    memory: 40Gi
  min:
    cpu: 10
    memory: 20Mi
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: quota-example
  namespace: default
  labels:
    quota.scheduling.koordinator.sh/is-parent: false
    quota.scheduling.koordinator.sh/parent: "quota-parent-example"
spec:
  max:
    cpu: 40
    memory: 40Gi
  min:
    cpu: 20
    memory: 20Mi
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  Problems problems;
  CheckQuotas(back.specs, QuotaAmounts(), problems);
  EXPECT_THAT(problems.ToString(),
              HasSubstr("warning: ElasticQuota default/quota-parent-example: the quotas below it "
                        "are guaranteed 20 cpu, more than its spec.min, 10"));
}

TEST(ImportKoordinator, NamesInAListAreQuoted) {
  const ImportResult result = Import(R"(
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: ElasticQuota
metadata:
  name: a
  annotations: {quota.scheduling.koordinator.sh/namespaces: '["x \\ \"", "y"]'}
)");
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  EXPECT_THAT(Find(Validate(result.yaml), "default/a").namespaces,
              ElementsAre(Symbol::Intern("x \\ \""), Symbol::Intern("y")));
}

TEST(Import, AMixtureOfFiles) {
  const ImportResult result =
      ImportQuotas({{{"kai.yaml", ReadFile("tests/import/examples/kai_default.yaml")},
                     {"volcano.yaml",
                      "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: "
                      "default-queue}, spec: {}}"}}});
  ASSERT_TRUE(result.problems.ok()) << result.problems.ToString();
  const ReadBack back = Validate(result.yaml);
  EXPECT_EQ(Find(back, "default-queue").parent, "default-parent-queue");
  EXPECT_EQ(Find(back, "default-queue-2").parent, "");
  EXPECT_EQ(result.quotas, 3);
}

std::string ErrorOf(std::string text) {
  const ImportResult result = Import(std::move(text));
  EXPECT_FALSE(result.problems.ok());
  EXPECT_THAT(result.yaml, IsEmpty());
  return result.problems.ToString();
}

TEST(Import, WhatIsWrongHasItsPlace) {
  EXPECT_THAT(
      ErrorOf("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"),
      HasSubstr(
          "q.yaml:1: error: has no queues of Kueue, KAI, Volcano or YuniKorn and no quotas of "
          "Koordinator; it has 1 v1 Pod. Give what"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("q.yaml:1: error: has no queues"));
  EXPECT_THAT(ErrorOf("apiVersion: scheduling.run.ai/v1\nkind: Queue\nmetadata: {name: q}\n"),
              HasSubstr("scheduling.run.ai/v1 is not read, but v2"));
  EXPECT_THAT(ErrorOf("apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: q}\n"
                      "spec:\n  resources:\n    gpu: {quota: many}\n"),
              HasSubstr("q.yaml:6:18: error: KAI Queue q: spec.resources.gpu.quota: \"many\""));
  EXPECT_THAT(
      ErrorOf("partitions:\n- queues: {name: a}\n"),
      HasSubstr("q.yaml:2:11: error: YuniKorn partition default: queues: is a map, not a list"));
  EXPECT_THAT(
      ErrorOf("apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: f}\n"),
      HasSubstr("q.yaml:1: error: has no queue that could become a quota"));
  EXPECT_THAT(ErrorOf("partitions:\n- queues:\n  - {name: a}\n  - {name: a}\n"),
              HasSubstr("q.yaml:4:5: error: YuniKorn queue root.a: is there twice"));
  // Without a namespace it is in "default"; of a kind that has none, a namespace says nothing.
  const std::string quota = "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: ElasticQuota\n";
  EXPECT_THAT(
      ErrorOf(quota + "metadata: {name: a, namespace: default}\n---\n" + quota +
              "metadata: {name: a}\n"),
      HasSubstr("q.yaml:5:1: error: Koordinator ElasticQuota default/a: is there twice, also "
                "at q.yaml:1:1"));
  const std::string queue = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n";
  EXPECT_THAT(ErrorOf(queue + "metadata: {name: a, namespace: x}\n---\n" + queue +
                      "metadata: {name: a, namespace: y}\n"),
              HasSubstr("q.yaml:5:1: error: Volcano Queue a: is there twice, also at q.yaml:1:1"));
  EXPECT_THAT(
      ErrorOf("apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\n"
              "spec: {deserved: {'cpu}': 1, memory: -1}}\n"),
      HasSubstr("\"cpu}\" is no name of a resource"));
  EXPECT_THAT(
      ErrorOf(quota + "metadata:\n  name: a\n  annotations:\n"
                      "    quota.scheduling.koordinator.sh/shared-weight: '{\"cpu\": null}'\n"),
      HasSubstr("q.yaml:1:1: error: Koordinator ElasticQuota default/a: "
                "quota.scheduling.koordinator.sh/shared-weight[cpu]: has no value"));
  // A word that is none of its field's is not taken for the default.
  EXPECT_THAT(ErrorOf(queue + "metadata: {name: a}\nspec: {reclaimable: maybe}\n"),
              HasSubstr("q.yaml:4:21: error: Volcano Queue a: spec.reclaimable: \"maybe\" is "
                        "neither true nor false"));
  const std::string cluster_queue =
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: a}\n";
  EXPECT_THAT(ErrorOf(cluster_queue + "spec: {queueingStrategy: strictfifo}\n"),
              HasSubstr("q.yaml:4:26: error: Kueue ClusterQueue a: spec.queueingStrategy: "
                        "\"strictfifo\" is none of StrictFIFO, BestEffortFIFO"));
  EXPECT_THAT(ErrorOf(cluster_queue + "spec: {stopPolicy: hold}\n"),
              HasSubstr("spec.stopPolicy: \"hold\" is none of None, Hold, HoldAndDrain"));
  EXPECT_THAT(ErrorOf("partitions:\n- queues:\n  - {name: a, resources: 5}\n"),
              HasSubstr("q.yaml:3:26: error: YuniKorn queue root.a: resources: is a number, not a "
                        "map"));
}

// As Kueue's webhook refuses them: the sum of both is nobody's intention.
TEST(ImportKueue, WhatIsTwiceInAQueueIsRefused) {
  const auto error_of_groups = [](const std::string& groups) {
    return ErrorOf(
        absl::StrCat("apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: a}\n"
                     "spec:\n  resourceGroups:\n",
                     groups));
  };
  const std::string flavor = "    - {name: t4, resources: [{name: cpu, nominalQuota: 1}]}\n";
  EXPECT_EQ(error_of_groups("  - flavors:\n" + flavor + flavor),
            "q.yaml:8:14: error: Kueue ClusterQueue a: spec.resourceGroups: flavor \"t4\" is there "
            "twice, also at q.yaml:7:14\n");
  EXPECT_EQ(error_of_groups("  - flavors:\n" + flavor +
                            "  - flavors:\n    - {name: t4, resources: [{name: memory, "
                            "nominalQuota: 1}]}\n"),
            "q.yaml:9:14: error: Kueue ClusterQueue a: spec.resourceGroups: flavor \"t4\" is there "
            "twice, also at q.yaml:7:14\n");
  EXPECT_EQ(error_of_groups("  - flavors:\n    - name: t4\n      resources:\n"
                            "      - {name: cpu, nominalQuota: 1}\n"
                            "      - {name: cpu, nominalQuota: 2}\n"),
            "q.yaml:10:16: error: Kueue ClusterQueue a: spec.resourceGroups: resource \"cpu\" is "
            "there twice, also at q.yaml:9:16\n");
  EXPECT_EQ(error_of_groups("  - flavors:\n" + flavor +
                            "  - flavors:\n    - {name: l4, resources: [{name: cpu, nominalQuota: "
                            "1}]}\n"),
            "q.yaml:9:37: error: Kueue ClusterQueue a: spec.resourceGroups: resource \"cpu\" is in "
            "two groups\n");
}

TEST(ImportKueue, AResourceIsCoveredOnce) {
  EXPECT_EQ(ErrorOf("apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: a}\n"
                    "spec:\n  resourceGroups:\n"
                    "  - coveredResources: [cpu, memory, cpu]\n"
                    "    flavors: [{name: t4, resources: [{name: cpu, nominalQuota: 1}]}]\n"
                    "  - coveredResources: [memory]\n"
                    "    flavors: [{name: l4, resources: [{name: memory, nominalQuota: 1}]}]\n"),
            "q.yaml:6:37: error: Kueue ClusterQueue a: spec.resourceGroups: covered resource "
            "\"cpu\" is there twice, also at q.yaml:6:24\n"
            "q.yaml:7:15: error: Kueue ClusterQueue a: spec.resourceGroups: flavor \"t4\" has no "
            "\"memory\", which is among coveredResources\n"
            "q.yaml:8:24: error: Kueue ClusterQueue a: spec.resourceGroups: covered resource "
            "\"memory\" is there twice, also at q.yaml:6:29\n");
}

// Which of both is meant nobody knows.
TEST(Import, AKeyThatIsThereTwiceIsRefused) {
  EXPECT_EQ(
      ErrorOf("{\"apiVersion\": \"scheduling.volcano.sh/v1beta1\", \"kind\": \"Queue\",\n"
              " \"metadata\": {\"name\": \"a\"},\n"
              " \"spec\": {\"weight\": 1,\n  \"weight\": 2}}\n"),
      "q.yaml:4:3: error: Volcano Queue a: weight: appears a second time; first in line 3. Leave "
      "one of them\n");
  EXPECT_THAT(ErrorOf("{\"partitions\": [{\"queues\": [{\"name\": \"a\",\n\"name\": \"b\"}]}]}\n"),
              HasSubstr("q.yaml:2:1: error: YuniKorn partitions: name: appears a second time"));
}

TEST(Import, WhatIsNoObjectIsSaidWithItsPlace) {
  EXPECT_EQ(ErrorOf("[\"x\", \"x\", 5]\n"),
            "q.yaml:1:1: error: expected an object, found a list\n");
  EXPECT_EQ(ErrorOf("- x\n- 5\n"), "q.yaml:1:1: error: expected an object, found a list\n");
  EXPECT_EQ(ErrorOf("5\n"), "q.yaml:1:1: error: expected an object, found a number\n");
  EXPECT_EQ(ErrorOf("apiVersion: v1\nkind: List\nitems:\n- x\n"),
            "q.yaml:4:3: error: expected an object, found a string\n");
}

TEST(Import, CyclesAreCut) {
  const ImportResult result = Import(R"(
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: a}, spec: {parent: b}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: b}, spec: {parent: a}}
---
{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: c}, spec: {parent: c}}
)");
  EXPECT_EQ(result.problems.size(), 2);
  Validate(result.yaml);
  EXPECT_THAT(result.yaml, HasSubstr("is above itself"));
}

TEST(Import, TextOfTheInputStaysInComments) {
  const ImportResult result = Import(
      "partitions:\n- queues:\n  - name: a\n    submitacl: \"x\\n---\\nkind: ClusterQuota\"\n");
  ASSERT_TRUE(result.problems.ok());
  EXPECT_EQ(Validate(result.yaml).specs.size(), 1);
  EXPECT_THAT(result.yaml, Not(HasSubstr("\n---")));
}

}  // namespace
}  // namespace berth
