// SPDX-License-Identifier: Apache-2.0
// A plugin at every extension point, of which one point misbehaves: it throws, answers what the
// point does not know, or takes long. Whatever it does, it is counted there, other pods are bound,
// and once it behaves the pod is too.
#include <stdexcept>
#include <string>
#include <thread>

#include "berth/columns/node_verdicts.h"
#include "berth/extensions/group.h"
#include "berth/extensions/observer.h"
#include "gmock/gmock.h"
#include "tests/engine/scripted_plugin.h"
#include "tests/engine/world.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

enum class Does { kWell, kThrow, kNonsense, kSleep };

struct Misdeed {
  std::string point;  // "Filter"
  Does does = Does::kWell;
};

// Misbehaves at its point, for the pods named "bad"; everything else succeeds.
class Culprit final : public Plugin,
                      public QueueSortPlugin,
                      public PreEnqueuePlugin,
                      public PreFilterPlugin,
                      public PreFilterExtensions,
                      public FilterPlugin,
                      public PostFilterPlugin,
                      public PreScorePlugin,
                      public ScorePlugin,
                      public ScoreExtensions,
                      public ReservePlugin,
                      public PermitPlugin,
                      public PreBindPlugin,
                      public BindPlugin,
                      public PostBindPlugin,
                      public GroupPlugin,
                      public AssignmentObserver,
                      public SyncObserver,
                      public EnqueueExtensions {
 public:
  Culprit(const Misdeed& misdeed, Handle& handle) : misdeed_(misdeed), handle_(handle) {}

  absl::string_view Name() const override { return "Culprit"; }

  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    At("Less", *a.pod);
    return a.timestamp < b.timestamp;
  }
  Status PreEnqueue(const PodInfo& pod) override { return At("PreEnqueue", pod); }
  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) override {
    // Somebody to be asked what an event means.
    if (Is("QueueingHint", pod)) return Status::Unschedulable("not yet");
    return At("PreFilter", pod);
  }
  Status AddPod(CycleState&, const PodInfo& pod, const PodInfo&, const NodeInfo&) override {
    return At("AddPod", pod);
  }
  Status RemovePod(CycleState&, const PodInfo& pod, const PodInfo&, const NodeInfo&) override {
    return At("RemovePod", pod);
  }
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo&) const override {
    return At("Filter", pod);
  }
  Status PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses&,
                    PostFilterResult&) override {
    Status status = At("PostFilter", pod);
    return status.ok() ? Status::Unschedulable("") : status;
  }
  Status PreScore(CycleState&, const PodInfo& pod, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return At("PreScore", pod);
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo&) const override {
    return At("Score", pod).ok() ? 1 : 101;
  }
  absl::Status NormalizeScores(const CycleState&, const PodInfo& pod, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override {
    if (!At("NormalizeScores", pod).ok()) scores[0] = -1;
    return absl::OkStatus();
  }
  Status Reserve(CycleState&, const PodInfo& pod, absl::string_view) override {
    return At("Reserve", pod);
  }
  void Unreserve(CycleState&, const PodInfo& pod, absl::string_view) override {
    At("Unreserve", pod);
  }
  Status Permit(CycleState&, const PodInfo& pod, absl::string_view, absl::Duration&) override {
    // Something to unreserve.
    if (Is("Unreserve", pod)) return Status::Unschedulable("not permitted");
    return At("Permit", pod);
  }
  Status PreBindPreFlight(CycleState&, const PodInfo& pod, absl::string_view) override {
    return At("PreBindPreFlight", pod);
  }
  Status PreBind(CycleState&, const PodInfo& pod, absl::string_view) override {
    // Something to poll for.
    if (Is("PollPreBind", pod)) return Status::Wait();
    return At("PreBind", pod);
  }
  Status PollPreBind(CycleState&, const PodInfo& pod, absl::string_view) override {
    return At("PollPreBind", pod);
  }
  Status Bind(CycleState&, const PodInfo& pod, absl::string_view node_name) override {
    Status status = At("Bind", pod);
    if (!status.ok()) return status;
    const absl::Status bound = handle_.Bind(pod, node_name, {});
    return bound.ok() ? Status::Success() : Status::Error(bound);
  }
  void PostBind(CycleState&, const PodInfo& pod, absl::string_view) override {
    At("PostBind", pod);
  }
  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    At("GroupOf", pod);
    const bool in_group = misdeed_.point == "Spec" || misdeed_.point == "ReadyToSchedule" ||
                          misdeed_.point == "GroupUnschedulable";
    if (!in_group || pod.name() != "bad") return std::nullopt;
    return "default/bad";
  }
  std::optional<GroupSpec> Spec(absl::string_view) const override {
    Do("Spec");
    return GroupSpec{};
  }
  Status ReadyToSchedule(const GroupMembers&) const override { return Do("ReadyToSchedule"); }
  Status GroupUnschedulable(const GroupMembers&, int, const Status& cause) const override {
    const Status status = Do("GroupUnschedulable");
    return status.ok() ? cause : status;
  }
  void OnPodAssigned(const PodInfo& pod, const NodeInfo&) override { At("OnPodAssigned", pod); }
  void OnPodUnassigned(const PodInfo& pod, const NodeInfo&) override { At("OnPodUnassigned", pod); }
  void OnSynced() override { Do("OnSynced"); }
  void BeforeJournalOverflow() override { Do("BeforeJournalOverflow"); }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::Wildcard(), action::kAll},
             [this](const PodInfo& pod, const ObjectChange&) -> absl::StatusOr<QueueingHint> {
               if (!At("QueueingHint", pod).ok()) return absl::InternalError("no hint");
               return QueueingHint::kQueue;
             }}};
  }

 private:
  bool Is(absl::string_view point, const PodInfo& pod) const {
    return misdeed_.does != Does::kWell && misdeed_.point == point && pod.name() == "bad";
  }
  Status At(absl::string_view point, const PodInfo& pod) const {
    return Is(point, pod) ? Do(point) : Status::Success();
  }
  Status Do(absl::string_view point) const {
    if (misdeed_.point != point) return Status::Success();
    switch (misdeed_.does) {
      case Does::kWell:
        break;
      case Does::kThrow:
        throw std::runtime_error("boom");
      case Does::kNonsense:
        return Status::Make(static_cast<Code>(77), {"?"});
      case Does::kSleep:
        std::this_thread::sleep_for(std::chrono::milliseconds(15));
        break;
    }
    return Status::Success();
  }

  const Misdeed& misdeed_;
  Handle& handle_;
};

// The default profile with the culprit in it, alone at queueSort and bind.
class Setting {
 public:
  explicit Setting(Misdeed misdeed) : misdeed(std::move(misdeed)) {
    registry_ = std::make_unique<Registry>(
        BuiltinRegistry(
            {berth::WithPlugin("Culprit",
                               [this](const PluginArgs&,
                                      Handle& handle) -> absl::StatusOr<std::unique_ptr<Plugin>> {
                                 return std::make_unique<Culprit>(this->misdeed, handle);
                               })})
            .value());
    LoadedConfiguration loaded = ParseConfiguration(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles:\n"
        "- plugins:\n"
        "    multiPoint:\n"
        "      enabled: [{name: Culprit}]\n"
        "      disabled: [{name: PrioritySort}, {name: DefaultBinder}]\n",
        "culprit", *registry_);
    EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    configuration_ = loaded.configuration;
  }

  const Registry& registry() const { return *registry_; }
  const KubeSchedulerConfiguration& configuration() const { return configuration_; }

  Misdeed misdeed;

 private:
  std::unique_ptr<Registry> registry_;
  KubeSchedulerConfiguration configuration_;
};

// What the pods need for the point to be reached.
enum class Needs { kNothing, kNoRoom, kVictim, kNominated, kEvent, kDeletion, kChanges };

struct Point {
  std::string name;
  Needs needs = Needs::kNothing;
  // The point has no answer that could be nonsense, or none that is looked at.
  bool any_answer = false;
  // The pod is bound, or stays as it was, in spite of it.
  bool harmless = false;
  std::string blamed = "";  // for nonsense, where that is found out; as `name` if empty
};

const Point kPoints[] = {
    {.name = "Less", .any_answer = true, .harmless = true},
    {.name = "PreEnqueue"},
    {.name = "PreFilter"},
    {.name = "AddPod", .needs = Needs::kNominated},
    {.name = "RemovePod", .needs = Needs::kVictim, .harmless = true},
    {.name = "Filter"},
    {.name = "PostFilter", .needs = Needs::kNoRoom},
    {.name = "PreScore"},
    {.name = "Score"},
    {.name = "NormalizeScores", .blamed = "Score"},
    {.name = "Reserve"},
    {.name = "Unreserve", .any_answer = true},
    {.name = "Permit"},
    {.name = "PreBindPreFlight"},
    {.name = "PreBind"},
    {.name = "PollPreBind"},
    {.name = "Bind"},
    {.name = "PostBind", .any_answer = true, .harmless = true},
    {.name = "GroupOf", .any_answer = true, .harmless = true},
    {.name = "Spec", .any_answer = true, .harmless = true},
    {.name = "ReadyToSchedule", .harmless = true},
    {.name = "GroupUnschedulable", .needs = Needs::kNoRoom, .harmless = true},
    {.name = "OnPodAssigned", .any_answer = true, .harmless = true},
    {.name = "OnPodUnassigned", .needs = Needs::kDeletion, .any_answer = true, .harmless = true},
    {.name = "OnSynced", .any_answer = true, .harmless = true},
    {.name = "BeforeJournalOverflow",
     .needs = Needs::kChanges,
     .any_answer = true,
     .harmless = true},
    {.name = "QueueingHint", .needs = Needs::kEvent, .any_answer = true, .harmless = true},
};

void Stage(const Point& point, World& world) {
  world.Set(CpuNode("n0", "4").Object());
  world.Set(CpuNode("n1", "4").Object());  // of one alone nothing is scored
  world.Run();
  const bool small = point.needs != Needs::kNoRoom && point.needs != Needs::kEvent;
  if (point.needs == Needs::kVictim) {
    world.Set(CpuPod("low0", "4").NodeName("n0").Priority(-1).Object());
    world.Set(CpuPod("low1", "4").NodeName("n1").Priority(-1).Object());
  }
  if (point.needs == Needs::kNominated) {
    auto nominated = CpuPod("nominated", "1").Priority(9).SchedulingGate("g");
    world.Set(nominated.NominatedNodeName("n0").Object());
    world.Set(CpuPod("big", "4").NodeName("n1").Object());
  }
  world.Set(CpuPod("bad", small ? "1" : "8").Object());
  if (point.name == "Less") world.Set(CpuPod("other", "1").Object());
  world.Run();
  if (point.needs == Needs::kEvent) world.Set(CpuNode("n2", "1").Object());
  if (point.needs == Needs::kChanges) {
    for (int i = 0; i < 600; ++i)
      world.Set(CpuNode("n0", "4").Label("i", absl::StrCat(i)).Object());
  }
  if (point.needs == Needs::kDeletion) world.memory().Delete(Kind::kPod, "default/bad");
  world.Advance(absl::Seconds(2));
}

const PluginTrouble* Find(const SchedulerCounters& counters, const std::string& point) {
  for (const PluginTrouble& trouble : counters.troubles) {
    if (trouble.plugin == "Culprit" && trouble.point == point) return &trouble;
  }
  return nullptr;
}

void ExpectThatOthersGoOn(World& world) {
  world.Set(CpuPod("good", "1").Object());
  world.Set(CpuNode("n9", "4").Object());
  world.Advance(absl::Seconds(3));
  EXPECT_NE(world.NodeOf("good"), "");
}

// Its last failure's backoff is over, and something has happened that it might wait for.
void ExpectThatItRecovers(const Point& point, Setting& setting, World& world) {
  if (point.needs == Needs::kDeletion) return;
  setting.misdeed.does = Does::kWell;
  world.Set(CpuNode("huge", "64").Object());
  world.Advance(absl::Seconds(20));
  EXPECT_NE(world.NodeOf("bad"), "");
}

TEST(PluginPoints, ThatThrowFailTheirPodAndNobodyElse) {
  for (const Point& point : kPoints) {
    SCOPED_TRACE(point.name);
    Setting setting({point.name, Does::kThrow});
    World world(setting.configuration(), setting.registry());
    Stage(point, world);
    const SchedulerCounters counters = world.scheduler->counters();
    const PluginTrouble* trouble = Find(counters, point.name);
    ASSERT_NE(trouble, nullptr);
    EXPECT_GE(trouble->faults, 1);
    EXPECT_EQ(trouble->faults, counters.plugin_faults);
    if (!point.harmless && point.name != "Unreserve") {
      EXPECT_THAT(world.Pending("bad").message,
                  HasSubstr(absl::StrCat("plugin \"Culprit\" threw in ", point.name, ": boom")));
    }
    ExpectThatOthersGoOn(world);
    ExpectThatItRecovers(point, setting, world);
  }
}

TEST(PluginPoints, ThatAnswerNonsenseFailTheirPodAndNobodyElse) {
  for (const Point& point : kPoints) {
    if (point.any_answer) continue;
    SCOPED_TRACE(point.name);
    Setting setting({point.name, Does::kNonsense});
    World world(setting.configuration(), setting.registry());
    Stage(point, world);
    const SchedulerCounters counters = world.scheduler->counters();
    const PluginTrouble* trouble = Find(counters, point.blamed.empty() ? point.name : point.blamed);
    ASSERT_NE(trouble, nullptr);
    EXPECT_GE(trouble->faults, 1);
    if (!point.harmless) {
      EXPECT_THAT(world.Pending("bad").message, HasSubstr("Culprit"));
    }
    ExpectThatOthersGoOn(world);
    ExpectThatItRecovers(point, setting, world);
  }
}

// Accepts all rows, and has an error for each node on its own.
class AcceptsRowsOnly final : public Plugin, public FilterPlugin {
 public:
  explicit AcceptsRowsOnly(int& filtered) : filtered_(filtered) {}
  absl::string_view Name() const override { return "AcceptsRowsOnly"; }
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo&) const override {
    ++filtered_;
    return Status::Error("the table is gone");
  }
  Status FilterNodes(const CycleState&, const PodInfo&, const NodeTable&,
                     NodeVerdicts&) const override {
    return Status::Success();
  }

 private:
  int& filtered_;
};

TEST(PluginPoints, AnErrorOnTheChosenNodeEndsTheCycle) {
  int filtered = 0;
  const Registry registry =
      BuiltinRegistry({berth::WithPlugin("AcceptsRowsOnly",
                                         [&](const PluginArgs&,
                                             Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
                                           return std::make_unique<AcceptsRowsOnly>(filtered);
                                         })})
          .value();
  const LoadedConfiguration loaded = ParseConfiguration(
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled: [{name: AcceptsRowsOnly}]\n",
      "accepts-rows-only", registry);
  World world(loaded.configuration, registry);
  for (const char* name : {"n0", "n1", "n2"}) world.Set(CpuNode(name, "4").Object());
  world.Set(CpuPod("p", "1").Object());
  world.Run();
  EXPECT_EQ(filtered, 1) << "no other node is tried";
  EXPECT_THAT(world.Pending("p").message, HasSubstr("the table is gone"));
  EXPECT_EQ(world.Pending("p").waiting.reason, WaitingReason::kPluginError);
}

TEST(PluginPoints, ThatAreSlowAreCountedWithTheLongest) {
  for (const Point& point : kPoints) {
    SCOPED_TRACE(point.name);
    Setting setting({point.name, Does::kSleep});
    World world(setting.configuration(), setting.registry(), World::Calls::kAtOnce,
                absl::Milliseconds(8));
    Stage(point, world);
    const SchedulerCounters counters = world.scheduler->counters();
    const PluginTrouble* trouble = Find(counters, point.name);
    ASSERT_NE(trouble, nullptr);
    EXPECT_EQ(counters.plugin_faults, 0);
    EXPECT_GE(trouble->slow_calls, 1);
    EXPECT_GE(trouble->slowest, absl::Milliseconds(8));
    ExpectThatOthersGoOn(world);
    ExpectThatItRecovers(point, setting, world);
  }
}

}  // namespace
}  // namespace berth
