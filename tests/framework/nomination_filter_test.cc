// SPDX-License-Identifier: Apache-2.0
// What nominated pods change, and that the batch form decides for every row as the per-node form
// does.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "berth/columns/node_verdicts.h"
#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using NominationFilterTest = RunnerTest;

struct AddedPods : StateData {
  std::vector<std::string> names;
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<AddedPods>(*this); }
};
constexpr StateKey<AddedPods> kAddedPods{"test"};

class NominatedPodsTest : public RunnerTest {
 protected:
  // A plugin whose state follows AddPod, and whose Filter answers with what it sees: the pods on
  // the node and the pods added.
  NominatedPodsTest() {
    Script& s = Add<FakePreFilter, FakePreFilterExtensions, FakeFilter>("A");
    s.pre_filter = [](CycleState& state, auto&) {
      state.Write(kAddedPods, std::make_unique<AddedPods>());
      return Status::Success();
    };
    s.add_pod = [](CycleState& state, const PodInfo& added, const NodeInfo& node) {
      EXPECT_EQ(node.pods().back()->name(), added.name());
      state.FindMutable(kAddedPods)->names.emplace_back(added.name());
      return Status::Success();
    };
    s.filter = [this](const CycleState& state, auto&, const NodeInfo& node) {
      seen_.push_back(
          absl::StrCat(node.pods().size(), ":", absl::StrJoin(state.Find(kAddedPods)->names, ",")));
      return filter_(seen_.back());
    };
    framework_ = Build("multiPoint: A");
    EXPECT_TRUE(framework_->filters().RunPreFilter(state_, *pod_, nodes_.table()).status.ok());
  }

  void Nominate(absl::string_view name, int priority, absl::string_view node = "n0") {
    handle_.fake_nominator().Nominate(MakePod().Name(name).Priority(priority).Obj(), node);
  }
  Status Filter(NodeRow row = 0) {
    seen_.clear();
    return framework_->nomination_filter().RunFilterWithNominatedPods(state_, *pod_,
                                                                      nodes_.node(row));
  }

  std::unique_ptr<Framework> framework_;
  std::vector<std::string> seen_;
  std::function<Status(absl::string_view)> filter_ = [](auto) { return Status::Success(); };
};

// The first that knows decides; one that throws counts as if it said nothing.
TEST_F(NominationFilterTest, RulesOfPluginsComeBeforePriorities) {
  Add<FakeFilter, FakeNominationRules>("A").nomination_counts = [](auto&, auto&) {
    if (true) throw std::runtime_error("boom");
    return std::optional<bool>();
  };
  Add<FakeFilter, FakeNominationRules>("B").nomination_counts = [](const PodInfo& nominated,
                                                                   auto&) -> std::optional<bool> {
    if (nominated.name() == "anybody") return std::nullopt;
    return nominated.name() == "counts";
  };
  const auto framework = Build("multiPoint: A B");
  const NominationFilter& filter = framework->nomination_filter();
  const auto pod = MakePod().Name("p").Priority(10).Obj();
  const auto counts = [&](absl::string_view name, int priority) {
    return filter.CountsByRules(*MakePod().Name(name).Priority(priority).Obj(), *pod);
  };
  EXPECT_TRUE(counts("counts", 1));
  EXPECT_FALSE(counts("gives way", 99));
  EXPECT_TRUE(counts("anybody", 10));
  EXPECT_FALSE(counts("anybody", 9));
  EXPECT_FALSE(filter.CountsByRules(*pod, *pod));
  EXPECT_EQ(framework->plugins().fault_log.faults(), 4);
}

TEST_F(NominatedPodsTest, TwoPassesOnlyWherePodsWereAdded) {
  EXPECT_TRUE(Filter().ok());
  EXPECT_THAT(seen_, ElementsAre("0:"));
  Nominate("lower", 9);
  Nominate("p", 10);  // the pod itself
  EXPECT_TRUE(Filter().ok());
  EXPECT_THAT(seen_, ElementsAre("0:"));
  Nominate("equal", 10);
  Nominate("higher", 11);
  EXPECT_TRUE(Filter().ok());
  EXPECT_THAT(seen_, ::testing::AnyOf(ElementsAre("2:equal,higher", "0:"),
                                      ElementsAre("2:higher,equal", "0:")));
  EXPECT_TRUE(Filter(1).ok());
  EXPECT_THAT(seen_, ElementsAre("0:"));
  EXPECT_THAT(state_.Find(kAddedPods)->names, IsEmpty());  // only the copy changed
  EXPECT_THAT(nodes_.node(0).pods(), IsEmpty());
}

TEST_F(NominatedPodsTest, EitherPassCanReject) {
  Nominate("higher", 11);
  filter_ = [](absl::string_view seen) {
    return seen == "0:" ? Status::Success() : Status::Unschedulable("no room left");
  };
  EXPECT_EQ(Filter().ToString(), "Unschedulable by A: no room left");
  EXPECT_THAT(seen_, ElementsAre("1:higher"));
  filter_ = [](absl::string_view seen) {
    return seen != "0:" ? Status::Success() : Status::UnschedulableAndUnresolvable("alone");
  };
  EXPECT_EQ(Filter().ToString(), "UnschedulableAndUnresolvable by A: alone");
  EXPECT_THAT(seen_, ElementsAre("1:higher", "0:"));
}

TEST_F(NominatedPodsTest, FailingAddPodIsAnError) {
  Nominate("higher", 11);
  script("A").add_pod = [](auto&...) { return Status::Error("x"); };
  EXPECT_EQ(Filter().ToString(), "Error by A: running AddPod on PreFilter plugin \"A\": x");
  NodeVerdicts verdicts;
  verdicts.Reset(3);
  EXPECT_EQ(framework_->nomination_filter()
                .RunFilterNodesWithNominatedPods(state_, *pod_, nodes_.table(), {0, 1}, verdicts)
                .ToString(),
            "Error by A: running AddPod on PreFilter plugin \"A\": x");
}

// Plugins that compare the pod with what is on the node; each looks at something else, so that
// nominated pods change some verdicts of each.
class Crowd : public RunnerTest {
 protected:
  Crowd() {
    Add<FakeFilter>("Parity").filter = [](auto&, auto&, const NodeInfo& node) {
      return node.pods().size() % 3 == 2 ? Status::UnschedulableAndUnresolvable("parity")
                                         : Status::Success();
    };
    Add<FakeFilter>("Priorities").filter = [](auto&, const PodInfo& pod, const NodeInfo& node) {
      int64_t sum = 0;
      for (const auto& other : node.pods()) sum += other->priority();
      return sum > 2 * pod.priority() ? Status::Unschedulable("priorities") : Status::Success();
    };
    Add<FakeFilter>("Company").filter = [](auto&, const PodInfo& pod, const NodeInfo& node) {
      if (pod.priority() % 2 == 0 || !node.pods().empty()) return Status::Success();
      return Status::Pending("nobody there");
    };
  }
};

TEST_F(Crowd, BatchFormDecidesAsThePerNodeForm) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  std::mt19937 random(seed);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  int nominated_rejections = 0;
  for (int round = 0; round < 60; ++round) {
    FakeHandle handle;
    const auto random_pod = [&] { return MakePod().Priority(draw(6)).Obj(); };
    std::vector<NodeInfo> infos = MakeNodes(1 + draw(20));
    for (NodeInfo& info : infos) {
      for (int i = draw(4); i > 0; --i) info.AddPod(random_pod());
    }
    const TestNodes nodes(infos);
    std::vector<std::shared_ptr<const PodInfo>> pending;
    for (int i = 0; i < 8; ++i) {
      pending.push_back(random_pod());
      if (draw(2) == 0) {
        handle.fake_nominator().Nominate(pending.back(), absl::StrCat("n", draw(nodes.size() + 2)));
      }
    }
    Problems problems;
    const auto framework =
        TryBuild(MakeProfile("multiPoint: Parity Priorities Company"), handle, problems);
    ASSERT_NE(framework, nullptr) << problems.ToString();
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (draw(8) != 0) rows.push_back(row);
    }
    std::shuffle(rows.begin(), rows.end(), random);
    for (const auto& pod : pending) {
      CycleState state;
      state.skips().filter = draw(3) == 0 ? uint64_t{1} << draw(3) : 0;
      NodeVerdicts verdicts;
      verdicts.Reset(nodes.size());
      ASSERT_TRUE(framework->nomination_filter()
                      .RunFilterNodesWithNominatedPods(state, *pod, nodes.table(), rows, verdicts)
                      .ok());
      for (const NodeRow row : rows) {
        const Status alone =
            framework->nomination_filter().RunFilterWithNominatedPods(state, *pod, nodes.node(row));
        ASSERT_EQ(verdicts.code(row), alone.code()) << "round " << round << " row " << row;
        const uint8_t rejector = verdicts.rejector(row);
        ASSERT_EQ(rejector, alone.ok() ? NodeVerdicts::kNoRejector
                                       : framework->plugins().FilterIndex(alone.plugin_symbol()))
            << "round " << round << " row " << row;
        if (!alone.ok() && framework->filters().RunFilter(state, *pod, nodes.node(row)).ok()) {
          ++nominated_rejections;
        }
      }
      for (NodeRow row = 0; row < nodes.size(); ++row) {
        if (absl::c_linear_search(rows, row)) continue;
        ASSERT_EQ(verdicts.rejector(row), NodeVerdicts::kNotFiltered);
      }
    }
  }
  EXPECT_GT(nominated_rejections, 10);  // or the data does not test what it should
}

// One of the nodes that lack the same beside their nominated pods is asked, and speaks for all.
TEST_F(NominationFilterTest, ResourcesThatNominatedPodsTakeAreCountedInColumns) {
  constexpr absl::string_view kResources[] = {"cpu", "memory", "example.com/card"};
  int asked = 0;
  std::shared_ptr<const PodInfo> pod;
  Add<FakeFilter, FakeSign>("OfNode").depends_on = Aspect::kNodeLabels;
  script("OfNode").filter = [](auto&, auto&, const NodeInfo& node) {
    return node.labels().empty() ? Status::Success() : Status::Unschedulable("labels");
  };
  Add<FakeFilter, FakeResourceFilter>("Room").needed = [&pod] {
    NeededResources room;
    pod->requests().ForEach([&](ResourceId id, int64_t n) { room.requests.emplace_back(id, n); });
    return room;
  };
  script("Room").filter = [&asked](auto&, const PodInfo& pod, const NodeInfo& node) {
    ++asked;
    std::vector<std::string> reasons;
    Code code = Code::kUnschedulable;
    if (static_cast<int64_t>(node.pods().size()) >= node.allowed_pods()) reasons = {"places"};
    if (node.allowed_pods() == 0) code = Code::kUnschedulableAndUnresolvable;
    pod.requests().ForEach([&](ResourceId id, int64_t n) {
      if (n <= node.allocatable().Get(id) - node.requested().Get(id)) return;
      reasons.emplace_back(ResourceName(id));
      if (n > node.allocatable().Get(id)) code = Code::kUnschedulableAndUnresolvable;
    });
    return reasons.empty() ? Status::Success() : Status::Make(code, reasons);
  };
  Add<FakeFilter>("Company").filter = [](auto&, auto&, const NodeInfo& node) {
    return node.pods().size() == 1 ? Status::Unschedulable("alone") : Status::Success();
  };
  std::mt19937 random(27);
  const auto draw = [&](int n) { return static_cast<int>(random() % n); };
  int lacking = 0, shared = 0;
  for (int round = 0; round < 100; ++round) {
    FakeHandle handle;
    const auto random_pod = [&](absl::string_view name) {
      PodBuilder made = MakePod().Name(name).Priority(draw(3));
      for (const absl::string_view resource : kResources) {
        if (draw(2) == 0) made.Request(resource, absl::StrCat(draw(4)));
      }
      return made.Obj();
    };
    std::vector<NodeInfo> infos;
    for (int i = 0; i < 30; ++i) {
      NodeBuilder node = MakeNode().Name(absl::StrCat("n", i)).Pods(draw(6));
      for (const absl::string_view resource : kResources) {
        node.Capacity(resource, absl::StrCat(1 + draw(6)));
      }
      if (draw(6) == 0) node.Label("keep", "off");
      infos.push_back(node.Info());
      for (int j = draw(3); j > 0; --j) infos.back().AddPod(random_pod(absl::StrCat(i, "-", j)));
    }
    const TestNodes nodes(infos);
    for (int i = 0; i < 40; ++i) {
      handle.fake_nominator().Nominate(random_pod(absl::StrCat("nominated-", i)),
                                       absl::StrCat("n", draw(30)));
    }
    pod = random_pod("nominated-0");  // nominated itself, perhaps
    Problems problems;
    const auto framework = TryBuild(MakeProfile("filter: OfNode Room Company"), handle, problems);
    ASSERT_NE(framework, nullptr) << problems.ToString();
    std::vector<NodeRow> rows(nodes.size());
    std::iota(rows.begin(), rows.end(), 0);
    NodeVerdicts verdicts;
    verdicts.Reset(nodes.size());
    const CycleState state;
    asked = 0;
    ASSERT_TRUE(framework->nomination_filter()
                    .RunFilterNodesWithNominatedPods(state, *pod, nodes.table(), rows, verdicts)
                    .ok());
    const int asked_at_once = asked;
    asked = 0;
    std::map<std::tuple<uint8_t, Code, uint8_t>, Status> said;
    for (const NodeRow row : rows) {
      const Status alone =
          framework->nomination_filter().RunFilterWithNominatedPods(state, *pod, nodes.node(row));
      ASSERT_EQ(verdicts.code(row), alone.code()) << "round " << round << " row " << row;
      const uint8_t rejector = verdicts.rejector(row);
      ASSERT_EQ(rejector, alone.ok() ? NodeVerdicts::kNoRejector
                                     : framework->plugins().FilterIndex(alone.plugin_symbol()));
      if (alone.ok() || verdicts.reason_id(row) == NodeVerdicts::kNoReasonId) continue;
      const auto [first, is_new] =
          said.try_emplace({rejector, verdicts.code(row), verdicts.reason_id(row)}, alone);
      ASSERT_EQ(first->second.ToString(), alone.ToString()) << "round " << round << " row " << row;
      shared += !is_new;
    }
    lacking += asked - asked_at_once;
  }
  EXPECT_GT(lacking, 100) << "one is asked for all";
  EXPECT_GT(shared, 100);
}

}  // namespace
}  // namespace berth::testing
