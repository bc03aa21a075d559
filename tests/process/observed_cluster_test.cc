// SPDX-License-Identifier: Apache-2.0
// What passes between a scheduler and its cluster while its process stands by, and while it leads.
#include "process/observed_cluster.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "berth/in_memory_cluster.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;

class Sink final : public WatchSink {
 public:
  void Deliver(std::vector<WatchEvent> delivered) override { events += delivered.size(); }
  size_t events = 0;
};

TEST(ObservedClusterTest, AReplicaThatStandsBySeesEverythingAndWritesNothing) {
  const RealClock clock;
  InMemoryCluster memory(clock);
  memory.Set(MakeNode().Name("n").Capacity("cpu", "4").Object());
  memory.Set(MakePod().Name("p").Object());
  bool leads = false;
  int told = 0;
  Log log({.verbosity = -1, .file = std::tmpfile()});
  ObservedCluster cluster(memory, log,
                          {.on_events = [&] { ++told; }, .may_write = [&] { return leads; }});
  Sink sink;
  EXPECT_FALSE(cluster.synced());
  ASSERT_TRUE(cluster.Watch(sink, {Kind::kNode, Kind::kPod}).ok());
  EXPECT_TRUE(cluster.synced());
  EXPECT_GT(told, 0);
  EXPECT_GE(sink.events, 3u);

  const PodBinding binding{MakePod().Name("p").Object().identity(), "n"};
  EXPECT_TRUE(absl::IsUnavailable(cluster.Bind(binding)));
  EXPECT_TRUE(absl::IsUnavailable(cluster.Evict(*binding.pod, "why")));
  EXPECT_TRUE(absl::IsUnavailable(cluster.PatchPodStatus({.pod = binding.pod})));
  EXPECT_EQ(*cluster.AssignedNode(*binding.pod), "");
  leads = true;
  EXPECT_TRUE(cluster.Bind(binding).ok());
  EXPECT_EQ(*cluster.AssignedNode(*binding.pod), "n");
  cluster.StopWatching();
}

// What a plugin says of a quota is logged: nobody looks at the events of a quota by chance.
TEST(ObservedClusterTest, WarningsAboutOtherObjectsThanPodsAreLogged) {
  const RealClock clock;
  InMemoryCluster memory(clock);
  std::FILE* const file = std::tmpfile();
  std::string text;
  {
    Log log({.verbosity = -1, .file = file});
    ObservedCluster cluster(memory, log, {.on_events = [] {}, .may_write = [] { return true; }});
    const auto record = [&](Kind kind, bool warning, const std::string& note) {
      cluster.Record({.regarding = std::make_shared<const Identity>(kind, "ns", "of", "uid"),
                      .scheduler_name = Symbol::Intern("mine"),
                      .warning = warning,
                      .reason = "Contradictory",
                      .action = "Scheduling",
                      .text = note});
    };
    record(Kind::kElasticQuota, true, "min is above max");
    record(Kind::kElasticQuota, false, "all is well");
    record(Kind::kPod, true, "no node");
    log.Flush();
    std::rewind(file);
    char read[4096] = {};
    text.assign(read, std::fread(read, 1, sizeof read, file));
  }
  EXPECT_EQ(memory.RecordedEvents().size(), 3u);
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "\"Something is wrong with an object\" object=\"ElasticQuota ns/of\" "
                        "reason=\"Contradictory\" message=\"min is above max\""));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("all is well")));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("no node")));
}

}  // namespace
}  // namespace berth
