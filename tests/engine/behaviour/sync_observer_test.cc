// SPDX-License-Identifier: Apache-2.0
// A plugin that follows nodes and objects is told in time: it never has to read everything again.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/extensions/observer.h"
#include "berth/framework/handle.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "table/row_move.h"
#include "tests/engine/simulate.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;

// What the follower has seen.
struct Seen {
  int followed = 0;
  int lost = 0;  // calls in which something was forgotten already
  int moves = 0;
  int changes = 0;
};

class Follower final : public Plugin, public SyncObserver {
 public:
  static constexpr absl::string_view kName = "Follower";
  Follower(Handle& handle, Seen& seen) : handle_(handle), seen_(seen) {}
  absl::string_view Name() const override { return kName; }
  void OnSynced() override { NoteVersions(); }
  void BeforeJournalOverflow() override {
    ++seen_.followed;
    const bool nodes = handle_.nodes().Replay(
        nodes_version_, [&](const RowChange&) { ++seen_.changes; },
        [&](const RowMove&) { ++seen_.moves; });
    const bool claims =
        handle_.objects().ChangesSince(Kind::kPersistentVolumeClaim, claims_version_).has_value();
    seen_.lost += !nodes || !claims;
    NoteVersions();
  }

 private:
  void NoteVersions() {
    nodes_version_ = handle_.nodes().version();
    claims_version_ = handle_.objects().version(Kind::kPersistentVolumeClaim);
  }

  Handle& handle_;
  Seen& seen_;
  uint64_t nodes_version_ = 0, claims_version_ = 0;
};

constexpr char kConfiguration[] = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Follower}]}}
)";

Object Node(int i, int zones) {
  return MakeNode()
      .Name(absl::StrCat("n", i))
      .Label("topology.kubernetes.io/zone", absl::StrCat("z", i % zones))
      .Allocatable("cpu", "4")
      .Allocatable("pods", "10")
      .Object();
}

Registry WithFollower(Seen& seen) {
  const PluginFactory factory = [&seen](const PluginArgs&, Handle& handle) {
    return absl::StatusOr<std::unique_ptr<Plugin>>(std::make_unique<Follower>(handle, seen));
  };
  return BuiltinRegistry({WithPlugin(Follower::kName, factory)}).value();
}

std::vector<Object> Nodes(int count, int zones) {
  std::vector<Object> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(Node(i, zones));
  return nodes;
}

TEST(SyncObserver, IsCalledBeforeChangesAreDropped) {
  constexpr int kNodes = 4'000;
  Seen seen;
  const Registry registry = WithFollower(seen);
  const auto simulation = Simulate(registry, kConfiguration, Nodes(kNodes, 3));
  InMemoryCluster& cluster = simulation->cluster();
  simulation->RunUntilIdle();
  // A zone goes and comes back while pods are placed, and while none is there to be tried.
  int pods = 0;
  for (const int placed_meanwhile : {1'000, 0}) {
    for (int i = 0; i < kNodes; i += 3) {
      cluster.Delete(Kind::kNode, absl::StrCat("n", i));
      if (i < placed_meanwhile) {
        cluster.Set(MakePod().Name(absl::StrCat("p", ++pods)).Request("cpu", "1").Object());
      }
    }
    simulation->RunUntilIdle();
    for (int i = 0; i < kNodes; i += 3) cluster.Set(Node(i, 3));
    simulation->RunUntilIdle();
  }
  // Very many pods and claims come one after the other.
  for (int i = 0; i < 6'000; ++i) {
    auto claim = std::make_shared<api::PersistentVolumeClaim>();
    claim->mutable_metadata()->set_namespace_("default");
    claim->mutable_metadata()->set_name(absl::StrCat("c", i));
    cluster.Set(Object::Of(std::move(claim)));
    cluster.Set(MakePod().Name(absl::StrCat("p", ++pods)).Request("cpu", "1").Object());
  }
  simulation->RunUntilIdle();
  EXPECT_EQ(simulation->scheduler().counters().bound, pods);
  EXPECT_GT(seen.followed, 10);
  EXPECT_GT(seen.moves, 10);
  EXPECT_GT(seen.changes, 1'000);
  EXPECT_EQ(seen.lost, 0);
}

// The first two nodes of one zone go: each lets all others move.
TEST(SyncObserver, IsToldOfMovesOfAllRows) {
  for (const int gone : {1, 2, 3, 5}) {
    Seen seen;
    const Registry registry = WithFollower(seen);
    const auto simulation = Simulate(registry, kConfiguration, Nodes(600, 1));
    simulation->RunUntilIdle();
    for (int i = 0; i < gone; ++i) {
      simulation->cluster().Delete(Kind::kNode, absl::StrCat("n", i));
    }
    simulation->cluster().Set(MakePod().Name("p").Request("cpu", "1").Object());
    simulation->RunUntilIdle();
    EXPECT_EQ(simulation->scheduler().counters().bound, 1);
    EXPECT_GT(seen.moves, 0) << gone;
    EXPECT_EQ(seen.lost, 0) << gone;
  }
}

}  // namespace
}  // namespace berth
