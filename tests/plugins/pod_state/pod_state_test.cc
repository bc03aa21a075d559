// SPDX-License-Identifier: Apache-2.0
// Tests of PodState.
#include "plugins/pod_state/pod_state.h"

#include "absl/strings/str_cat.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

// A node with so many pods, the first of them terminating.
NodeInfo NodeWith(absl::string_view name, int pods, int terminating) {
  std::vector<PodPtr> list;
  for (int i = 0; i < pods; ++i) {
    PodBuilder pod = MakePod().Name(absl::StrCat(name, "-", i)).NodeName(name);
    if (i < terminating) pod.Deleted();
    list.push_back(pod.Obj());
  }
  return MakeNode().Name(name).Info(list);
}

TEST(PodStateTest, Score) {
  struct Case {
    absl::string_view name;
    std::vector<NodeInfo> nodes;
    std::vector<std::string> nominations;
    std::vector<int64_t> want;
  };
  for (const Case& c : {
           Case{"no pods", {NodeWith("a", 0, 0), NodeWith("b", 0, 0)}, {}, {0, 0}},
           Case{"running pods do not count",
                {NodeWith("a", 9, 1), NodeWith("b", 2, 2)},
                {},
                {0, 100}},
           Case{"nominated pods count against a node",
                {NodeWith("a", 2, 2), NodeWith("b", 2, 2), NodeWith("c", 2, 2)},
                {"a", "a", "b"},
                {0, 50, 100}},
       }) {
    FakeHandle handle(c.nodes);
    for (const std::string& node : c.nominations) {
      handle.fake_nominator().Nominate(MakePod().Obj(), node);
    }
    const auto plugin = MakePlugin<PodState>(handle);
    EXPECT_EQ(RunScore(*plugin, MakePod().Obj(), handle), c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::testing
