// SPDX-License-Identifier: Apache-2.0
// Tests of InterPodAffinity, after kube-scheduler's own tables.
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

const Status kAffinity = Unresolvable("node(s) didn't match pod affinity rules");
const Status kAntiAffinity = Status::Unschedulable("node(s) didn't match pod anti-affinity rules");
const Status kExisting =
    Status::Unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
const Status kFits = Status::Success();

NodeBuilder InZone(absl::string_view zone) { return MakeNode().Label("zone", zone); }
PodBuilder App(absl::string_view app, absl::string_view ns = "default") {
  return MakePod().Name(app).Namespace(ns).Label("app", app);
}
LabelSet Is(absl::string_view app) { return {{"app", app}}; }

std::vector<Status> Verdicts(
    InterPodAffinity& plugin, FakeHandle& handle, const PodPtr& pod,
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

// The last required affinity term of `pod` applies to the namespaces with that label.
PodBuilder SelectingNamespaces(PodBuilder pod, const std::string& key, const std::string& op,
                               const std::string& value) {
  auto* terms = pod.Message()
                    .mutable_spec()
                    ->mutable_affinity()
                    ->mutable_pod_affinity()
                    ->mutable_required_during_scheduling_ignored_during_execution();
  auto* requirement =
      terms->Mutable(terms->size() - 1)->mutable_namespace_selector()->add_match_expressions();
  requirement->set_key(key);
  requirement->set_operator_(op);
  requirement->add_values(value);
  return pod;
}

Object Namespace(absl::string_view name, const std::string& team) {
  auto object = std::make_shared<api::Namespace>();
  object->mutable_metadata()->set_name(std::string(name));
  (*object->mutable_metadata()->mutable_labels())["team"] = team;
  return Object::Of(std::move(object));
}

TEST(InterPodAffinityTest, Filter) {
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    std::vector<NodeAndPods> nodes;
    std::vector<Status> want;
  };
  const std::vector<NodeAndPods> web_in_a = {
      {InZone("a"), {App("web")}}, {InZone("a"), {}}, {InZone("b"), {}}, {MakeNode(), {}}};
  for (const Case& c : {
           Case{"no terms anywhere", App("p"), web_in_a, {Status::Skip()}},
           Case{"near web",
                App("p").PodAffinity("zone", Is("web")),
                web_in_a,
                {kFits, kFits, kAffinity, kAffinity}},
           Case{"web of another namespace",
                App("p", "other").PodAffinity("zone", Is("web")),
                web_in_a,
                {kAffinity, kAffinity, kAffinity, kAffinity}},
           Case{"all terms must match one pod",
                App("p").PodAffinity("zone", Is("web")).PodAffinity("zone", Is("db")),
                {{InZone("a"), {App("web"), App("db")}}},
                {kAffinity}},
           Case{"the first of its kind, where the key is",
                App("p").PodAffinity("zone", Is("p")),
                web_in_a,
                {kFits, kFits, kFits, kAffinity}},
           Case{"the second joins the first",
                App("p").PodAffinity("zone", Is("p")),
                {{InZone("a"), {App("p")}}, {InZone("b"), {}}},
                {kFits, kAffinity}},
           Case{"away from web",
                App("p").PodAntiAffinity("zone", Is("web")),
                web_in_a,
                {kAntiAffinity, kAntiAffinity, kFits, kFits}},
           Case{"web does not want p",
                App("p"),
                {{InZone("a"), {App("web").PodAntiAffinity("zone", Is("p"))}},
                 {InZone("a"), {}},
                 {InZone("b"), {}}},
                {kExisting, kExisting, kFits}},
           Case{"web does not want others",
                App("p"),
                {{InZone("a"), {App("web").PodAntiAffinity("zone", Is("q"))}}},
                {Status::Skip()}},
           Case{"a namespaceSelector",
                SelectingNamespaces(App("p", "two").PodAffinity("zone", Is("web")), "team", "In",
                                    "x"),
                web_in_a,
                {kFits, kFits, kAffinity, kAffinity}},
           Case{"one for another team",
                SelectingNamespaces(App("p", "two").PodAffinity("zone", Is("web")), "team", "In",
                                    "y"),
                web_in_a,
                {kAffinity, kAffinity, kAffinity, kAffinity}},
           Case{"one that selects namespaces without labels selects all, as upstream",
                SelectingNamespaces(App("p", "two").PodAffinity("zone", Is("web")), "team", "NotIn",
                                    "x"),
                web_in_a,
                {kFits, kFits, kAffinity, kAffinity}},
       }) {
    FakeHandle handle(Numbered(c.nodes), {Namespace("default", "x"), Namespace("two", "y")});
    const auto plugin = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle);
    EXPECT_EQ(Verdicts(*plugin, handle, c.pod.Obj()), c.want) << c.name;
  }
}

TEST(InterPodAffinityTest, FollowsPodsThatComeAndGo) {
  const PodBuilder hater = App("hater").PodAntiAffinity("zone", Is("p"));
  FakeHandle handle(Numbered({{InZone("a"), {App("web")}}, {InZone("b"), {App("db"), hater}}}));
  const auto plugin = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle);
  const PodPtr pod = App("p").PodAntiAffinity("zone", Is("web")).Obj();
  const PodPtr web = App("web").Obj();
  EXPECT_THAT(Verdicts(*plugin, handle, pod), ElementsAre(kAntiAffinity, kExisting));
  EXPECT_THAT(Verdicts(*plugin, handle, pod,
                       [&](CycleState& s) {
                         const NodeTable& nodes = handle.nodes();
                         ASSERT_TRUE(plugin->RemovePod(s, *pod, *web, nodes.node(0)).ok());
                         ASSERT_TRUE(plugin->RemovePod(s, *pod, *hater.Obj(), nodes.node(1)).ok());
                       }),
              ElementsAre(kFits, kFits));
  EXPECT_THAT(Verdicts(*plugin, handle, pod,
                       [&](CycleState& s) {
                         CycleState copy = s.Clone();
                         const NodeInfo& node = handle.nodes().node(0);
                         ASSERT_TRUE(plugin->RemovePod(copy, *pod, *web, node).ok());
                         ASSERT_TRUE(plugin->AddPod(s, *pod, *web, node).ok());
                         ASSERT_TRUE(plugin->RemovePod(s, *pod, *web, node).ok());
                       }),
              ElementsAre(kAntiAffinity, kExisting));
}

// Nodes without the label are in no domain: there is nothing to say then.
TEST(InterPodAffinityTest, SkipsTermsOfOthersWhereTheKeyIsNot) {
  for (const int terms : {1, 2, 8, 9}) {
    std::vector<PodBuilder> haters;
    for (int i = 0; i < terms; ++i) {
      haters.push_back(
          App(absl::StrCat("hater-", i)).PodAntiAffinity(absl::StrCat("rack-", i), Is("p")));
    }
    FakeHandle handle(Numbered({{InZone("a"), haters}}));
    const auto plugin = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle);
    EXPECT_THAT(Verdicts(*plugin, handle, App("p").Obj()), ElementsAre(Status::Skip())) << terms;
  }
}

// As many different terms, over two topologies: a domain is closed as long as one of them has pods
// there, also in dry runs.
TEST(InterPodAffinityTest, FollowsManyTermsOfOthers) {
  for (const int terms : {1, 2, 3, 8, 9, 20}) {
    SCOPED_TRACE(terms);
    PodBuilder app = App("p");
    std::vector<PodBuilder> haters;
    for (int i = 0; i < terms; ++i) {
      const std::string label = absl::StrCat("hated-", i);
      app.Label(label, "yes");
      haters.push_back(App(absl::StrCat("hater-", i))
                           .PodAntiAffinity(i % 3 == 2 ? "rack" : "zone", {{label, "yes"}}));
    }
    const auto node = [](absl::string_view zone, absl::string_view rack) {
      return InZone(zone).Label("rack", rack);
    };
    FakeHandle handle(
        Numbered({{node("a", "r"), haters}, {node("a", "s"), {}}, {node("b", "t"), {}}}));
    const auto plugin = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle);
    const PodPtr pod = app.Obj();
    EXPECT_THAT(Verdicts(*plugin, handle, pod), ElementsAre(kExisting, kExisting, kFits));
    for (int left = 0; left < terms; ++left) {  // all others go
      const bool in_zone = left % 3 != 2;
      EXPECT_THAT(
          Verdicts(
              *plugin, handle, pod,
              [&](CycleState& s) {
                for (int i = 0; i < terms; ++i) {
                  if (i == left) continue;
                  ASSERT_TRUE(
                      plugin->RemovePod(s, *pod, *haters[i].Obj(), handle.nodes().node(0)).ok());
                }
              }),
          ElementsAre(kExisting, in_zone ? kExisting : kFits, kFits))
          << left;
    }
    EXPECT_THAT(
        Verdicts(*plugin, handle, pod,
                 [&](CycleState& s) {
                   for (const PodBuilder& hater : haters) {
                     const PodPtr gone = hater.Obj();
                     ASSERT_TRUE(plugin->RemovePod(s, *pod, *gone, handle.nodes().node(0)).ok());
                   }
                   const PodPtr moved = haters.front().Obj();
                   ASSERT_TRUE(plugin->AddPod(s, *pod, *moved, handle.nodes().node(2)).ok());
                 }),
        ElementsAre(kFits, kFits, kExisting));
  }
}

TEST(InterPodAffinityTest, Score) {
  using Scores = std::optional<std::vector<int64_t>>;
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    std::vector<NodeAndPods> nodes;
    Scores want;
    absl::string_view args = "{}";
  };
  const std::vector<NodeAndPods> two = {
      {InZone("a"), {App("web")}}, {InZone("b"), {App("db")}}, {MakeNode(), {}}};
  const std::vector<NodeAndPods> likes_p = {
      {InZone("a"), {App("web").PreferredPodAffinity(5, "zone", Is("p"))}}, {InZone("b"), {}}};
  const std::vector<NodeAndPods> needs_p = {
      {InZone("a"), {App("web").PodAffinity("zone", Is("p"))}}, {InZone("b"), {}}};
  for (const Case& c : {
           Case{"no terms", App("p"), two, std::nullopt},
           Case{"terms that match nothing", App("p").PreferredPodAffinity(5, "zone", Is("q")), two,
                std::nullopt},
           // Raw 8, -4, 0: 100 * 12/12, 0, 100 * 4/12.
           Case{"likes web, not db",
                App("p")
                    .PreferredPodAffinity(8, "zone", Is("web"))
                    .PreferredPodAntiAffinity(4, "zone", Is("db")),
                two, Scores({100, 0, 33})},
           Case{"is liked by web", App("p"), likes_p, Scores({100, 0})},
           Case{"which may be ignored", App("p"), likes_p, std::nullopt,
                "{ignorePreferredTermsOfExistingPods: true}"},
           Case{"is needed by web", App("p"), needs_p, Scores({100, 0})},
           Case{"which may weigh nothing", App("p"), needs_p, std::nullopt,
                "{hardPodAffinityWeight: 0}"},
           Case{"all alike",
                App("p").PreferredPodAffinity(5, "zone", Is("web")),
                {{InZone("a"), {App("web")}}, {InZone("a"), {}}},
                Scores({0, 0})},
       }) {
    FakeHandle handle(Numbered(c.nodes));
    const auto plugin = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle, c.args);
    EXPECT_EQ(RunScore(*plugin, c.pod.Obj(), handle), c.want) << c.name;
  }
}

TEST(InterPodAffinityTest, Hints) {
  FakeHandle handle;
  const auto plugin = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle);
  const PodPtr pod =
      App("p").PodAffinity("zone", Is("web")).PodAntiAffinity("rack", Is("db")).Obj();
  const auto on_node = [](absl::string_view app) { return App(app).NodeName("n").Obj(); };
  const auto pod_change = [&](ActionType action, const ObjectChange& change) {
    return Queues(*plugin, EventResource::Pod(), action, pod, change);
  };
  EXPECT_TRUE(pod_change(action::kAdd, PodAdded(on_node("web"))));
  EXPECT_FALSE(pod_change(action::kAdd, PodAdded(App("web").Obj())));
  EXPECT_FALSE(pod_change(action::kAdd, PodAdded(on_node("db"))));
  EXPECT_TRUE(pod_change(action::kDelete, PodDeleted(on_node("db"))));
  EXPECT_FALSE(pod_change(action::kDelete, PodDeleted(on_node("web"))));
  EXPECT_TRUE(pod_change(action::kUpdatePodLabel, PodUpdated(on_node("x"), on_node("web"))));
  EXPECT_TRUE(pod_change(action::kUpdatePodLabel, PodUpdated(on_node("db"), on_node("x"))));
  EXPECT_FALSE(pod_change(action::kUpdatePodLabel, PodUpdated(on_node("web"), on_node("x"))));

  const auto relabelled = [&](const NodeBuilder& before, const NodeBuilder& after) {
    return Queues(*plugin, EventResource::Node(), action::kUpdateNodeLabel, pod,
                  NodeUpdated(before, after));
  };
  const NodeBuilder plain = MakeNode().Name("n");
  const NodeBuilder zoned = InZone("a").Name("n");
  EXPECT_FALSE(Queues(*plugin, EventResource::Node(), action::kAdd, pod, NodeAdded(plain)));
  EXPECT_TRUE(Queues(*plugin, EventResource::Node(), action::kAdd, pod, NodeAdded(zoned)));
  EXPECT_TRUE(relabelled(plain, zoned));
  EXPECT_TRUE(relabelled(zoned, plain));

  EXPECT_TRUE(
      pod_change(action::kUpdatePodLabel, PodUpdated(pod, App("p").Label("app", "web").Obj())));

  // Kept away by the anti-affinity of pods that run.
  const PodPtr shy = App("shy").PodAntiAffinity("zone", Is("web")).NodeName("n").Obj();
  const auto gone = [&](const PodPtr& waiting) {
    return Queues(*plugin, EventResource::Pod(), action::kDelete, waiting, PodDeleted(shy));
  };
  EXPECT_TRUE(gone(App("web").Obj()));
  EXPECT_FALSE(gone(App("db").Obj()));
  // One of several terms is enough to be kept away.
  const PodPtr choosy =
      App("p").PodAntiAffinity("rack", Is("db")).PodAntiAffinity("rack", Is("web")).Obj();
  EXPECT_TRUE(
      Queues(*plugin, EventResource::Pod(), action::kDelete, choosy, PodDeleted(on_node("db"))));
  // One term fewer may be enough: the other may be about another node.
  const PodPtr both = MakePod().Label("app", "db").Label("tier", "x").NodeName("n").Obj();
  const PodPtr two_terms =
      App("p").PodAntiAffinity("rack", Is("db")).PodAntiAffinity("zone", {{"tier", "x"}}).Obj();
  EXPECT_TRUE(Queues(*plugin, EventResource::Pod(), action::kUpdatePodLabel, two_terms,
                     PodUpdated(both, on_node("db"))));
}

TEST(InterPodAffinityTest, SignsPodsWithoutTerms) {
  FakeHandle handle;
  const auto plugin = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle);
  const auto sign = [&](const PodBuilder& pod) {
    PodSignature signature;
    EXPECT_TRUE(plugin->SignPod(*pod.Obj(), signature).ok());
    return signature.bytes();
  };
  EXPECT_EQ(sign(App("p")), sign(App("p").Name("another")));
  EXPECT_NE(sign(App("p")), sign(App("q")));
  EXPECT_NE(sign(App("p")), sign(App("p", "other")));
  PodSignature signature;
  EXPECT_FALSE(plugin->SignPod(*App("p").PodAffinity("zone", Is("web")).Obj(), signature).ok());
}

TEST(InterPodAffinityTest, Args) {
  EXPECT_THAT(ArgsError<InterPodAffinityArgs>("{hardPodAffinityWeight: 101}"),
              HasSubstr("not in valid range"));
  EXPECT_EQ(ArgsError<InterPodAffinityArgs>("{hardPodAffinityWeight: 100}"), "");
}

}  // namespace
}  // namespace berth::testing
