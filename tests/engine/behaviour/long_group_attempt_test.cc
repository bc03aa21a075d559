// SPDX-License-Identifier: Apache-2.0
// An attempt on a group takes in events between its members; those that change the group end it.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kMembers = 12;

// Six nodes, room for two members on each and for more on the last; a group that takes in events
// after each member.
class LongGroupAttempt : public ::testing::Test {
 protected:
  LongGroupAttempt() {
    std::vector<Object> objects;
    for (int i = 0; i < 6; ++i) objects.push_back(MakeGpuNode(absl::StrCat("n", i), 2));
    objects.push_back(MakeGpuNode("large", 8));
    simulation_ = *Simulation::Create({.configuration = GangConfiguration(),
                                       .registry = &Builtins(),
                                       .objects = std::move(objects),
                                       .work_budget_steps = 1});
    simulation_->scheduler().ObserveAttempts([this](const AttemptRecord& attempt) {
      if (!attempt.yielded) return;
      EXPECT_THAT(attempt.outcomes, IsEmpty());
      ++stops_;
      if (at_stop_ != nullptr && stops_ < 1'000) at_stop_(stops_);
    });
    simulation_->RunUntilIdle();
  }

  static Object Member(int i, const std::string& colour = "") {
    auto pod =
        std::make_shared<api::Pod>(MakeGpuPod(absl::StrCat("m", i), 1, "gang").As<api::Pod>());
    (*pod->mutable_metadata()->mutable_labels())["colour"] = colour;
    return Object::Of(std::move(pod));
  }
  void AddGroup() {
    cluster().Set(MakeGroup("gang", kMembers));
    for (int i = 0; i < kMembers; ++i) cluster().Set(Member(i));
    simulation_->RunUntilIdle();
  }
  InMemoryCluster& cluster() { return simulation_->cluster(); }
  int64_t attempts() const { return simulation_->scheduler().counters().attempts; }
  std::vector<std::string> NodesInUse() {
    std::vector<std::string> nodes;
    for (const Object& object : cluster().List(Kind::kPod)) {
      const std::string& node = object.As<api::Pod>().spec().node_name();
      if (!node.empty()) nodes.push_back(node);
    }
    return nodes;
  }

  std::unique_ptr<Simulation> simulation_;
  std::function<void(int stop)> at_stop_;
  int stops_ = 0;
};

TEST_F(LongGroupAttempt, IsOneAttempt) {
  AddGroup();
  EXPECT_EQ(stops_, kMembers);
  EXPECT_EQ(attempts(), 1);
  EXPECT_EQ(simulation_->scheduler().counters().cycles, kMembers);
  EXPECT_THAT(NodesInUse(), SizeIs(kMembers));
}

TEST_F(LongGroupAttempt, SeesWhatOthersTookMeanwhile) {
  at_stop_ = [this](int stop) {
    if (stop != 5) return;
    auto pod = std::make_shared<api::Pod>(MakeGpuPod("other", 8).As<api::Pod>());
    pod->mutable_spec()->set_node_name("large");
    pod->mutable_spec()->set_scheduler_name("other");
    cluster().Set(Object::Of(std::move(pod)));
  };
  AddGroup();
  simulation_->RunUntilQuiet();
  EXPECT_THAT(NodesInUse(), SizeIs(kMembers + 1));
}

TEST_F(LongGroupAttempt, DoesNotBindToANodeThatWentMeanwhile) {
  at_stop_ = [this](int stop) {
    if (stop == 5) cluster().Delete(Kind::kNode, "n0");
    if (stop == 7) cluster().Delete(Kind::kNode, "n1");
  };
  AddGroup();
  simulation_->RunUntilQuiet();
  const std::vector<std::string> nodes = NodesInUse();
  EXPECT_THAT(nodes, SizeIs(kMembers));
  for (const std::string& node : nodes) EXPECT_TRUE(node != "n0" && node != "n1") << node;
}

// One that is placed, or one that was not tried yet: what was placed is given back.
TEST_F(LongGroupAttempt, EndsWithItsMember) {
  for (const int gone : {0, kMembers - 1}) {
    at_stop_ = [&](int stop) {
      if (stop == 5) cluster().Delete(Kind::kPod, absl::StrCat("default/m", gone));
    };
    stops_ = 0;
    AddGroup();
    EXPECT_EQ(stops_, 5 + 1);  // the last one when it is given up
    EXPECT_THAT(NodesInUse(), IsEmpty()) << gone;
    at_stop_ = nullptr;
    cluster().Set(MakeGpuPod("whole-node", 8));
    simulation_->RunUntilIdle();
    EXPECT_THAT(NodesInUse(), SizeIs(1));
    for (int i = 0; i < kMembers; ++i) {
      if (i != gone) cluster().Delete(Kind::kPod, absl::StrCat("default/m", i));
    }
    cluster().Delete(Kind::kPod, "default/whole-node");
    simulation_->RunUntilIdle();
  }
}

TEST_F(LongGroupAttempt, BeginsAgainWithAMemberThatChanged) {
  for (const int changed : {0, kMembers - 1}) {
    at_stop_ = [&](int stop) {
      if (stop == 5) cluster().Set(Member(changed, "red"));
    };
    stops_ = 0;
    const int64_t before = attempts();
    AddGroup();
    EXPECT_EQ(stops_, 5 + kMembers + 1);
    EXPECT_EQ(attempts(), before + 1);
    EXPECT_THAT(NodesInUse(), SizeIs(kMembers));
    at_stop_ = nullptr;
    for (int i = 0; i < kMembers; ++i) cluster().Delete(Kind::kPod, absl::StrCat("default/m", i));
    simulation_->RunUntilIdle();
  }
}

TEST_F(LongGroupAttempt, EndsThoughMembersChange) {
  at_stop_ = [this](int stop) {
    cluster().Set(Member(stop % kMembers, absl::StrCat("colour-", stop)));
  };
  AddGroup();
  EXPECT_EQ(attempts(), 1);
  EXPECT_THAT(NodesInUse(), SizeIs(kMembers));
}

// A member that is being deleted is none.
TEST_F(LongGroupAttempt, EndsWithAMemberThatLeaves) {
  at_stop_ = [this](int stop) {
    if (stop != 5) return;
    auto leaving = std::make_shared<api::Pod>(Member(0).As<api::Pod>());
    leaving->mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
    cluster().Set(Object::Of(std::move(leaving)));
  };
  AddGroup();
  simulation_->RunUntilQuiet();
  EXPECT_THAT(NodesInUse(), IsEmpty());
}

}  // namespace
}  // namespace berth
