// SPDX-License-Identifier: Apache-2.0
// Tests of TaintToleration, after kube-scheduler's own tables.
#include "plugins/taint_toleration/taint_toleration.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr TaintEffect kNoSchedule = TaintEffect::kNoSchedule;
constexpr TaintEffect kNoExecute = TaintEffect::kNoExecute;
constexpr TaintEffect kPrefer = TaintEffect::kPreferNoSchedule;

NodeBuilder Tainted(absl::string_view key, absl::string_view value, TaintEffect effect) {
  return MakeNode().Name("n").Taint(key, value, effect);
}

TEST(TaintTolerationTest, Filter) {
  const Status rejected = Unresolvable("node(s) had untolerated taint(s)");
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    NodeBuilder node;
    Status want;
  };
  FakeHandle handle;
  const auto plugin = MakePlugin<TaintToleration>(handle);
  for (const Case& c : {
           Case{"no toleration", MakePod(), Tainted("dedicated", "user1", kNoSchedule), rejected},
           Case{"equal", MakePod().Toleration("dedicated", "user1", kNoSchedule),
                Tainted("dedicated", "user1", kNoSchedule), Status::Success()},
           Case{"another value", MakePod().Toleration("dedicated", "user2", kNoSchedule),
                Tainted("dedicated", "user1", kNoSchedule), rejected},
           Case{"any value", MakePod().TolerationExists("foo", kNoSchedule),
                Tainted("foo", "bar", kNoSchedule), Status::Success()},
           Case{"another effect", MakePod().Toleration("foo", "bar", kPrefer),
                Tainted("foo", "bar", kNoSchedule), rejected},
           Case{"any effect", MakePod().Toleration("foo", "bar", TaintEffect::kNone),
                Tainted("foo", "bar", kNoExecute), Status::Success()},
           Case{"everything", MakePod().TolerationExists(""), Tainted("foo", "bar", kNoExecute),
                Status::Success()},
           Case{"NoExecute", MakePod(), Tainted("foo", "bar", kNoExecute), rejected},
           Case{"PreferNoSchedule does not reject", MakePod(), Tainted("foo", "bar", kPrefer),
                Status::Success()},
           Case{"one of two", MakePod().TolerationExists("a"),
                Tainted("a", "1", kNoSchedule).Taint("b", "1", kNoSchedule), rejected},
       }) {
    EXPECT_EQ(RunFilter(*plugin, c.pod.Obj(), c.node.Info()), c.want) << c.name;
  }
}

TEST(TaintTolerationTest, Score) {
  struct Case {
    absl::string_view name;
    PodBuilder pod;
    std::vector<NodeAndPods> nodes;
    std::vector<int64_t> want;
  };
  for (const Case& c : {
           Case{"the tolerated one is best",
                MakePod().Toleration("foo", "bar", kPrefer),
                {Tainted("foo", "bar", kPrefer), Tainted("foo", "blah", kPrefer)},
                {100, 0}},
           Case{"the number of tolerated taints does not matter",
                MakePod()
                    .Toleration("cpu-type", "arm64", kPrefer)
                    .Toleration("disk-type", "ssd", kPrefer),
                {MakeNode(), Tainted("cpu-type", "arm64", kPrefer),
                 Tainted("cpu-type", "arm64", kPrefer).Taint("disk-type", "ssd", kPrefer)},
                {100, 100, 100}},
           Case{"the more that are not tolerated, the lower",
                MakePod().Toleration("foo", "bar", kPrefer),
                {MakeNode(), Tainted("cpu-type", "arm64", kPrefer),
                 Tainted("cpu-type", "arm64", kPrefer).Taint("disk-type", "ssd", kPrefer)},
                {100, 50, 0}},
           Case{"other effects do not count",
                MakePod().Toleration("cpu-type", "arm64", kNoSchedule),
                {MakeNode(), Tainted("cpu-type", "arm64", kNoSchedule),
                 Tainted("cpu-type", "arm64", kPrefer).Taint("disk-type", "ssd", kPrefer)},
                {100, 100, 0}},
           Case{"a toleration of any effect counts, one of NoSchedule does not",
                MakePod().TolerationExists("a").TolerationExists("b", kNoSchedule),
                {Tainted("a", "1", kPrefer), Tainted("b", "1", kPrefer)},
                {100, 0}},
       }) {
    FakeHandle handle(Numbered(c.nodes));
    const auto plugin = MakePlugin<TaintToleration>(handle);
    EXPECT_EQ(RunScore(*plugin, c.pod.Obj(), handle), c.want) << c.name;
  }
}

TEST(TaintTolerationTest, NodeChanges) {
  FakeHandle handle;
  const auto plugin = MakePlugin<TaintToleration>(handle);
  const PodPtr pod = MakePod().Toleration("foo", "bar", kNoSchedule).Obj();
  const NodeBuilder tolerated = Tainted("foo", "bar", kNoSchedule);
  const NodeBuilder not_tolerated = Tainted("foo", "other", kNoSchedule);
  const auto queues = [&](const ObjectChange& change, ActionType action) {
    return Queues(*plugin, EventResource::Node(), action, pod, change);
  };
  EXPECT_TRUE(queues(NodeAdded(tolerated), action::kAdd));
  EXPECT_FALSE(queues(NodeAdded(not_tolerated), action::kAdd));
  EXPECT_TRUE(queues(NodeUpdated(not_tolerated, tolerated), action::kUpdateNodeTaint));
  EXPECT_FALSE(queues(NodeUpdated(tolerated, not_tolerated), action::kUpdateNodeTaint));
  EXPECT_FALSE(queues(NodeUpdated(tolerated, tolerated), action::kUpdateNodeTaint));
}

TEST(TaintTolerationTest, TolerationChanges) {
  FakeHandle handle;
  const auto plugin = MakePlugin<TaintToleration>(handle);
  const PodPtr pod = MakePod().Name("p").Obj();
  const auto queues = [&](const PodPtr& after) {
    return Queues(*plugin, EventResource::Pod(), action::kUpdatePodToleration, pod,
                  PodUpdated(pod, after));
  };
  EXPECT_TRUE(queues(MakePod().Name("p").TolerationExists("any").Obj()));
  EXPECT_FALSE(queues(MakePod().Name("other").TolerationExists("any").Obj()));
}

}  // namespace
}  // namespace berth::testing
