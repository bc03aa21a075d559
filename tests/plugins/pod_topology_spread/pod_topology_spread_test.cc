// SPDX-License-Identifier: Apache-2.0
// Tests of PodTopologySpread, after kube-scheduler's own tables.
#include "plugins/pod_topology_spread/pod_topology_spread.h"

#include "berth/api/core_v1.pb.h"
#include "tests/plugins/random_cluster.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr UnsatisfiableAction kHard = UnsatisfiableAction::kDoNotSchedule;
constexpr UnsatisfiableAction kSoft = UnsatisfiableAction::kScheduleAnyway;
const Status kSkewed =
    Status::Unschedulable("node(s) didn't match pod topology spread constraints");
const Status kNoLabel =
    Unresolvable("node(s) didn't match pod topology spread constraints (missing required label)");
const Status kFits = Status::Success();

NodeBuilder InZone(absl::string_view zone) { return MakeNode().Label("zone", zone); }
PodBuilder Web() { return MakePod().Name("web").Namespace("default").Label("app", "web"); }
// `count` pods app=web that run.
std::vector<PodBuilder> Webs(int count) {
  std::vector<PodBuilder> pods;
  for (int i = 0; i < count; ++i) pods.push_back(Web().Name(absl::StrCat("web-", i)));
  return pods;
}
PodBuilder Spread(int max_skew = 1) {
  return Web().Name("p").SpreadConstraint(max_skew, "zone", kHard, {{"app", "web"}});
}

// The verdicts on all nodes of `handle` in their order, after `follow` changed the state.
std::vector<Status> Verdicts(
    PodTopologySpread& plugin, FakeHandle& handle, const PodPtr& pod,
    const std::function<void(CycleState&)>& follow = [](CycleState&) {}) {
  CycleState state;
  PreFilterResult result;
  const Status status = plugin.PreFilter(state, *pod, handle.nodes(), result);
  if (!status.ok()) return {status};
  follow(state);
  std::vector<Status> verdicts;
  for (NodeRow row = 0; row < handle.nodes().size(); ++row) {
    verdicts.push_back(plugin.Filter(state, *pod, handle.nodes().node(row)));
  }
  return verdicts;
}

TEST(PodTopologySpreadTest, Filter) {
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    std::vector<NodeAndPods> nodes;
    std::vector<Status> want;
  };
  const std::vector<NodeAndPods> two_and_one = {
      {InZone("a"), Webs(1)}, {InZone("a"), Webs(1)}, {InZone("b"), Webs(1)}, {MakeNode(), {}}};
  for (const Case& c : {
           Case{"no constraint", Web(), two_and_one, {Status::Skip()}},
           Case{"only a soft one",
                Web().SpreadConstraint(1, "zone", kSoft, {{"app", "web"}}),
                two_and_one,
                {Status::Skip()}},
           Case{"the fuller zone is out",
                Spread(),
                two_and_one,
                {kSkewed, kSkewed, kFits, kNoLabel}},
           Case{"a skew of two", Spread(2), two_and_one, {kFits, kFits, kFits, kNoLabel}},
           Case{"a pod that does not match itself",
                MakePod().Name("p").Namespace("default").SpreadConstraint(1, "zone", kHard,
                                                                          {{"app", "web"}}),
                two_and_one,
                {kFits, kFits, kFits, kNoLabel}},
           Case{"another namespace",
                Spread().Namespace("other"),
                two_and_one,
                {kFits, kFits, kFits, kNoLabel}},
           Case{"too few domains: the minimum is 0",
                Spread(2).MinDomains(3),
                two_and_one,
                {kSkewed, kSkewed, kFits, kNoLabel}},
           Case{"enough domains",
                Spread(2).MinDomains(2),
                two_and_one,
                {kFits, kFits, kFits, kNoLabel}},
           Case{"pods being deleted do not count",
                Spread(),
                {{InZone("a"), {Web().Deleted()}}, {InZone("b"), {}}},
                {kFits, kFits}},
           Case{"a zone that the node selector excludes is no minimum",
                Spread().NodeSelector("disk", "ssd"),
                {{InZone("a").Label("disk", "ssd"), Webs(1)}, {InZone("b"), {}}},
                {kFits, kFits}},
           Case{"unless the policy is to ignore that",
                Spread()
                    .NodeSelector("disk", "ssd")
                    .NodeAffinityPolicy(NodeInclusionPolicy::kIgnore),
                {{InZone("a").Label("disk", "ssd"), Webs(1)}, {InZone("b"), {}}},
                {kSkewed, kFits}},
           Case{
               "a tainted zone is a minimum",
               Spread(),
               {{InZone("a"), Webs(1)}, {InZone("b").Taint("t", "", TaintEffect::kNoSchedule), {}}},
               {kSkewed, kFits}},
           Case{
               "unless the policy is to honor taints",
               Spread().NodeTaintsPolicy(NodeInclusionPolicy::kHonor),
               {{InZone("a"), Webs(1)}, {InZone("b").Taint("t", "", TaintEffect::kNoSchedule), {}}},
               {kFits, kFits}},
           Case{"matchLabelKeys",
                Spread().Label("version", "2").MatchLabelKeys({"version"}),
                {{InZone("a"), Webs(3)}, {InZone("b"), {Web().Label("version", "2")}}},
                {kFits, kSkewed}},
       }) {
    FakeHandle handle(Numbered(c.nodes));
    const auto plugin = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle);
    EXPECT_EQ(Verdicts(*plugin, handle, c.pod.Obj()), c.want) << c.name;
  }
}

TEST(PodTopologySpreadTest, FollowsPodsThatComeAndGo) {
  FakeHandle handle(Numbered({{InZone("a"), Webs(2)}, {InZone("b"), Webs(1)}, {InZone("c"), {}}}));
  const auto plugin = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle);
  const PodPtr pod = Spread().Obj();
  const PodPtr other = Web().Name("other").Obj();
  const auto node = [&](NodeRow row) -> const NodeInfo& { return handle.nodes().node(row); };
  EXPECT_THAT(Verdicts(*plugin, handle, pod), ElementsAre(kSkewed, kSkewed, kFits));
  EXPECT_THAT(
      Verdicts(*plugin, handle, pod,
               [&](CycleState& s) { ASSERT_TRUE(plugin->AddPod(s, *pod, *other, node(2)).ok()); }),
      ElementsAre(kSkewed, kFits, kFits));
  EXPECT_THAT(Verdicts(*plugin, handle, pod,
                       [&](CycleState& s) {
                         ASSERT_TRUE(plugin->RemovePod(s, *pod, *other, node(1)).ok());
                       }),
              ElementsAre(kSkewed, kFits, kFits));
  // What happens to a copy stays in it.
  EXPECT_THAT(Verdicts(*plugin, handle, pod,
                       [&](CycleState& s) {
                         CycleState copy = s.Clone();
                         ASSERT_TRUE(plugin->AddPod(copy, *pod, *other, node(2)).ok());
                       }),
              ElementsAre(kSkewed, kSkewed, kFits));
}

// As many as on the node of one row come or go: as if the nodes had been so from the beginning.
void ComparesDryRun(Random& random) {
  std::vector<NodeAndPods> nodes;
  std::vector<int> webs;
  const int size = random.Percent(50) ? random.Between(1, 8) : 100;
  for (int i = 0; i < size; ++i) {
    NodeBuilder node = InZone(absl::StrCat(random.Below(3)));
    if (!random.Percent(5)) node.Label("host", absl::StrCat(i));
    webs.push_back(random.Percent(90) ? random.Below(3) : random.Below(5));
    nodes.push_back({node, Webs(webs.back())});
  }
  PodBuilder builder = Web().Name("p");
  if (random.Percent(70)) builder.SpreadConstraint(1, "host", kHard, {{"app", "web"}});
  if (random.Percent(50)) builder.SpreadConstraint(2, "zone", kHard, {{"app", "web"}});
  const PodPtr pod = builder.Obj();
  const NodeRow row = random.Below(size);
  const int now = random.Below(4);

  FakeHandle handle(Numbered(nodes));
  const auto plugin = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle);
  const auto follow = [&](CycleState& state) {
    const NodeInfo& node = handle.nodes().node(row);
    const PodPtr web = Web().Name("another").Obj();
    for (int i = webs[row]; i < now; ++i) ASSERT_TRUE(plugin->AddPod(state, *pod, *web, node).ok());
    for (int i = now; i < webs[row]; ++i) {
      ASSERT_TRUE(plugin->RemovePod(state, *pod, *web, node).ok());
    }
  };
  nodes[row].pods = Webs(now);
  FakeHandle fresh(Numbered(nodes));
  const auto of_fresh = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(fresh);
  EXPECT_EQ(Verdicts(*plugin, handle, pod, follow), Verdicts(*of_fresh, fresh, pod))
      << size << " nodes, " << webs[row] << " -> " << now << " on row " << row;
}

TEST(PodTopologySpreadTest, CachedDryRunsEqualFreshOnes) {
  for (uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ComparesDryRun(random);
  }
}

TEST(PodTopologySpreadTest, Score) {
  using Scores = std::optional<std::vector<int64_t>>;
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    std::vector<NodeAndPods> nodes;
    Scores want;
  };
  const PodBuilder soft = Web().SpreadConstraint(1, "zone", kSoft, {{"app", "web"}});
  for (const Case& c : {
           Case{"only a hard constraint", Spread(), {{InZone("a"), {}}}, std::nullopt},
           Case{"nothing runs yet: all alike",
                soft,
                {{InZone("a"), {}}, {InZone("b"), {}}},
                Scores({100, 100})},
           // 3 and 1 pods by ln(2 + 2): 4.16 and 1.39, rounded 4 and 1. 100 * (4 + 1 - 4) / 4.
           Case{"fewer are better; a node without the label is nothing",
                soft,
                {{InZone("a"), Webs(3)}, {InZone("b"), Webs(1)}, {MakeNode(), Webs(1)}},
                Scores({25, 100, 0})},
       }) {
    FakeHandle handle(Numbered(c.nodes));
    const auto plugin = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle);
    EXPECT_EQ(RunScore(*plugin, c.pod.Obj(), handle), c.want) << c.name;
  }
}

// Over hosts, of which some have pods; then any hosts may turn out to be feasible.
TEST(PodTopologySpreadTest, PointsByHostsDependOnTheFeasibleOnlyIfItSaysSo) {
  int depend = 0, do_not = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    const int most = random.Below(3);  // pods of a host
    std::vector<NodeAndPods> hosts;
    for (int i = random.Between(2, 20); i > 0; --i) {
      hosts.push_back({MakeNode().Label("kubernetes.io/hostname", absl::StrCat("h", i)),
                       Webs(random.Between(0, most))});
    }
    FakeHandle handle(Numbered(hosts));
    const NodeTable& nodes = handle.nodes();
    const auto plugin = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle);
    const PodPtr pod = Web()
                           .Name("p")
                           .SpreadConstraint(random.Between(1, 3), "kubernetes.io/hostname", kSoft,
                                             {{"app", "web"}})
                           .Obj();
    CycleState state;
    std::vector<DomainSum> sums;
    ASSERT_TRUE(plugin->PreScoreDomains(state, *pod, nodes, sums)->ok());
    if (plugin->ScoresDependOn(state) != DomainScorer::Feasible::kNothing) {
      ++depend;
      continue;
    }
    ++do_not;
    std::vector<NodeRow> feasible;
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (row == 0 || random.Percent(60)) feasible.push_back(row);
    }
    const auto points = [&] {
      std::vector<int64_t> scores(feasible.size());
      EXPECT_TRUE(plugin->ScoreNodes(state, *pod, nodes, feasible, absl::MakeSpan(scores)).ok());
      EXPECT_TRUE(plugin->NormalizeScores(state, *pod, feasible, absl::MakeSpan(scores)).ok());
      return scores;
    };
    const std::vector<int64_t> without = points();
    plugin->SetFeasible(state, {.rows = feasible, .counts = {}});
    EXPECT_EQ(without, points());
  }
  EXPECT_GT(depend, 50);
  EXPECT_GT(do_not, 50);
}

Object WebService() {
  auto service = std::make_shared<api::Service>();
  service->mutable_metadata()->set_name("web");
  service->mutable_metadata()->set_namespace_("default");
  (*service->mutable_spec()->mutable_selector())["app"] = "web";
  return Object::Of(std::move(service));
}

TEST(PodTopologySpreadTest, PodsOfAServiceAreSpreadByDefault) {
  FakeHandle handle(Numbered({{InZone("a"), Webs(1)}, {InZone("b"), {}}}));
  const auto list = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(
      handle,
      "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, "
      "whenUnsatisfiable: DoNotSchedule}]}");
  const auto system = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle);
  const PodPtr pod = Web().Name("p").Obj();
  PodSignature signature;
  EXPECT_THAT(Verdicts(*list, handle, pod), ElementsAre(Status::Skip()));
  EXPECT_EQ(RunScore(*system, pod, handle), std::nullopt);
  EXPECT_TRUE(system->SignPod(*pod, signature).ok());

  handle.object_store().Set(WebService());
  EXPECT_THAT(Verdicts(*list, handle, pod), ElementsAre(kSkewed, kFits));
  EXPECT_TRUE(RunScore(*system, pod, handle).has_value());
  EXPECT_FALSE(system->SignPod(*pod, signature).ok());
  EXPECT_EQ(RunScore(*system, MakePod().Namespace("default").Obj(), handle), std::nullopt);
}

TEST(PodTopologySpreadTest, Hints) {
  FakeHandle handle;
  const auto plugin = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle);
  const PodPtr pod = Spread().Obj();
  const auto running = [] { return Web().NodeName("n"); };
  const auto pod_change = [&](ActionType action, const ObjectChange& change) {
    return Queues(*plugin, EventResource::Pod(), action, pod, change);
  };
  EXPECT_TRUE(pod_change(action::kDelete, PodDeleted(running().Obj())));
  EXPECT_FALSE(pod_change(action::kDelete, PodDeleted(Web().Obj())));
  EXPECT_FALSE(pod_change(action::kDelete, PodDeleted(running().Namespace("other").Obj())));
  EXPECT_FALSE(pod_change(action::kAdd, PodAdded(running().Label("app", "db").Obj())));
  EXPECT_TRUE(pod_change(action::kUpdatePodLabel,
                         PodUpdated(running().Obj(), running().Label("app", "db").Obj())));
  EXPECT_FALSE(pod_change(action::kUpdatePodLabel,
                          PodUpdated(running().Obj(), running().Label("tier", "1").Obj())));

  const auto node_change = [&](ActionType action, const ObjectChange& change) {
    return Queues(*plugin, EventResource::Node(), action, pod, change);
  };
  const NodeBuilder plain = MakeNode().Name("n");
  const NodeBuilder zoned = InZone("a").Name("n");
  EXPECT_TRUE(node_change(action::kAdd, NodeAdded(zoned)));
  EXPECT_FALSE(node_change(action::kAdd, NodeAdded(plain)));
  EXPECT_TRUE(node_change(action::kUpdateNodeLabel, NodeUpdated(zoned, plain)));
  EXPECT_TRUE(node_change(action::kUpdateNodeLabel, NodeUpdated(zoned, InZone("b").Name("n"))));
  EXPECT_FALSE(node_change(action::kUpdateNodeLabel, NodeUpdated(zoned, zoned)));
}

TEST(PodTopologySpreadTest, Args) {
  struct Case {
    absl::string_view yaml, want;
  };
  for (const Case& c : {
           Case{"{defaultingType: Other}", "Unsupported value"},
           Case{"{defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
                "DoNotSchedule}]}",
                "when .defaultConstraints are not empty"},
           Case{"{defaultingType: List, defaultConstraints: [{maxSkew: 0, topologyKey: zone, "
                "whenUnsatisfiable: DoNotSchedule}]}",
                "not in valid range (0, inf)"},
           Case{"{defaultingType: List, defaultConstraints: [{maxSkew: 1, whenUnsatisfiable: "
                "DoNotSchedule}]}",
                "defaultConstraints[0].topologyKey: Required value: can not be empty"},
           Case{"{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone}]}",
                "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"},
           Case{"{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, "
                "whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]}",
                "Forbidden: constraint must not define a selector"},
           Case{"{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, "
                "whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: zone, "
                "whenUnsatisfiable: DoNotSchedule}]}",
                "defaultConstraints[1]: Duplicate value: \"{zone, DoNotSchedule}\""},
       }) {
    EXPECT_THAT(ArgsError<PodTopologySpreadArgs>(c.yaml), HasSubstr(std::string(c.want)));
  }
  EXPECT_EQ(ArgsError<PodTopologySpreadArgs>("{defaultingType: List}"), "");
}

}  // namespace
}  // namespace berth::testing
