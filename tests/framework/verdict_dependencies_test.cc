// SPDX-License-Identifier: Apache-2.0
// What the verdicts of Filter plugins depend on.
#include <stdexcept>

#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using VerdictDependenciesTest = RunnerTest;

TEST_F(VerdictDependenciesTest, NeededResourcesAreWhatTheFirstSays) {
  const auto one_cpu = [] { return NeededResources{{{kCpu, 1000}}}; };
  const auto two_cpus = [] { return NeededResources{{{kCpu, 2000}}}; };
  Add<FakeFilter, FakeResourceFilter>("One").needed = one_cpu;
  Add<FakeFilter, FakeResourceFilter>("Two").needed = two_cpus;
  Add<FakeFilter, FakeResourceFilter>("Thrower").needed = []() -> NeededResources {
    throw std::runtime_error("boom");
  };
  Add<FakeFilter>("Unsigned");
  Add<FakeFilter, FakeSign>("OfNode").depends_on = Aspect::kNodeTaints | Aspect::kNodePorts;
  Add<FakeFilter, FakeSign>("OfPods").depends_on = Aspect::kNodePods;
  const struct {
    absl::string_view filters, skipped, plugin;
    int64_t cpu;
    bool others_allow_removal;
  } cases[] = {
      {"Two One", "", "Two", 2000, true},
      {"Two One", "Two", "One", 1000, true},
      {"OfNode One Unsigned", "", "One", 1000, true},
      {"Unsigned One", "", "One", 1000, false},
      {"OfNode OfPods One", "", "One", 1000, false},
      {"OfNode OfPods One", "OfPods", "One", 1000, true},
      {"Unsigned", "", "", 0, false},
      {"Thrower One", "", "", 0, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(absl::StrCat(c.filters, " without ", c.skipped));
    const auto framework = Build(absl::StrCat("filter: ", c.filters));
    CycleState state;
    for (const Hook<FilterPlugin>& hook : framework->plugins().filter) {
      if (hook.name.view() == c.skipped) state.skips().filter |= MaskOf(hook);
    }
    const std::optional<ResourceNeed> need =
        framework->dependencies().FindNeededResources(state, *pod_);
    ASSERT_EQ(need.has_value(), !c.plugin.empty());
    if (!need.has_value()) continue;
    EXPECT_EQ(need->plugin.view(), c.plugin);
    EXPECT_EQ(need->needed, (NeededResources{{{kCpu, c.cpu}}}));
    EXPECT_EQ(need->others_allow_removal, c.others_allow_removal);
  }
}

}  // namespace
}  // namespace berth::testing
