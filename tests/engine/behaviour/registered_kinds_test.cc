// SPDX-License-Identifier: Apache-2.0
// A plugin that watches a kind of its own.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/value.h"
#include "berth/cluster.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/handle.h"
#include "berth/framework/prefilter.h"
#include "gmock/gmock.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

Kind PoolKind() {
  return RegisterKind({"example.com", "v1", "LicencePool", "licencepools", true}).value();
}

// Lets pods in as long as the pool of their namespace has a seat.
class Licences final : public Plugin, public PreFilterPlugin, public EnqueueExtensions {
 public:
  explicit Licences(Handle& handle) : handle_(handle) {}
  absl::string_view Name() const override { return "Licences"; }

  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::Of(PoolKind()), action::kAdd | action::kUpdate}, nullptr}};
  }

  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) override {
    const Object* const pool =
        handle_.objects().Find(PoolKind(), pod.namespace_name().view(), "solver");
    if (pool == nullptr) return Status::Unschedulable("there are no licences");
    EXPECT_TRUE(absl::IsInvalidArgument(handle_.Update({*pool})));  // they are only read
    Problems problems;
    const std::vector<Document> read = ReadDocuments(pool->json(), pool->ToString(), problems);
    const int64_t seats = read[0].root().Find("spec").Find("seats").AsInt64().value_or(0);
    return seats > 0 ? Status::Success() : Status::Unschedulable("no licence has a free seat");
  }

 private:
  Handle& handle_;
};

Object Pool(int seats) {
  return testing::ObjectsFromYaml(
             absl::StrCat(
                 "{apiVersion: example.com/v1, kind: LicencePool, metadata: {name: solver}, "
                 "spec: {seats: ",
                 seats, "}}"))
      .at(0);
}

TEST(RegisteredKinds, AnObjectOfAPluginsOwnKindWakesItsPods) {
  PoolKind();
  const Registry registry =
      BuiltinRegistry(
          {{"Licences",
            [](const PluginArgs&, Handle& handle) -> absl::StatusOr<std::unique_ptr<Plugin>> {
              return std::make_unique<Licences>(handle);
            }}})
          .value();
  KubeSchedulerConfiguration configuration = DefaultConfiguration(registry);
  configuration.profiles[0].multi_point.enabled.push_back({.name = "Licences"});
  World world(configuration, registry);
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuPod("p", "1").Object());
  world.Run();
  EXPECT_THAT(world.Pending("p").message, ::testing::HasSubstr("there are no licences"));

  world.Set(Pool(0));
  world.Advance(absl::Seconds(10));
  EXPECT_THAT(world.Pending("p").message, ::testing::HasSubstr("no licence has a free seat"));

  world.Set(Pool(2));
  world.Advance(absl::Seconds(10));
  EXPECT_EQ(world.NodeOf("p"), "n0");
}

}  // namespace
}  // namespace berth
