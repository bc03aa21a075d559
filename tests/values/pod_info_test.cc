// SPDX-License-Identifier: Apache-2.0
// PodInfo: what is read of a pod besides its requests.
#include "berth/framework/pod_info.h"

#include <memory>
#include <string>

#include "berth/api/core_v1.pb.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakePod;
using ::berth::testing::PodBuilder;
using ::berth::testing::PodFromYaml;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Symbol S(absl::string_view text) { return Symbol::Intern(text); }

TEST(PodInfo, OfAManifest) {
  const auto pod = PodFromYaml(R"(
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  uid: u1
  labels: {app: web}
  creationTimestamp: "2026-01-02T03:04:05Z"
spec:
  priority: 7
  preemptionPolicy: Never
  schedulerName: mine
  schedulingGates: [{name: later}]
  tolerations: [{key: k, operator: Exists}]
  containers:
  - {name: a, image: nginx}
  - {name: b, image: "registry:5000/x/y"}
  initContainers:
  - {name: c, image: "y@sha256:abc"}
  - {name: d, image: "y:1"}
status:
  nominatedNodeName: n1
  startTime: "2026-01-02T03:04:06Z"
)");
  EXPECT_EQ(pod->name(), "web");
  EXPECT_EQ(pod->namespace_name(), S("shop"));
  EXPECT_EQ(pod->key(), "shop/web");
  EXPECT_EQ(pod->uid(), "u1");
  EXPECT_EQ(pod->labels(), LabelSet({{"app", "web"}}));
  EXPECT_EQ(absl::ToUnixSeconds(pod->creation_time()), 1767323045);
  EXPECT_EQ(absl::ToUnixSeconds(*pod->start_time()), 1767323046);
  EXPECT_FALSE(pod->deletion_time().has_value());
  EXPECT_EQ(pod->priority(), 7);
  EXPECT_EQ(pod->preemption_policy(), PreemptionPolicy::kNever);
  EXPECT_EQ(pod->scheduler_name(), S("mine"));
  EXPECT_THAT(pod->scheduling_gates(), ElementsAre("later"));
  EXPECT_THAT(pod->tolerations(), SizeIs(1));
  EXPECT_EQ(pod->node_name(), "");
  EXPECT_EQ(pod->nominated_node_name(), "n1");
  EXPECT_FALSE(pod->terminal());
  EXPECT_EQ(pod->container_count(), 4);
  EXPECT_THAT(pod->images(), ElementsAre(S("nginx:latest"), S("registry:5000/x/y:latest"),
                                         S("y@sha256:abc"), S("y:1")));
  EXPECT_EQ(pod->object().metadata().name(), "web");
}

TEST(PodInfo, OfAnAlmostEmptyPod) {
  const auto pod = PodFromYaml("{apiVersion: v1, kind: Pod, metadata: {name: p}}");
  EXPECT_EQ(pod->key(), "default/p");
  EXPECT_EQ(pod->uid(), "Pod/default/p");
  EXPECT_EQ(pod->scheduler_name(), S("default-scheduler"));
  EXPECT_EQ(pod->priority(), 0);
  EXPECT_EQ(pod->preemption_policy(), PreemptionPolicy::kPreemptLowerPriority);
  EXPECT_EQ(pod->creation_time(), absl::InfinitePast());
  EXPECT_EQ(pod->container_count(), 0);
  EXPECT_TRUE(pod->required_node_affinity().empty());
  EXPECT_EQ(pod->requests(), ResourceVector());
}

TEST(PodInfo, Annotations) {
  const auto none = MakePod().Name("p").Label("key", "label").Obj();
  EXPECT_EQ(none->annotation("key"), std::nullopt);
  const auto pod = MakePod().Name("p").Annotation("key", "value").Annotation("empty", "").Obj();
  EXPECT_EQ(pod->annotation("key"), "value");
  EXPECT_EQ(pod->annotation("empty"), "");
  EXPECT_EQ(pod->annotation("other"), std::nullopt);
  const auto bound =
      PodInfo::Create(pod->packed()->Bound(Symbol::Intern("n"), absl::UnixEpoch()), pod.get());
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ((*bound)->annotation("key"), "value");
}

TEST(PodInfo, NeedsAName) {
  const auto pod = PodInfo::Create(std::make_shared<const api::Pod>());
  EXPECT_EQ(pod.status().message(), "metadata.name: Required value");
}

TEST(PodInfo, TerminalPhases) {
  EXPECT_TRUE(MakePod().Phase("Succeeded").Obj()->terminal());
  EXPECT_TRUE(MakePod().Phase("Failed").Obj()->terminal());
  EXPECT_FALSE(MakePod().Phase("Running").Obj()->terminal());
  EXPECT_TRUE(MakePod().Deleted().Obj()->deletion_time().has_value());
}

// --- Ports ---

HostPort Port(absl::string_view ip, absl::string_view protocol, int32_t port) {
  return {S(ip), S(protocol), port};
}

// The short way and the long one lead to the same.
TEST(PodInfo, OfAPodThatWasBound) {
  api::Pod pod;
  pod.mutable_metadata()->set_name("p");
  pod.mutable_metadata()->set_namespace_("ns");
  pod.mutable_metadata()->set_uid("u");
  pod.mutable_metadata()->mutable_creation_timestamp()->set_seconds(5);
  (*pod.mutable_metadata()->mutable_labels())["app"] = "web";
  pod.mutable_spec()->set_priority(7);
  pod.mutable_status()->set_nominated_node_name("n0");
  const auto packed = PackedPod::Pack(pod);
  const auto bound = packed->Bound(Symbol::Intern("n1"), absl::FromUnixSeconds(9));
  const auto before = PodInfo::Create(packed).value();
  for (const auto& info : {PodInfo::Create(bound, before.get()).value(),
                           PodInfo::Create(PackedPod::Pack(*bound->Unpack())).value()}) {
    EXPECT_EQ(info->node_name(), "n1");
    EXPECT_EQ(info->nominated_node_name(), "");
    EXPECT_EQ(info->start_time(), absl::FromUnixSeconds(9));
    EXPECT_EQ(info->key(), "ns/p");
    EXPECT_EQ(info->uid(), "u");
    EXPECT_EQ(info->creation_time(), absl::FromUnixSeconds(5));
    EXPECT_EQ(info->priority(), 7);
    EXPECT_EQ(info->object().spec().node_name(), "n1");
    EXPECT_TRUE(info->SharesSpec(*before));
    EXPECT_FALSE(info->terminal());
  }
}

TEST(PodInfo, EvictedIsAsParsed) {
  const auto before = MakePod().Name("p").NodeName("n1").Priority(7).Annotation("a", "b").Obj();
  const auto evicted = before->packed()->Evicted(absl::FromUnixSeconds(9), "for q");
  for (const auto& info : {PodInfo::Create(evicted, before.get()).value(),
                           PodInfo::Create(PackedPod::Pack(*evicted->Unpack())).value()}) {
    EXPECT_EQ(info->deletion_time(), absl::FromUnixSeconds(9));
    EXPECT_EQ(info->node_name(), "n1");
    EXPECT_EQ(info->key(), before->key());
    EXPECT_EQ(info->annotation("a"), "b");
    EXPECT_EQ(info->object().status().conditions(0).message(), "for q");
    EXPECT_TRUE(info->SharesSpec(*before));
    EXPECT_FALSE(info->terminal());
  }
}

// Pods of many namespaces come in turn, and kubelets say of each what its containers got.
TEST(PodInfo, EqualPodsShareWhatIsParsed) {
  const auto running = [](int number, absl::string_view allocated, absl::string_view node = "n") {
    PodBuilder pod = MakePod().Name(absl::StrCat("p", number)).Uid(absl::StrCat("u", number));
    pod.Namespace(absl::StrCat("team-", number % 3)).Label("app", "web").NodeName(node);
    pod.Container().Request("cpu", "1").Request("memory", "1Gi");
    pod.Message().mutable_spec()->mutable_containers(0)->set_name("main");
    api::ContainerStatus& status = *pod.Message().mutable_status()->add_container_statuses();
    status.set_name("main");
    status.set_container_id(absl::StrCat("containerd://", number));
    if (!allocated.empty()) {
      auto& amounts = *status.mutable_resources()->mutable_requests();
      amounts["memory"].set_string("1Gi");
      amounts["cpu"].set_string(std::string(allocated));
    }
    return pod.Obj();
  };
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (int i = 0; i < 9; ++i) pods.push_back(running(i, i < 6 ? "" : "1"));
  for (int i = 3; i < 6; ++i) EXPECT_TRUE(pods[i]->SharesSpec(*pods[i - 3])) << i;
  EXPECT_FALSE(pods[0]->SharesSpec(*pods[1]));

  const auto resized = running(9, "2");
  EXPECT_FALSE(resized->SharesSpec(*pods[6]));
  EXPECT_EQ(pods[6]->requests().Get(kCpu), 1000);
  EXPECT_EQ(resized->requests().Get(kCpu), 2000);
  EXPECT_TRUE(running(12, "2")->SharesSpec(*resized));
  EXPECT_EQ(running(3, "2", "")->requests().Get(kCpu), 1000) << "counts when it has a node";
  EXPECT_TRUE(running(15, "1")->SharesSpec(*pods[6]));

  // The last few of very many are known.
  for (int i = 0; i < 100; ++i) {
    const auto team = MakePod().Name("p").Namespace(absl::StrCat("many-", i)).Obj();
    EXPECT_TRUE(MakePod().Name("q").Namespace(absl::StrCat("many-", i)).Obj()->SharesSpec(*team));
  }
}

TEST(PodInfo, HostPortsOfSidecarsAndContainers) {
  const auto pod = MakePod()
                       .InitContainer()
                       .HostPort(1)
                       .Sidecar()
                       .HostPort(2, "UDP")
                       .Container()
                       .HostPort(3, "", "10.0.0.1")
                       .HostPort(0)
                       .HostPort(-5)
                       .Obj();
  EXPECT_THAT(pod->host_ports(),
              ElementsAre(Port("0.0.0.0", "UDP", 2), Port("10.0.0.1", "TCP", 3)));
}

TEST(PodInfo, HostNetworkMakesContainerPortsHostPorts) {
  PodBuilder pod = MakePod().Container();
  pod.Message().mutable_spec()->mutable_containers(0)->add_ports()->set_container_port(80);
  EXPECT_THAT(pod.Obj()->host_ports(), IsEmpty());
  pod.Message().mutable_spec()->set_host_network(true);
  EXPECT_THAT(pod.Obj()->host_ports(), ElementsAre(Port("0.0.0.0", "TCP", 80)));
}

TEST(HostPort, Conflicts) {
  const HostPort any = Port("0.0.0.0", "TCP", 80);
  const HostPort one = Port("10.0.0.1", "TCP", 80);
  EXPECT_TRUE(any.ConflictsWith(any));
  EXPECT_TRUE(any.ConflictsWith(one));
  EXPECT_TRUE(one.ConflictsWith(any));
  EXPECT_TRUE(one.ConflictsWith(one));
  EXPECT_FALSE(one.ConflictsWith(Port("10.0.0.2", "TCP", 80)));
  EXPECT_FALSE(any.ConflictsWith(Port("0.0.0.0", "UDP", 80)));
  EXPECT_FALSE(any.ConflictsWith(Port("0.0.0.0", "TCP", 81)));
}

// --- Affinity ---

std::shared_ptr<const PodInfo> WithTerm(absl::string_view term) {
  return PodFromYaml(absl::StrCat(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: own}
spec:
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - )",
                                  term));
}

TEST(AffinityTerm, AppliesToItsNamespacesOrTheSelectedOnes) {
  const LabelSet web({{"app", "web"}});
  const LabelSet gold({{"tier", "gold"}});
  const struct {
    std::string term;
    std::string pod_namespace;
    const LabelSet* namespace_labels;
    bool matches;
  } cases[] = {
      // Neither: the pod's own namespace.
      {"{topologyKey: z, labelSelector: {}}", "own", nullptr, true},
      {"{topologyKey: z, labelSelector: {}}", "other", &gold, false},
      {"{topologyKey: z, namespaces: [a, b], labelSelector: {}}", "b", nullptr, true},
      {"{topologyKey: z, namespaces: [a, b], labelSelector: {}}", "own", nullptr, false},
      {"{topologyKey: z, namespaceSelector: {matchLabels: {tier: gold}}, labelSelector: {}}",
       "other", &gold, true},
      {"{topologyKey: z, namespaceSelector: {matchLabels: {tier: gold}}, labelSelector: {}}", "own",
       &web, false},
      // An empty namespace selector selects every namespace, known or not.
      {"{topologyKey: z, namespaceSelector: {}, labelSelector: {}}", "other", nullptr, true},
      // Both: either.
      {"{topologyKey: z, namespaces: [a], namespaceSelector: {matchLabels: {tier: gold}}, "
       "labelSelector: {}}",
       "a", nullptr, true},
      // The labels must match as well; no selector at all matches no pod.
      {"{topologyKey: z, labelSelector: {matchLabels: {app: web}}}", "own", nullptr, true},
      {"{topologyKey: z, labelSelector: {matchLabels: {app: db}}}", "own", nullptr, false},
      {"{topologyKey: z}", "own", nullptr, false},
  };
  for (const auto& c : cases) {
    const auto pod = WithTerm(c.term);
    ASSERT_THAT(pod->required_affinity_terms(), SizeIs(1)) << c.term;
    const AffinityTerm& term = pod->required_affinity_terms()[0];
    EXPECT_EQ(term.topology_key, S("z"));
    EXPECT_EQ(term.Matches(S(c.pod_namespace), web, c.namespace_labels), c.matches)
        << c.term << " in " << c.pod_namespace;
  }
}

TEST(PodInfo, AffinityOfEveryKind) {
  const auto pod = MakePod()
                       .PodAffinity("zone", {{"a", "1"}})
                       .PodAntiAffinity("host", {{"b", "1"}})
                       .PodAntiAffinity("host", {{"c", "1"}})
                       .PreferredPodAffinity(5, "zone", {{"d", "1"}})
                       .PreferredPodAntiAffinity(6, "zone", {{"e", "1"}})
                       .NodeAffinityIn("disk", {"ssd"})
                       .PreferredNodeAffinityIn(3, "zone", {"z1"})
                       .Obj();
  EXPECT_THAT(pod->required_affinity_terms(), SizeIs(1));
  EXPECT_THAT(pod->required_anti_affinity_terms(), SizeIs(2));
  ASSERT_THAT(pod->preferred_affinity_terms(), SizeIs(1));
  EXPECT_EQ(pod->preferred_affinity_terms()[0].weight, 5);
  ASSERT_THAT(pod->preferred_anti_affinity_terms(), SizeIs(1));
  EXPECT_EQ(pod->preferred_anti_affinity_terms()[0].weight, 6);
  EXPECT_TRUE(pod->required_node_affinity().Matches({{"disk", "ssd"}}, S("n")));
  EXPECT_FALSE(pod->required_node_affinity().Matches({{"disk", "hdd"}}, S("n")));
  EXPECT_EQ(pod->preferred_node_affinity().Score({{"zone", "z1"}}, S("n")), 3);
  EXPECT_TRUE(pod->pod_affinity_status().ok());
}

// The pod must still count on its node.
TEST(PodInfo, SelectorsThatDoNotParseAreKeptAsStatus) {
  PodBuilder builder = MakePod()
                           .Request("cpu", "1")
                           .PreferredNodeAffinityIn(1, "k", {"v"})
                           .PodAffinity("z", {{"app", "web"}})
                           .PodAffinity("z", {{"-", "web"}})
                           .PodAntiAffinity("z", {{"app", "web"}})
                           .PreferredPodAntiAffinity(1, "z", {{"-", "web"}})
                           .SpreadConstraint(1, "z", UnsatisfiableAction::kDoNotSchedule, {})
                           .SpreadConstraint(1, "z", UnsatisfiableAction::kDoNotSchedule, {});
  api::PodSpec* spec = builder.Message().mutable_spec();
  spec->mutable_affinity()
      ->mutable_node_affinity()
      ->mutable_preferred_during_scheduling_ignored_during_execution(0)
      ->mutable_preference()
      ->mutable_match_expressions(0)
      ->set_operator_("Near");
  spec->mutable_topology_spread_constraints(1)->set_when_unsatisfiable("Perhaps");
  const auto pod = builder.Obj();
  EXPECT_EQ(pod->requests().Get(kCpu), 1000);

  EXPECT_FALSE(pod->preferred_node_affinity_status().ok());
  EXPECT_THAT(pod->preferred_node_affinity().terms(), IsEmpty());

  const std::string why(pod->pod_affinity_status().message());
  EXPECT_THAT(why, HasSubstr("[requiredAffinityTerms: "));
  EXPECT_THAT(why, HasSubstr(", preferredAntiAffinityTerms: "));
  EXPECT_THAT(pod->required_affinity_terms(), IsEmpty());
  EXPECT_THAT(pod->required_anti_affinity_terms(), SizeIs(1));
  EXPECT_THAT(pod->preferred_anti_affinity_terms(), IsEmpty());

  EXPECT_THAT(std::string(pod->topology_spread_status().message()),
              HasSubstr("spec.topologySpreadConstraints[1].whenUnsatisfiable: "));
  EXPECT_THAT(pod->topology_spread_constraints(), IsEmpty());
}

// --- Topology spread ---

TEST(PodInfo, SpreadConstraints) {
  const auto pod =
      MakePod()
          .Label("app", "web")
          .Label("hash", "7")
          .SpreadConstraint(2, "zone", UnsatisfiableAction::kScheduleAnyway, {})
          .SpreadConstraint(1, "host", UnsatisfiableAction::kDoNotSchedule, {{"app", "web"}})
          .MinDomains(3)
          .MatchLabelKeys({"hash", "absent"})
          .NodeAffinityPolicy(NodeInclusionPolicy::kIgnore)
          .NodeTaintsPolicy(NodeInclusionPolicy::kHonor)
          .Obj();
  ASSERT_THAT(pod->topology_spread_constraints(), SizeIs(2));
  const TopologySpreadConstraint& soft = pod->topology_spread_constraints()[0];
  EXPECT_EQ(soft.max_skew, 2);
  EXPECT_EQ(soft.topology_key, S("zone"));
  EXPECT_EQ(soft.when_unsatisfiable, UnsatisfiableAction::kScheduleAnyway);
  EXPECT_EQ(soft.min_domains, 1);
  EXPECT_EQ(soft.node_affinity_policy, NodeInclusionPolicy::kHonor);
  EXPECT_EQ(soft.node_taints_policy, NodeInclusionPolicy::kIgnore);
  EXPECT_TRUE(soft.selector.SelectsEverything());
  const TopologySpreadConstraint& hard = pod->topology_spread_constraints()[1];
  EXPECT_EQ(hard.min_domains, 3);
  EXPECT_EQ(hard.node_affinity_policy, NodeInclusionPolicy::kIgnore);
  EXPECT_EQ(hard.node_taints_policy, NodeInclusionPolicy::kHonor);
  EXPECT_TRUE(hard.selector.Matches({{"app", "web"}, {"hash", "7"}}));
  EXPECT_FALSE(hard.selector.Matches({{"app", "web"}, {"hash", "8"}}));
}

TEST(PodInfo, MatchLabelKeysThatAreMergedAlreadyChangeNothing) {
  const auto pod =
      MakePod()
          .Label("hash", "7")
          .SpreadConstraint(1, "host", UnsatisfiableAction::kDoNotSchedule, {{"hash", "7"}})
          .MatchLabelKeys({"hash"})
          .Obj();
  const LabelSelector& selector = pod->topology_spread_constraints()[0].selector;
  EXPECT_TRUE(selector.Matches({{"hash", "7"}}));
  EXPECT_FALSE(selector.Matches({{"hash", "8"}}));
}

// Upstream does not merge into a selector that selects nothing.
TEST(PodInfo, MatchLabelKeysDoNotReplaceASelector) {
  const auto pod = PodFromYaml(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {hash: "7"}}
spec:
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [hash]}
)");
  EXPECT_TRUE(pod->topology_spread_constraints()[0].selector.SelectsNothing());
}

TEST(PodInfo, ClaimsOfVolumes) {
  const auto pod = MakePod().Name("p").Claim("data").EphemeralVolume("scratch").Claim("data").Obj();
  EXPECT_THAT(pod->claims(), ElementsAre("data", "p-scratch"));
}

TEST(PodInfo, StorageBesidesNamedClaims) {
  EXPECT_FALSE(MakePod().Claim("data").Obj()->has_other_storage());
  EXPECT_TRUE(MakePod().EphemeralVolume("scratch").Obj()->has_other_storage());
  const auto with_volume = [](absl::string_view source) {
    return PodFromYaml(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: "
                                    "{volumes: [{name: v, ",
                                    source, "}]}}"))
        ->has_other_storage();
  };
  EXPECT_FALSE(with_volume("emptyDir: {}"));
  EXPECT_FALSE(with_volume("configMap: {name: c}"));
  for (const char* disk :
       {"gcePersistentDisk: {pdName: d}", "awsElasticBlockStore: {volumeID: d}",
        "azureDisk: {diskName: d, diskURI: u}", "azureFile: {secretName: s, shareName: d}",
        "cinder: {volumeID: d}", "portworxVolume: {volumeID: d}", "vsphereVolume: {volumePath: d}",
        "iscsi: {targetPortal: t, iqn: i, lun: 0}", "rbd: {monitors: [m], image: i}"}) {
    EXPECT_TRUE(with_volume(disk)) << disk;
  }
}

// --- Builders ---

TEST(PodBuilder, NamesAndUidsDiffer) {
  EXPECT_NE(MakePod().Obj()->name(), MakePod().Obj()->name());
  const PodBuilder base = MakePod().Request("cpu", "1");
  const auto a = PodBuilder(base).Name("a").Obj();
  const auto b = PodBuilder(base).Name("b").Request("cpu", "2").Obj();
  EXPECT_NE(a->uid(), b->uid());
  EXPECT_EQ(a->requests().Get(kCpu), 1000);
  EXPECT_EQ(b->requests().Get(kCpu), 2000);
}

TEST(PodBuilder, MakesObjects) {
  const Object object = MakePod().Name("p").Object();
  EXPECT_EQ(object.kind(), Kind::kPod);
  EXPECT_EQ(object.key(), "default/p");
  EXPECT_EQ(object.As<api::Pod>().spec().scheduler_name(), "default-scheduler");
}

}  // namespace
}  // namespace berth
