// SPDX-License-Identifier: Apache-2.0
// Tests of NodeAffinity, after kube-scheduler's own tables.
#include "plugins/node_affinity/node_affinity.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

std::unique_ptr<NodeAffinity> Make(FakeHandle& handle, absl::string_view yaml = "{}") {
  return MakePlugin<NodeAffinity, NodeAffinityArgs>(handle, yaml);
}

// A pod with these required terms, as YAML flow text: "{matchExpressions: [...]}, {...}".
PodPtr Required(absl::string_view terms) {
  return PodFromYaml(absl::Substitute(R"(
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [$0]}}}}
)",
                                      terms));
}
PodPtr Expression(absl::string_view expression) {
  return Required(absl::StrCat("{matchExpressions: [", expression, "]}"));
}
PodPtr Names(absl::string_view terms) { return Required(terms); }

NodeBuilder Labelled(const LabelSet& labels, absl::string_view name = "n") {
  NodeBuilder node = MakeNode().Name(name);
  for (const auto& [key, value] : labels.entries()) node.Label(key.view(), value.view());
  return node;
}

TEST(NodeAffinityTest, Filter) {
  const Status mismatch = Unresolvable("node(s) didn't match Pod's node affinity/selector");
  const LabelSet foo_bar = {{"foo", "bar"}};
  struct Case {
    absl::string_view name;
    PodPtr pod;
    LabelSet labels;
    bool matches;
  };
  for (const Case& c : {
           Case{"nothing asked", MakePod().Obj(), {}, true},
           Case{"selector, no label", MakePod().NodeSelector("foo", "bar").Obj(), {}, false},
           Case{"selector matches",
                MakePod().NodeSelector("foo", "bar").Obj(),
                {{"foo", "bar"}, {"baz", "blah"}},
                true},
           Case{"a part of the selector",
                MakePod().NodeSelector("foo", "bar").NodeSelector("baz", "blah").Obj(), foo_bar,
                false},
           Case{"In", Expression("{key: foo, operator: In, values: [bar, value2]}"), foo_bar, true},
           Case{"In, another value", Expression("{key: foo, operator: In, values: [value2]}"),
                foo_bar, false},
           Case{"NotIn, another value",
                Expression("{key: mem-type, operator: NotIn, values: [DDR, DDR2]}"),
                {{"mem-type", "DDR3"}},
                true},
           Case{"NotIn, no label",
                Expression("{key: foo, operator: NotIn, values: [bar]}"),
                {},
                true},
           Case{"Exists",
                Expression("{key: GPU, operator: Exists}"),
                {{"GPU", "NVIDIA-GRID-K1"}},
                true},
           Case{"DoesNotExist", Expression("{key: GPU, operator: DoesNotExist}"), foo_bar, true},
           Case{"Gt",
                Expression("{key: kernel, operator: Gt, values: ['0204']}"),
                {{"kernel", "0206"}},
                true},
           Case{"Gt, equal",
                Expression("{key: kernel, operator: Gt, values: ['0204']}"),
                {{"kernel", "0204"}},
                false},
           Case{"Lt, no number",
                Expression("{key: kernel, operator: Lt, values: ['5']}"),
                {{"kernel", "old"}},
                false},
           Case{"all expressions of a term must match",
                Expression("{key: GPU, operator: Exists}, {key: GPU, operator: NotIn, values: "
                           "[AMD]}"),
                {{"GPU", "AMD"}},
                false},
           Case{"one term of two is enough",
                Required("{matchExpressions: [{key: foo, operator: In, values: [x]}]}, "
                         "{matchExpressions: [{key: foo, operator: In, values: [bar]}]}"),
                foo_bar, true},
           Case{"no term matches nothing", Required(""), foo_bar, false},
           Case{"an empty term matches nothing", Required("{}"), foo_bar, false},
           Case{"a term that does not parse matches nothing",
                Expression("{key: foo, operator: In, values: []}"), foo_bar, false},
           Case{"matchFields alone",
                Required("{matchFields: [{key: metadata.name, operator: NotIn, values: [other]}]}"),
                {},
                true},
           Case{"selector and affinity must both match",
                PodFromYaml("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: "
                            "{foo: other}, affinity: {nodeAffinity: "
                            "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                            "[{matchExpressions: [{key: foo, operator: Exists}]}]}}}}}"),
                foo_bar, false},
       }) {
    FakeHandle handle;
    EXPECT_EQ(RunFilter(*Make(handle), c.pod, Labelled(c.labels).Info()),
              c.matches ? Status::Success() : mismatch)
        << c.name;
  }
}

TEST(NodeAffinityTest, PreFilterNarrowsToNames) {
  const auto names = [](absl::string_view values, absl::string_view more = "") {
    return absl::StrCat("{matchFields: [{key: metadata.name, operator: In, values: [", values, "]}",
                        more, "]}");
  };
  struct Case {
    absl::string_view name;
    PodPtr pod;
    Status want;
    std::optional<std::string> nodes;
  };
  const std::string also_b = ", {key: metadata.name, operator: In, values: [b]}";
  for (const Case& c : {
           Case{"nothing asked", MakePod().Obj(), Status::Skip(), std::nullopt},
           Case{"a selector", MakePod().NodeSelector("a", "b").Obj(), Status::Success(),
                std::nullopt},
           Case{"one name", Names(names("a")), Status::Success(), "a"},
           Case{"two terms", Names(absl::StrCat(names("b"), ", ", names("a"))), Status::Success(),
                "a b"},
           Case{"a term without a name",
                Names(
                    absl::StrCat(names("a"), ", {matchExpressions: [{key: x, operator: Exists}]}")),
                Status::Success(), std::nullopt},
           Case{"names that contradict each other", Names(names("a", also_b)),
                Unresolvable("pod affinity terms conflict"), std::nullopt},
           Case{"one of two terms contradicts itself",
                Names(absl::StrCat(names("a", also_b), ", ", names("c"))), Status::Success(), "c"},
       }) {
    FakeHandle handle;
    CycleState state;
    PreFilterResult result;
    EXPECT_EQ(Make(handle)->PreFilter(state, *c.pod, handle.nodes(), result), c.want) << c.name;
    std::optional<std::string> nodes;
    if (result.node_names.has_value()) {
      nodes = absl::StrJoin(*result.node_names, " ", [](std::string* out, Symbol name) {
        absl::StrAppend(out, name.view());
      });
    }
    EXPECT_EQ(nodes, c.nodes) << c.name;
  }
}

constexpr char kAddedZone[] =
    "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}";

TEST(NodeAffinityTest, AddedAffinity) {
  FakeHandle handle;
  const auto plugin = Make(handle, kAddedZone);
  const NodeInfo in_zone = Labelled({{"zone", "a"}}).Info();
  EXPECT_EQ(RunFilter(*plugin, MakePod().Obj(), in_zone), Status::Success());
  EXPECT_EQ(RunFilter(*plugin, MakePod().Obj(), Labelled({{"zone", "b"}}).Info()),
            Unresolvable("node(s) didn't match scheduler-enforced node affinity"));
  EXPECT_EQ(RunFilter(*plugin, MakePod().NodeSelector("foo", "bar").Obj(), in_zone),
            Unresolvable("node(s) didn't match Pod's node affinity/selector"));
}

TEST(NodeAffinityTest, Score) {
  const std::vector<NodeInfo> nodes = {
      Labelled({{"foo", "bar"}}, "n1").Info(),
      Labelled({{"key", "value"}, {"foo", "bar"}, {"az", "az1"}}, "n2").Info(),
      Labelled({{"key", "value"}}, "n3").Info(),
  };
  const PodBuilder four_terms = MakePod()
                                    .PreferredNodeAffinityIn(2, "foo", {"bar"})
                                    .PreferredNodeAffinityIn(4, "key", {"value"})
                                    .PreferredNodeAffinityIn(5, "az", {"az1"});
  constexpr char kAdded[] =
      "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, preference: "
      "{matchExpressions: [{key: key, operator: Exists}]}}]}}";
  struct Case {
    absl::string_view name;
    PodPtr pod;
    std::optional<std::vector<int64_t>> want;
    absl::string_view args = "{}";
  };
  for (const Case& c : {
           Case{"no preference", MakePod().Obj(), std::nullopt},
           Case{"a preference that no node meets",
                MakePod().PreferredNodeAffinityIn(3, "no", {"such"}).Obj(),
                {{0, 0, 0}}},
           Case{"one meets it",
                MakePod().PreferredNodeAffinityIn(2, "az", {"az1"}).Obj(),
                {{0, 100, 0}}},
           // 2, 11 and 4 of 11
           Case{"weights add up", four_terms.Obj(), {{18, 100, 36}}},
           Case{"a preference for every pod", MakePod().Obj(), {{0, 100, 100}}, kAdded},
           // 2, 18 and 11 of 18
           Case{"both", four_terms.Obj(), {{11, 100, 61}}, kAdded},
       }) {
    FakeHandle handle(nodes);
    EXPECT_EQ(RunScore(*Make(handle, c.args), c.pod, handle), c.want) << c.name;
  }
}

TEST(NodeAffinityTest, NodeChanges) {
  FakeHandle handle;
  const auto plugin = Make(handle);
  const auto enforcing = Make(handle, kAddedZone);
  const PodPtr pod = MakePod().NodeSelector("foo", "bar").Obj();
  const auto queues = [&](const EnqueueExtensions& asked, const ObjectChange& change) {
    return Queues(asked, EventResource::Node(),
                  change.old_node == nullptr ? action::kAdd : action::kUpdateNodeLabel, pod,
                  change);
  };
  const NodeBuilder match = Labelled({{"foo", "bar"}}), other = Labelled({{"foo", "x"}});
  EXPECT_TRUE(queues(*plugin, NodeAdded(match)));
  EXPECT_FALSE(queues(*plugin, NodeAdded(other)));
  EXPECT_TRUE(queues(*plugin, NodeUpdated(other, match)));
  EXPECT_FALSE(queues(*plugin, NodeUpdated(match, match)));
  EXPECT_FALSE(queues(*plugin, NodeUpdated(match, other)));
  EXPECT_FALSE(queues(*enforcing, NodeAdded(match)));
  EXPECT_TRUE(queues(*enforcing, NodeAdded(Labelled({{"foo", "bar"}, {"zone", "a"}}))));
}

TEST(NodeAffinityTest, Args) {
  EXPECT_EQ(ArgsError<NodeAffinityArgs>(kAddedZone), "");
  EXPECT_THAT(
      ArgsError<NodeAffinityArgs>(
          "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
          "[{matchExpressions: [{key: zone, operator: Around, values: [a]}]}]}}}"),
      HasSubstr("addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"));
  EXPECT_THAT(ArgsError<NodeAffinityArgs>(
                  "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
                  "preference: {matchExpressions: [{key: zone, operator: In}]}}]}}"),
              HasSubstr("addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"));
}

}  // namespace
}  // namespace berth::testing
