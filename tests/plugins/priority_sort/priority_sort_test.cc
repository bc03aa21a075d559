// SPDX-License-Identifier: Apache-2.0
// Tests of PrioritySort.
#include "plugins/priority_sort/priority_sort.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

QueuedPodInfo Queued(int32_t priority, int64_t second) {
  return {.pod = MakePod().Priority(priority).Obj(), .timestamp = absl::FromUnixSeconds(second)};
}

TEST(PrioritySortTest, Less) {
  struct Case {
    absl::string_view name;
    QueuedPodInfo a, b;
    bool a_first, b_first;
  };
  FakeHandle handle;
  const auto plugin = MakePlugin<PrioritySort>(handle);
  for (const Case& c : {
           Case{"lower priority", Queued(0, 1), Queued(1, 2), false, true},
           Case{"higher priority, though later", Queued(1, 2), Queued(0, 1), true, false},
           Case{"equal priority, earlier", Queued(3, 1), Queued(3, 2), true, false},
           Case{"all equal", Queued(3, 1), Queued(3, 1), false, false},
       }) {
    EXPECT_EQ(plugin->Less(c.a, c.b), c.a_first) << c.name;
    EXPECT_EQ(plugin->Less(c.b, c.a), c.b_first) << c.name;
  }
}

}  // namespace
}  // namespace berth::testing
