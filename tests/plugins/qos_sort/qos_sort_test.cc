// SPDX-License-Identifier: Apache-2.0
// Tests of QOSSort.
#include "plugins/qos_sort/qos_sort.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

PodBuilder Guaranteed() {
  return MakePod()
      .Request("cpu", "1")
      .Limit("cpu", "1")
      .Request("memory", "1Gi")
      .Limit("memory", "1Gi");
}
PodBuilder Burstable() { return MakePod().Request("cpu", "1"); }
PodBuilder BestEffort() { return MakePod().Container(); }

QueuedPodInfo Queued(PodBuilder pod, int32_t priority, int64_t second) {
  return {.pod = pod.Priority(priority).Obj(), .timestamp = absl::FromUnixSeconds(second)};
}

TEST(QosSortTest, Less) {
  struct Case {
    absl::string_view name;
    QueuedPodInfo first, second;
  };
  FakeHandle handle;
  const auto plugin = MakePlugin<QosSort>(handle);
  for (const Case& c : {
           Case{"priority before class", Queued(BestEffort(), 10, 2), Queued(Guaranteed(), 1, 1)},
           Case{"guaranteed before burstable", Queued(Guaranteed(), 1, 2),
                Queued(Burstable(), 1, 1)},
           Case{"burstable before best effort", Queued(Burstable(), 1, 2),
                Queued(BestEffort(), 1, 1)},
           Case{"one class, the earlier", Queued(Burstable(), 1, 1), Queued(Burstable(), 1, 2)},
       }) {
    EXPECT_TRUE(plugin->Less(c.first, c.second)) << c.name;
    EXPECT_FALSE(plugin->Less(c.second, c.first)) << c.name;
  }
}

}  // namespace
}  // namespace berth::testing
