// SPDX-License-Identifier: Apache-2.0
// What a status patch says, and which pod it goes by.
#include "kubernetes/status_patches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/value.h"
#include "berth/mutex.h"
#include "berth/testing/objects.h"
#include "kubernetes/watched_pods.h"

namespace berth {
namespace {

using testing::MakePod;

api::Pod PodOf(absl::string_view json) {
  api::Pod pod;
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(json, "", problems);
  EXPECT_TRUE(DecodeMessage(documents.at(0).root(), {}, pod, problems)) << json;
  return pod;
}

TEST(StatusPatchTest, HasWhatChanges) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  PodStatusChange unschedulable;
  unschedulable.conditions["PodScheduled"] = {.reason = "Unschedulable", .message = "m"};
  PodStatusChange nominated;
  nominated.nominated_node_name = "n";
  PodStatusChange cleared;
  cleared.nominated_node_name = "";
  auto claim = std::make_shared<api::PodExtendedResourceClaimStatus>();
  claim->set_resource_claim_name("p-x");
  api::ContainerExtendedResourceRequest& mapping = *claim->add_request_mappings();
  mapping.set_container_name("c");
  mapping.set_resource_name("v.com/gpu");
  mapping.set_request_name("container-0-request-0");
  PodStatusChange special;
  special.extended_resource_claim = claim;
  struct Case {
    absl::string_view name, pod;
    PodStatusChange change;
    absl::string_view want;
  };
  const Case cases[] = {
      {"a first condition", R"({"metadata":{"uid":"u","generation":2}})", unschedulable,
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"PodScheduled","status":"False",)"
       R"("observedGeneration":2,"lastProbeTime":null,"lastTransitionTime":"1970-01-01T00:16:40Z",)"
       R"("reason":"Unschedulable","message":"m"}]}})"},
      {"another message leaves the time",
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"PodScheduled",)"
       R"("status":"False","reason":"Unschedulable","message":"old",)"
       R"("lastTransitionTime":"1970-01-01T00:00:01Z"}]}})",
       unschedulable,
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"PodScheduled","status":"False",)"
       R"("lastProbeTime":null,"lastTransitionTime":"1970-01-01T00:00:01Z",)"
       R"("reason":"Unschedulable","message":"m"}]}})"},
      {"a turn sets it",
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"PodScheduled",)"
       R"("status":"True","lastTransitionTime":"1970-01-01T00:00:01Z"}]}})",
       unschedulable,
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"PodScheduled","status":"False",)"
       R"("lastProbeTime":null,"lastTransitionTime":"1970-01-01T00:16:40Z",)"
       R"("reason":"Unschedulable","message":"m"}]}})"},
      {"it is so",
       R"({"metadata":{"uid":"u"},"status":{"conditions":[{"type":"PodScheduled",)"
       R"("status":"False","reason":"Unschedulable","message":"m"}]}})",
       unschedulable, ""},
      {"a nomination", R"({"metadata":{"uid":"u"}})", nominated,
       R"({"metadata":{"uid":"u"},"status":{"conditions":[],"nominatedNodeName":"n"}})"},
      {"the same", R"({"metadata":{"uid":"u"},"status":{"nominatedNodeName":"n"}})", nominated, ""},
      {"its end", R"({"metadata":{"uid":"u"},"status":{"nominatedNodeName":"n"}})", cleared,
       R"({"metadata":{"uid":"u"},"status":{"conditions":[],"nominatedNodeName":null}})"},
      {"there was none", R"({"metadata":{"uid":"u"}})", cleared, ""},
      {"a special claim", R"({"metadata":{"uid":"u"}})", special,
       R"({"metadata":{"uid":"u"},"status":{"conditions":[],"extendedResourceClaimStatus":{)"
       R"("requestMappings":[{"containerName":"c","resourceName":"v.com/gpu",)"
       R"("requestName":"container-0-request-0"}],"resourceClaimName":"p-x"}}})"},
      {"the same claim",
       R"({"metadata":{"uid":"u"},"status":{"extendedResourceClaimStatus":{"requestMappings":[)"
       R"({"containerName":"c","resourceName":"v.com/gpu","requestName":"container-0-request-0"}],)"
       R"("resourceClaimName":"p-x"}}})",
       special, ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(StatusPatch(PodOf(c.pod), c.change, now), c.want);
  }
}

// A pod failed, and was placed at once: what was said of it without a node must not come behind.
TEST(StatusPatchesTest, NothingIsWrittenOfAPodThatGetsANode) {
  const Identity pod(Kind::kPod, "default", "p", "uid-1");
  Mutex mutex;
  CondVar changed;
  int begun = 0;
  bool may_end = false, closed = false;
  StatusPatches patches([&](const Identity&, const PodStatusChange&) {
    MutexLock lock(mutex);
    ++begun;
    changed.SignalAll();
    while (!may_end) changed.Wait(mutex);
    EXPECT_FALSE(closed);
    return absl::OkStatus();
  });
  std::thread under_way([&] { EXPECT_TRUE(patches.Apply(pod, {}).ok()); });
  {
    MutexLock lock(mutex);
    while (begun < 1) changed.Wait(mutex);
  }
  std::thread waiting([&] { EXPECT_TRUE(patches.Apply(pod, {}).ok()); });
  std::thread closing([&] {
    patches.Close(pod);
    MutexLock lock(mutex);
    closed = true;
  });
  waiting.join();  // dropped, whether it came before or after
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(closed) << "one is still under way";
    may_end = true;
    changed.SignalAll();
  }
  under_way.join();
  closing.join();
  EXPECT_TRUE(patches.Apply(pod, {}).ok());
  EXPECT_EQ(begun, 1);
  patches.Open(pod);
  closed = false;
  EXPECT_TRUE(patches.Apply(pod, {}).ok());
  EXPECT_EQ(begun, 2);
}

// The thread that waits had its turn and did not run yet; it was dropped, and its turn for ever
// taken.
TEST(StatusPatchesTest, ThePodGetsANodeWhileTheTurnIsPassedOn) {
  for (int round = 0; round < 200; ++round) {
    const Identity pod(Kind::kPod, "default", "p", "uid-1");
    Mutex mutex;
    CondVar changed;
    int begun = 0;
    bool may_end = false;
    StatusPatches patches([&](const Identity&, const PodStatusChange&) {
      MutexLock lock(mutex);
      ++begun;
      changed.SignalAll();
      while (!may_end) changed.Wait(mutex);
      return absl::OkStatus();
    });
    std::thread under_way([&] {
      EXPECT_TRUE(patches.Apply(pod, {}).ok());
      patches.Close(pod);  // before the other thread runs, mostly
    });
    {
      MutexLock lock(mutex);
      while (begun < 1) changed.Wait(mutex);
    }
    std::thread waiting([&] { EXPECT_TRUE(patches.Apply(pod, {}).ok()); });
    absl::SleepFor(absl::Milliseconds(1));
    {
      MutexLock lock(mutex);
      may_end = true;
      changed.SignalAll();
    }
    under_way.join();
    waiting.join();
    EXPECT_LE(begun, 2);
    patches.Open(pod);
    EXPECT_TRUE(patches.Apply(pod, {}).ok());
  }
}

// Forgets what it is given.
class Nowhere final : public WatchSink {
 public:
  void Deliver(std::vector<WatchEvent>) override {}
};

Object Version(absl::string_view version, absl::string_view nominated = "") {
  auto pod = std::make_shared<api::Pod>(MakePod().Name("p").Uid("u").Object().As<api::Pod>());
  pod->mutable_metadata()->set_resource_version(std::string(version));
  pod->mutable_status()->set_nominated_node_name(std::string(nominated));
  return Object::Of(std::move(pod));
}

std::string Nominated(const WatchedPods& pods) {
  std::string node = "unknown";
  const auto pod = pods.Find(*Version("1").identity());
  if (pod == nullptr) return node;
  pod->ReadOwn([&](const api::Pod& own) { node = own.status().nominated_node_name(); });
  return node;
}

// A patch that would be compared with a state from before the last one might wrongly be left out.
TEST(WatchedPodsTest, AnAnswerCountsUntilTheWatchHasCaughtUp) {
  Nowhere nowhere;
  WatchedPods pods;
  pods.SetSink(nowhere);
  EXPECT_EQ(Nominated(pods), "unknown");
  pods.TakeAnswer(Version("9", "z").packed());  // of what is not watched nothing is kept
  EXPECT_EQ(Nominated(pods), "unknown");
  pods.DeliverOne({WatchEvent::Type::kSet, Version("5", "")});
  pods.TakeAnswer(Version("10", "n").packed());
  EXPECT_EQ(Nominated(pods), "n");
  pods.DeliverOne({WatchEvent::Type::kSet, Version("9", "")});
  EXPECT_EQ(Nominated(pods), "n");
  pods.TakeAnswer(Version("8", "m").packed());  // overtaken by another
  EXPECT_EQ(Nominated(pods), "n");
  pods.Deliver({{WatchEvent::Type::kSet, Version("11", "k")}});
  EXPECT_EQ(Nominated(pods), "k");
  pods.DeliverOne({WatchEvent::Type::kDeleted, Version("12")});
  EXPECT_EQ(Nominated(pods), "unknown");
}

}  // namespace
}  // namespace berth
