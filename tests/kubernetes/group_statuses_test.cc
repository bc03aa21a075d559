// SPDX-License-Identifier: Apache-2.0
// The statuses of PodGroups and ElasticQuotas: the rules of their controllers, and when they are
// written.
#include "kubernetes/group_statuses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/testing/objects.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using testing::MakePod;
using ::testing::Pair;

TEST(NextStatusTest, IsThatOfTheController) {
  struct Case {
    absl::string_view name, phase;
    GroupPods pods;
    absl::string_view want;
  };
  // The status of a group of three. After scheduler-plugins v0.35 podgroup_controller_test.go.
  const Case cases[] = {
      {"new", "", {}, "Pending"},
      {"new, and its pods are there", "", {.all = 3}, "Scheduling"},
      {"too few pods", "Pending", {.all = 2, .running = 2}, "Pending"},
      {"all are there", "Pending", {.all = 3}, "Scheduling"},
      {"all run", "Pending", {.all = 3, .running = 3}, "Running"},
      {"some run", "Scheduling", {.all = 3, .running = 2}, "Scheduling"},
      {"enough of many", "Scheduling", {.all = 9, .running = 3}, "Running"},
      {"some have finished", "Running", {.all = 3, .running = 1, .succeeded = 2}, "Running"},
      {"one was evicted", "Running", {.all = 3, .running = 2}, "Scheduling"},
      {"pods are gone", "Running", {.all = 2, .running = 2}, "Pending"},
      {"one failed, others start", "Running", {.all = 3, .running = 1, .failed = 1}, "Scheduling"},
      {"one failed", "Running", {.all = 3, .running = 2, .failed = 1}, "Failed"},
      {"all finished", "Running", {.all = 3, .succeeded = 3}, "Finished"},
      {"enough finished", "Running", {.all = 4, .succeeded = 3, .failed = 1}, "Finished"},
      {"the end is for good", "Finished", {}, "Finished"},
      {"and failure too", "Failed", {.all = 3, .running = 3}, "Failed"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    api::PodGroup group;
    group.mutable_spec()->set_min_member(3);
    group.mutable_status()->set_phase(std::string(c.phase));
    EXPECT_EQ(NextStatus(group, c.pods).phase(), c.want);
  }
}

TEST(NextStatusTest, CountsAndOwnersAreWritten) {
  api::PodGroup group;
  group.mutable_spec()->set_min_member(1);
  group.mutable_status()->set_failed(7);
  const api::PodGroupStatus status =
      NextStatus(group, {.all = 3, .running = 1, .succeeded = 0, .occupied_by = "default/job"});
  EXPECT_EQ(status.DebugString(), "phase: \"Running\"\noccupied_by: \"default/job\"\nrunning: 1\n");
}

TEST(NextStatusTest, AGroupThatBeganTwoDaysAfterItsCreationIsLeftAlone) {
  api::PodGroup group;
  group.mutable_status()->set_phase("Pending");
  group.mutable_metadata()->mutable_creation_timestamp()->set_seconds(1);
  group.mutable_status()->mutable_schedule_start_time()->set_seconds(2 + 48 * 3600);
  EXPECT_EQ(NextStatus(group, {.all = 3}).phase(), "Pending");
}

TEST(UsedByPodTest, IsTheSumOfContainersOrTheLargestInitContainer) {
  const Object pod = MakePod()
                         .Container()
                         .Request("cpu", "1")
                         .Container()
                         .Request("cpu", "500m")
                         .Request("memory", "1Gi")
                         .InitContainer()
                         .Request("memory", "3Gi")
                         .Request("cpu", "1200m")
                         .InitContainer()
                         .Request("acme.com/x", "1")
                         .Overhead("cpu", "10")
                         .Object();
  std::map<std::string, std::string> used;
  for (const auto& [name, quantity] : UsedByPod(pod.As<api::Pod>().spec())) {
    used[name] = quantity.ToString();
  }
  EXPECT_THAT(used,
              ElementsAre(Pair("acme.com/x", "1"), Pair("cpu", "1500m"), Pair("memory", "3Gi")));
}

class Nowhere final : public WatchSink {
 public:
  void Deliver(std::vector<WatchEvent>) override {}
};

class GroupStatusesTest : public ::testing::Test {
 protected:
  ~GroupStatusesTest() override { statuses_.Stop(); }

  void Start() { statuses_.Start(nowhere_, {Kind::kPod, Kind::kPodGroup, Kind::kElasticQuota}); }
  void Set(const Object& object) { statuses_.DeliverOne({WatchEvent::Type::kSet, object}); }
  void Delete(const Object& object) { statuses_.Deliver({{WatchEvent::Type::kDeleted, object}}); }

  static Object Group(int32_t minimum, absl::string_view phase = "") {
    auto group = std::make_shared<api::PodGroup>();
    group->mutable_metadata()->set_name("g");
    group->mutable_metadata()->set_namespace_("default");
    group->mutable_spec()->set_min_member(minimum);
    if (!phase.empty()) group->mutable_status()->set_phase(std::string(phase));
    return Object::Of(std::move(group));
  }
  static Object Member(const std::string& name, const std::string& phase) {
    auto pod = std::make_shared<api::Pod>(MakePod()
                                              .Name(name)
                                              .Label(kGroupLabel, "g")
                                              .ControlledBy("Job", "j")
                                              .Container()
                                              .Request("cpu", "500m")
                                              .Object()
                                              .As<api::Pod>());
    pod->mutable_status()->set_phase(phase);
    return Object::Of(std::move(pod));
  }
  static Object Quota() {
    auto quota = std::make_shared<api::ElasticQuota>();
    quota->mutable_metadata()->set_name("q");
    quota->mutable_metadata()->set_namespace_("default");
    (*quota->mutable_spec()->mutable_max())["memory"].set_string("1Gi");
    return Object::Of(std::move(quota));
  }
  // The next status that is written, as text. The watch then shows it.
  std::string Written() {
    Object object = [this] {
      MutexLock lock(mutex_);
      while (written_.empty()) changed_.Wait(mutex_);
      Object first = written_.front();
      written_.pop_front();
      return first;
    }();
    Set(object);
    if (object.kind() == Kind::kPodGroup) return object.As<api::PodGroup>().status().DebugString();
    std::string text;
    const auto& used = object.As<api::ElasticQuota>().status().used();
    for (const auto& [name, quantity] :
         std::map<std::string, api::Quantity>(used.begin(), used.end())) {
      absl::StrAppend(&text, name, "=", quantity.string(), " ");
    }
    return text;
  }
  bool NothingIsWritten() {
    absl::SleepFor(absl::Milliseconds(100));
    MutexLock lock(mutex_);
    return written_.empty();
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Object> written_ ABSL_GUARDED_BY(mutex_);
  std::deque<absl::Status> refusals_ ABSL_GUARDED_BY(mutex_);
  std::vector<Object> ended_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  bool may_write_ ABSL_GUARDED_BY(mutex_) = true;
  Nowhere nowhere_;
  GroupStatuses statuses_{
      {.update =
           [this](const ObjectUpdate& update) {
             EXPECT_EQ(update.part, ObjectUpdate::Part::kStatus);
             MutexLock lock(mutex_);
             if (!refusals_.empty()) {
               const absl::Status refusal = refusals_.front();
               refusals_.pop_front();
               return refusal;
             }
             written_.push_back(update.object);
             changed_.SignalAll();
             return absl::OkStatus();
           },
       .read_pod = [this](const Identity& pod) -> absl::StatusOr<Object> {
         MutexLock lock(mutex_);
         asked_.push_back(absl::StrCat("read ", pod.name()));
         for (const Object& ended : ended_) {
           if (ended.uid() == pod.uid()) return ended;
         }
         return absl::NotFoundError("gone");
       },
       .list_ended =
           [this](const Identity* group, const std::string& version) {
             MutexLock lock(mutex_);
             asked_.push_back(
                 absl::StrCat("list ", group == nullptr ? "all" : group->key(), " ", version));
             return absl::StatusOr<std::vector<Object>>(ended_);
           },
       .may_write =
           [this] {
             MutexLock lock(mutex_);
             return may_write_;
           }},
      absl::Milliseconds(10)};
};

TEST_F(GroupStatusesTest, AGroupsLife) {
  Start();
  Set(Member("a", "Pending"));
  Set(Group(2));
  EXPECT_EQ(Written(), "phase: \"Pending\"\n");
  Set(Member("b", "Pending"));
  EXPECT_EQ(Written(), "phase: \"Scheduling\"\noccupied_by: \"default/j\"\n");
  Set(Member("a", "Running"));
  Set(Member("b", "Running"));
  std::string status = Written();
  // They may have been seen one by one.
  if (status.find("running: 2") == std::string::npos) status = Written();
  EXPECT_EQ(status, "phase: \"Running\"\noccupied_by: \"default/j\"\nrunning: 2\n");
  EXPECT_TRUE(NothingIsWritten());
  // Pods that end are gone from the watch; the server is asked what became of them.
  {
    MutexLock lock(mutex_);
    ended_ = {Member("a", "Succeeded"), Member("b", "Succeeded")};
  }
  Delete(Member("a", "Running"));
  Delete(Member("b", "Running"));
  status = Written();
  if (status.find("succeeded: 2") == std::string::npos) status = Written();
  EXPECT_EQ(status, "phase: \"Finished\"\noccupied_by: \"default/j\"\nsucceeded: 2\n");
  Set(Member("c", "Running"));
  EXPECT_TRUE(NothingIsWritten());
}

// A list costs the server much: there was one for each group, and for each pod that left.
TEST_F(GroupStatusesTest, TheServerIsAskedForAllOnceAndThenForThoseThatAreGone) {
  const auto wait_for = [this](absl::string_view text) {
    std::string status;
    while (!absl::StrContains(status, text)) status = Written();
  };
  const auto asked = [this] {
    MutexLock lock(mutex_);
    return std::exchange(asked_, {});
  };
  {
    MutexLock lock(mutex_);
    ended_ = {Member("a", "Succeeded")};
  }
  Start();
  Set(Member("b", "Running"));
  Set(Group(20));
  wait_for("Pending");
  for (int i = 0; i < 30; ++i) Set(Member(absl::StrCat("m", i), "Running"));
  wait_for("running: 31\nsucceeded: 1\n");
  EXPECT_THAT(asked(), ElementsAre("list all 0"));
  {
    MutexLock lock(mutex_);
    ended_.push_back(Member("b", "Succeeded"));
  }
  Delete(Member("b", "Running"));
  wait_for("running: 30\nsucceeded: 2\n");
  EXPECT_THAT(asked(), ElementsAre("read b"));
  // Many at once are listed, as of the last of them; one that the server has no more is gone.
  std::vector<WatchEvent> deleted;
  for (int i = 0; i < 10; ++i) {
    const Object member = Member(absl::StrCat("m", i), "Succeeded");
    auto pod = std::make_shared<api::Pod>(member.As<api::Pod>());
    pod->mutable_metadata()->set_resource_version(absl::StrCat(70 + i));
    deleted.push_back({WatchEvent::Type::kDeleted, Object::Of(std::move(pod))});
    MutexLock lock(mutex_);
    if (i > 0) ended_.push_back(member);
  }
  statuses_.Deliver(std::move(deleted));
  wait_for("running: 20\nsucceeded: 11\n");
  EXPECT_THAT(asked(), ElementsAre("list default/g 79"));
}

TEST_F(GroupStatusesTest, WhatAQuotaUsesRuns) {
  Start();
  Set(Member("a", "Running"));
  Set(Quota());
  EXPECT_EQ(Written(), "cpu=500m memory=0 ");
  Set(Member("b", "Running"));
  EXPECT_EQ(Written(), "cpu=1 memory=0 ");
  Set(Member("c", "Pending"));
  EXPECT_TRUE(NothingIsWritten());
  Delete(Member("a", "Running"));
  Delete(Member("b", "Running"));
  std::string used = Written();
  if (used != "memory=0 ") used = Written();
  EXPECT_EQ(used, "memory=0 ");
}

TEST_F(GroupStatusesTest, ARefusalIsTriedAgain) {
  {
    MutexLock lock(mutex_);
    refusals_ = {absl::AbortedError("changed"), absl::UnavailableError("down")};
  }
  Start();
  Set(Group(2));
  EXPECT_EQ(Written(), "phase: \"Pending\"\n");
}

TEST_F(GroupStatusesTest, OnlyWhoLeadsWrites) {
  {
    MutexLock lock(mutex_);
    may_write_ = false;
  }
  Start();
  Set(Group(2));
  EXPECT_TRUE(NothingIsWritten());
  {
    MutexLock lock(mutex_);
    may_write_ = true;
  }
  EXPECT_EQ(Written(), "phase: \"Pending\"\n");
}

TEST_F(GroupStatusesTest, WithoutGroupsAndQuotasItDoesNothing) {
  statuses_.Start(nowhere_, {Kind::kPod});
  Set(Group(2));
  Set(Quota());
  EXPECT_TRUE(NothingIsWritten());
}

}  // namespace
}  // namespace berth
