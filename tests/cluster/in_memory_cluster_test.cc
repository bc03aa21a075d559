// SPDX-License-Identifier: Apache-2.0
// What the in-memory cluster does by itself as time passes, and how it fails when told to.
#include "berth/in_memory_cluster.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/executor.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using testing::MakeNode;
using testing::MakePod;

// As AddPod() makes it.
IdentityPtr PodNamed(const std::string& name) {
  return std::make_shared<const Identity>(Kind::kPod, "default", name, absl::StrCat(name, "-uid"));
}

// What copies of an object share: this very state of it.
std::shared_ptr<const void> StateOf(const Object& object) {
  if (object.is_packed()) return object.packed();
  return object.shared_message();
}

const std::vector<Kind> kAllKinds(AllKinds().begin(), AllKinds().end());

// Writes down what is delivered: "+Node/n", "-Pod/default/p".
class Recorder final : public WatchSink {
 public:
  void Deliver(std::vector<WatchEvent> events) override {
    for (const WatchEvent& event : events) {
      if (!event.object.has_value()) continue;
      const bool deleted = event.type == WatchEvent::Type::kDeleted;
      seen.push_back(absl::StrCat(deleted ? "-" : "+", event.object->name()));
      const std::string uid(event.object->uid());
      if (deleted) {
        known.erase(uid);
      } else {
        known.insert_or_assign(uid, *event.object);
      }
    }
  }
  std::vector<std::string> seen;
  std::map<std::string, Object> known;
};

class InMemoryClusterTest : public ::testing::Test {
 protected:
  ~InMemoryClusterTest() override { cluster_.StopWatching(); }

  void Watch() { ASSERT_TRUE(cluster_.Watch(sink_, kAllKinds).ok()); }
  void AddPod(const std::string& name, const std::string& run_time = "") {
    auto pod = MakePod().Name(name).Uid(absl::StrCat(name, "-uid"));
    if (!run_time.empty()) pod.Annotation("simulation.berth/run-time", run_time);
    cluster_.Set(pod.Object());
  }
  absl::Status Bind(const std::string& name) { return cluster_.Bind({PodNamed(name), "n"}); }
  const api::Pod* Pod(const std::string& name) {
    held_ = cluster_.Find(Kind::kPod, absl::StrCat("default/", name));
    return static_cast<const api::Pod*>(held_.get());
  }
  void Advance(absl::Duration by) {
    clock_.Advance(by);
    cluster_.AdvanceTo(clock_.Now());
  }

  SimulatedClock clock_{absl::UnixEpoch()};
  InMemoryCluster cluster_{clock_};
  Recorder sink_;
  std::shared_ptr<const google::protobuf::Message> held_;
};

TEST_F(InMemoryClusterTest, APodWithARunTimeFinishesThatLongAfterItIsBound) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p", "90s");
  Advance(absl::Minutes(5));
  EXPECT_EQ(cluster_.NextDue(), absl::InfiniteFuture()) << "it does not run yet";
  ASSERT_TRUE(Bind("p").ok());
  EXPECT_EQ(cluster_.NextDue(), clock_.Now() + absl::Seconds(90));
  Advance(absl::Seconds(89));
  EXPECT_EQ(Pod("p")->status().phase(), "Running");
  Advance(absl::Seconds(1));
  EXPECT_EQ(Pod("p")->status().phase(), "Succeeded");
}

TEST_F(InMemoryClusterTest, AConditionHasTheTimeOfItsLastChange) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p");
  PodStatusPatch patch;
  patch.pod = PodNamed("p");
  patch.condition_type = "PodScheduled";
  patch.condition_reason = "Unschedulable";
  const auto changed = [&] { return Pod("p")->status().conditions(0).last_transition_time(); };
  Advance(absl::Milliseconds(10'500));
  ASSERT_TRUE(cluster_.PatchPodStatus(patch).ok());
  EXPECT_EQ(changed().seconds(), 10);
  EXPECT_EQ(changed().nanos(), 0) << "the API server keeps whole seconds";
  Advance(absl::Seconds(10));
  patch.condition_reason = "SchedulerError";
  ASSERT_TRUE(cluster_.PatchPodStatus(patch).ok());
  EXPECT_EQ(changed().seconds(), 10) << "it is as false as before";
  Advance(absl::Seconds(10));
  ASSERT_TRUE(Bind("p").ok());
  EXPECT_EQ(changed().seconds(), 30);
}

TEST_F(InMemoryClusterTest, APodThatHasEndedDoesNotRunAgainBecauseItIsBound) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p");
  cluster_.Finish("default/p");
  ASSERT_TRUE(Bind("p").ok());
  EXPECT_EQ(Pod("p")->status().phase(), "Succeeded");
}

TEST_F(InMemoryClusterTest, APodThatIsSetWithoutAUidIsTheOneThatWasThere) {
  Watch();
  AddPod("p");
  cluster_.Set(MakePod().Name("p").Uid("").Label("app", "new").Object());
  EXPECT_THAT(sink_.seen, ElementsAre("+p", "+p")) << "it has not been deleted";
  EXPECT_EQ(Pod("p")->metadata().uid(), "p-uid");
  EXPECT_EQ(Pod("p")->metadata().labels().at("app"), "new");
  cluster_.Set(MakePod().Name("p").Uid("another").Object());
  EXPECT_THAT(sink_.seen, ElementsAre("+p", "+p", "-p", "+p"));
}

TEST_F(InMemoryClusterTest, ARunTimeEndsThePodItBelongsToAndNotItsSuccessor) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p", "10s");
  ASSERT_TRUE(Bind("p").ok());
  cluster_.Delete(Kind::kPod, "default/p");
  const Object successor = MakePod().Name("p").Uid("another").Object();
  cluster_.Set(successor);
  EXPECT_TRUE(absl::IsNotFound(Bind("p"))) << "it is not the pod that was meant";
  ASSERT_TRUE(cluster_.Bind({successor.identity(), "n"}).ok());
  Advance(absl::Seconds(20));
  EXPECT_EQ(Pod("p")->status().phase(), "Running");
}

TEST_F(InMemoryClusterTest, AGracefulDeletionTakesItsTimeOnANodeOnly) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("bound");
  AddPod("pending");
  ASSERT_TRUE(Bind("bound").ok());
  EXPECT_TRUE(cluster_.DeleteGracefully("default/bound"));
  EXPECT_TRUE(cluster_.DeleteGracefully("default/pending"));
  EXPECT_FALSE(cluster_.DeleteGracefully("default/nobody"));
  EXPECT_EQ(Pod("pending"), nullptr);
  ASSERT_NE(Pod("bound"), nullptr);
  EXPECT_TRUE(Pod("bound")->metadata().has_deletion_timestamp());
  Advance(absl::Seconds(10));
  EXPECT_TRUE(cluster_.DeleteGracefully("default/bound")) << "a second time changes nothing";
  Advance(absl::Seconds(20));
  EXPECT_EQ(Pod("bound"), nullptr);
  EXPECT_TRUE(cluster_.Evictions().empty());
}

TEST_F(InMemoryClusterTest, BindingsFailAsOftenAsTheFaultsSay) {
  cluster_.Set(MakeNode().Name("n").Object());
  cluster_.SetFaults({.seed = 7, .bind_failure = 0.2, .lost_answer = 0.1});
  int refused = 0;
  int lost = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = absl::StrCat("p", i);
    AddPod(name);
    const absl::Status status = Bind(name);
    const bool bound = !Pod(name)->spec().node_name().empty();
    if (absl::IsUnavailable(status)) {
      ++refused;
      EXPECT_FALSE(bound);
    } else {
      if (absl::IsDeadlineExceeded(status)) ++lost;
      EXPECT_TRUE(bound) << status;
    }
  }
  EXPECT_NEAR(refused, 200, 50);
  EXPECT_NEAR(lost, 80, 40);
}

TEST_F(InMemoryClusterTest, EventsOfOneObjectStayInOrderWhateverHappensToThem) {
  Watch();
  cluster_.SetFaults({.seed = 3, .delayed_event = 0.5, .duplicated_event = 0.3, .relist = 0.05});
  int overtaken = 0;
  std::map<std::string, int> last;
  for (int i = 0; i < 300; ++i) {
    const std::string name = absl::StrCat("p", i % 7);
    cluster_.Set(MakePod().Name(name).Uid(name).Label("version", absl::StrCat(i)).Object());
    if (i % 5 == 0) Advance(absl::Milliseconds(200));
    int newest = -1;
    for (const auto& [uid, object] : sink_.known) {
      const auto& pod = object.As<api::Pod>();
      const int version = std::stoi(pod.metadata().labels().at("version"));
      EXPECT_GE(version, last[uid]) << uid << " went back";
      last[uid] = version;
      newest = std::max(newest, version);
    }
    if (newest < i) ++overtaken;
  }
  EXPECT_GT(overtaken, 30) << "nothing was late";
  EXPECT_GT(sink_.seen.size(), 350u) << "nothing came twice";
  Advance(absl::Seconds(10));
  for (const Object& object : cluster_.List(Kind::kPod)) {
    EXPECT_EQ(StateOf(sink_.known.at(std::string(object.uid()))), StateOf(object))
        << object.key() << " is not what the watch ended with";
  }
}

TEST_F(InMemoryClusterTest, WhenTheWatchBreaksWhatWasLostShowsInTheNewList) {
  cluster_.Set(MakeNode().Name("old").Object());
  cluster_.Set(MakeNode().Name("kept").Object());
  Watch();
  cluster_.SetFaults({.delayed_event = 1});
  cluster_.Delete(Kind::kNode, "old");
  cluster_.Set(MakeNode().Name("fleeting").Object());
  cluster_.Delete(Kind::kNode, "fleeting");
  cluster_.Set(MakeNode().Name("new").Object());
  EXPECT_THAT(sink_.seen, ElementsAre("+old", "+kept"));
  cluster_.Relist();
  EXPECT_THAT(sink_.seen, ElementsAre("+old", "+kept", "-old", "+kept", "+new"));
  Advance(absl::Seconds(10));
  EXPECT_EQ(sink_.seen.size(), 5u) << "what was lost came all the same";
}

TEST_F(InMemoryClusterTest, ASlowBindingOnASimulatedExecutorLetsEverythingElseGoOn) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p");
  AddPod("q");
  cluster_.SetBindDelay([](const Identity& pod, const std::string&) {
    return pod.name() == "p" ? absl::Seconds(5) : absl::Seconds(2);
  });
  SimulatedExecutor executor(clock_, [&] { return cluster_.MayDelayBindings(); });
  std::vector<std::string> done;
  for (const char* name : {"p", "q"}) {
    executor.Run([&, name] {
      EXPECT_TRUE(Bind(name).ok());
      done.push_back(absl::StrCat(name, absl::FormatDuration(clock_.Now() - absl::UnixEpoch())));
    });
  }
  EXPECT_TRUE(done.empty());
  EXPECT_TRUE(Pod("p")->spec().node_name().empty());
  EXPECT_EQ(executor.NextDue(), absl::UnixEpoch() + absl::Seconds(2));
  for (int second = 0; second < 6; ++second) {
    Advance(absl::Seconds(1));
    executor.RunDue();
  }
  EXPECT_THAT(done, ElementsAre("q2s", "p5s"));
}

TEST_F(InMemoryClusterTest, ASleepEndsThoughTheClockCountsWholeNanoseconds) {
  SimulatedExecutor executor(clock_);
  bool done = false;
  executor.Run([&] {
    clock_.SleepUntil(clock_.Now() + absl::Nanoseconds(1.25));
    done = true;
  });
  clock_.AdvanceTo(executor.NextDue());
  executor.RunDue();
  EXPECT_TRUE(done);
}

TEST_F(InMemoryClusterTest, WithoutASimulatedExecutorASlowBindingTakesTheClockWithIt) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p");
  cluster_.SetBindDelay([](const Identity&, const std::string&) { return absl::Seconds(5); });
  ASSERT_TRUE(Bind("p").ok());
  EXPECT_EQ(clock_.Now(), absl::UnixEpoch() + absl::Seconds(5));
}

TEST_F(InMemoryClusterTest, AnExecutorThatGoesSeesSleepingWorkThrough) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p");
  cluster_.SetBindDelay([](const Identity&, const std::string&) { return absl::Hours(1); });
  {
    SimulatedExecutor executor(clock_);
    executor.Run([&] { EXPECT_TRUE(Bind("p").ok()); });
    EXPECT_TRUE(Pod("p")->spec().node_name().empty());
  }
  EXPECT_EQ(Pod("p")->spec().node_name(), "n");
  EXPECT_EQ(clock_.Now(), absl::UnixEpoch());
}

TEST_F(InMemoryClusterTest, AFaultMayChangeTheClusterBeforeItRefuses) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("p");
  cluster_.SetBindFault([&](const Identity&, const std::string& node) {
    cluster_.Set(MakePod().Name("faster").NodeName(node).Object());
    return absl::AbortedError("another scheduler was faster");
  });
  EXPECT_TRUE(absl::IsAborted(Bind("p")));
  EXPECT_NE(Pod("faster"), nullptr);
}

// On real clocks and threads: what is sent is what is seen in the end.
TEST(InMemoryClusterThreads, FaultsFromManyThreads) {
  const RealClock clock;
  InMemoryCluster cluster(clock);
  Recorder sink;
  ASSERT_TRUE(cluster.Watch(sink, kAllKinds).ok());
  cluster.SetFaults({.seed = 1,
                     .bind_failure = 0.2,
                     .slow_bind = 0.2,
                     .min_bind_delay = absl::Microseconds(10),
                     .max_bind_delay = absl::Milliseconds(2),
                     .delayed_event = 0.5,
                     .max_event_delay = absl::Milliseconds(5),
                     .duplicated_event = 0.2,
                     .relist = 0.02});
  cluster.Set(MakeNode().Name("n").Object());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = absl::StrCat("p", t, "-", i);
        cluster.Set(MakePod().Name(name).Object());
        (void)cluster.Bind({PodNamed(name), "n"});
        if (i % 3 == 0) cluster.Delete(Kind::kPod, absl::StrCat("default/", name));
        cluster.AdvanceTo(clock.Now());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cluster.AdvanceTo(clock.Now() + absl::Seconds(1));
  std::map<std::string, std::shared_ptr<const void>> seen, there;
  for (const auto& [uid, object] : sink.known) seen.emplace(uid, StateOf(object));
  for (const Kind kind : {Kind::kNode, Kind::kPod}) {
    for (const Object& object : cluster.List(kind)) {
      there.emplace(std::string(object.uid()), StateOf(object));
    }
  }
  EXPECT_EQ(seen, there);
  cluster.StopWatching();
}

TEST_F(InMemoryClusterTest, OnlyTheKindsThatAreWatchedAreDelivered) {
  cluster_.Set(MakeNode().Name("n").Object());
  AddPod("before");
  ASSERT_TRUE(cluster_.Watch(sink_, {Kind::kPod}).ok());
  cluster_.Set(MakeNode().Name("m").Object());
  AddPod("after");
  EXPECT_TRUE(cluster_.Delete(Kind::kNode, "n"));
  cluster_.Relist();
  EXPECT_THAT(sink_.seen, ElementsAre("+before", "+after", "+before", "+after"));
}

// With a name, or a part of one to be generated.
Object ClaimNamed(const std::string& name, const std::string& generate_name = "",
                  const std::string& finalizer = "") {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->mutable_metadata()->set_namespace_("default");
  claim->mutable_metadata()->set_name(name);
  claim->mutable_metadata()->set_generate_name(generate_name);
  if (!finalizer.empty()) claim->mutable_metadata()->add_finalizers(finalizer);
  return Object::Of(std::move(claim));
}

TEST_F(InMemoryClusterTest, CreatesAndDeletesObjects) {
  const absl::StatusOr<Object> first = cluster_.Create(ClaimNamed("", "p-"));
  const absl::StatusOr<Object> second = cluster_.Create(ClaimNamed("", "p-"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->key(), "default/p-0");
  EXPECT_EQ(second->key(), "default/p-1");
  EXPECT_NE(first->uid(), second->uid());
  EXPECT_TRUE(absl::IsAlreadyExists(cluster_.Create(ClaimNamed("p-1")).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(cluster_.Create(MakePod().Object()).status()));
  ASSERT_TRUE(cluster_.Delete(*first->identity()).ok());
  EXPECT_TRUE(absl::IsNotFound(cluster_.Delete(*first->identity())));
  // One of that name that is another.
  const absl::StatusOr<Object> again = cluster_.Create(ClaimNamed("", "p-"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->key(), "default/p-0");
  EXPECT_TRUE(absl::IsNotFound(cluster_.Delete(*first->identity())));
  EXPECT_EQ(cluster_.List(Kind::kResourceClaim).size(), 2U);
}

TEST_F(InMemoryClusterTest, AFinalizerKeepsAnObjectThatIsDeleted) {
  const absl::StatusOr<Object> claim = cluster_.Create(ClaimNamed("c", "", "a/b"));
  ASSERT_TRUE(claim.ok());
  ASSERT_TRUE(cluster_.Delete(*claim->identity()).ok());
  const auto leaving = std::static_pointer_cast<const api::ResourceClaim>(
      cluster_.Find(Kind::kResourceClaim, "default/c"));
  ASSERT_NE(leaving, nullptr);
  EXPECT_TRUE(leaving->metadata().has_deletion_timestamp());
  ASSERT_TRUE(cluster_
                  .Edit({.object = claim->identity(),
                         .edit =
                             [](google::protobuf::Message& latest) {
                               static_cast<api::ResourceClaim&>(latest)
                                   .mutable_metadata()
                                   ->clear_finalizers();
                               return absl::OkStatus();
                             }})
                  .ok());
  EXPECT_EQ(cluster_.Find(Kind::kResourceClaim, "default/c"), nullptr);
}

}  // namespace
}  // namespace berth
