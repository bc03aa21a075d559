// SPDX-License-Identifier: Apache-2.0
// Scripted plugins, and a profile in one line of text, for the tests of Framework.
#ifndef BERTH_TESTS_FRAMEWORK_FRAMEWORK_FAKES_H_
#define BERTH_TESTS_FRAMEWORK_FRAMEWORK_FAKES_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "berth/columns/node_verdicts.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "framework/framework.h"
#include "gtest/gtest.h"

namespace berth::testing {

// What a plugin answers at each point; Success (or nothing) where no function is set. Functions may
// throw.
struct Script {
  std::function<Status(const PodInfo&)> pre_enqueue;
  std::function<Status(CycleState&, PreFilterResult&)> pre_filter;
  std::function<Status(CycleState&, const PodInfo&changed, const NodeInfo&)> add_pod, remove_pod;
  std::function<Status(const CycleState&, const PodInfo&, const NodeInfo&)> filter;
  std::function<Status(const CycleState&, const PodInfo&, const NodeTable&, NodeVerdicts&)>
      filter_nodes;  // absent: the default, which asks `filter`
  std::function<Status(PostFilterResult&)> post_filter;
  std::function<Status()> pre_score, reserve, permit, pre_bind_pre_flight, pre_bind, poll_pre_bind,
      bind;
  std::function<absl::StatusOr<int64_t>(const NodeInfo&)> score;
  std::function<absl::Status(absl::Span<int64_t>)> normalize;
  int64_t score_resolution = 1;
  std::function<void()> unreserve, post_bind;
  std::function<bool(const QueuedPodInfo&, const QueuedPodInfo&)> less;
  std::function<Status(const PodInfo&, PodSignature&)> sign;
  Aspects depends_on = Aspect::kNothing;  // of what is built afterwards
  std::function<NeededResources()> needed;
  std::function<std::vector<ClusterEventWithHint>()> events;
  std::function<Status()> group_ready;
  std::function<std::optional<bool>(const PodInfo&, const PodInfo&)> nomination_counts;
  std::function<void()> assigned;
  absl::Duration permit_timeout;

  std::vector<std::string>* log = nullptr;  // "A.Reserve"
  std::string name;

  template <class Answer, class... Args>
  Status Ask(absl::string_view point, const Answer& answer, Args&... args) const {
    log->push_back(absl::StrCat(name, ".", point));
    return answer == nullptr ? Status::Success() : answer(args...);
  }
};

struct FakeBase : Plugin {
  absl::string_view Name() const override { return name; }
  std::string name;
  Script* script = nullptr;
};

// One a point; a plugin is made of those it implements: Fake<FakeFilter, FakeScore>.
struct FakePreEnqueue : virtual FakeBase, PreEnqueuePlugin {
  Status PreEnqueue(const PodInfo& pod) override {
    return script->Ask("PreEnqueue", script->pre_enqueue, pod);
  }
};
struct FakeQueueSort : virtual FakeBase, QueueSortPlugin {
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    return script->less != nullptr && script->less(a, b);
  }
};
struct FakePreFilter : virtual FakeBase, PreFilterPlugin {
  Status PreFilter(CycleState& state, const PodInfo&, const NodeTable&,
                   PreFilterResult& result) override {
    return script->Ask("PreFilter", script->pre_filter, state, result);
  }
};
struct FakePreFilterExtensions : virtual FakeBase, PreFilterExtensions {
  Status AddPod(CycleState& state, const PodInfo&, const PodInfo& added,
                const NodeInfo& node) override {
    return script->Ask("AddPod", script->add_pod, state, added, node);
  }
  Status RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                   const NodeInfo& node) override {
    return script->Ask("RemovePod", script->remove_pod, state, removed, node);
  }
};
struct FakeFilter : virtual FakeBase, FilterPlugin {
  Status Filter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const override {
    return script->Ask("Filter", script->filter, state, pod, node);
  }
  Status FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                     NodeVerdicts& verdicts) const override {
    if (script->filter_nodes == nullptr) {
      return FilterPlugin::FilterNodes(state, pod, nodes, verdicts);
    }
    return script->Ask("FilterNodes", script->filter_nodes, state, pod, nodes, verdicts);
  }
};
struct FakePostFilter : virtual FakeBase, PostFilterPlugin {
  Status PostFilter(CycleState&, const PodInfo&, const NodeStatuses&,
                    PostFilterResult& result) override {
    return script->Ask("PostFilter", script->post_filter, result);
  }
};
struct FakePreScore : virtual FakeBase, PreScorePlugin {
  Status PreScore(CycleState&, const PodInfo&, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return script->Ask("PreScore", script->pre_score);
  }
};
struct FakeScore : virtual FakeBase, ScorePlugin {
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&,
                                const NodeInfo& node) const override {
    return script->score == nullptr ? 0 : script->score(node);
  }
  int64_t ScoreResolution() const override { return script->score_resolution; }
};
struct FakeNormalizedScore : FakeScore, ScoreExtensions {
  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override {
    return script->normalize == nullptr ? absl::OkStatus() : script->normalize(scores);
  }
};
struct FakeReserve : virtual FakeBase, ReservePlugin {
  Status Reserve(CycleState&, const PodInfo&, absl::string_view) override {
    return script->Ask("Reserve", script->reserve);
  }
  void Unreserve(CycleState&, const PodInfo&, absl::string_view) override {
    script->log->push_back(name + ".Unreserve");
    if (script->unreserve != nullptr) script->unreserve();
  }
};
struct FakePermit : virtual FakeBase, PermitPlugin {
  Status Permit(CycleState&, const PodInfo&, absl::string_view, absl::Duration& timeout) override {
    timeout = script->permit_timeout;
    return script->Ask("Permit", script->permit);
  }
};
struct FakePreBind : virtual FakeBase, PreBindPlugin {
  Status PreBindPreFlight(CycleState&, const PodInfo&, absl::string_view) override {
    return script->Ask("PreBindPreFlight", script->pre_bind_pre_flight);
  }
  Status PreBind(CycleState&, const PodInfo&, absl::string_view) override {
    return script->Ask("PreBind", script->pre_bind);
  }
  Status PollPreBind(CycleState&, const PodInfo&, absl::string_view) override {
    return script->Ask("PollPreBind", script->poll_pre_bind);
  }
};
struct FakeBind : virtual FakeBase, BindPlugin {
  Status Bind(CycleState&, const PodInfo&, absl::string_view) override {
    return script->Ask("Bind", script->bind);
  }
};
struct FakePostBind : virtual FakeBase, PostBindPlugin {
  void PostBind(CycleState&, const PodInfo&, absl::string_view) override {
    script->log->push_back(name + ".PostBind");
    if (script->post_bind != nullptr) script->post_bind();
  }
};
struct FakePlacementGenerate : virtual FakeBase, PlacementGeneratePlugin {
  Status GeneratePlacements(const PlacementGroup&, const NodeTable&, PlacementTiers&) override {
    script->log->push_back(name + ".PlacementGenerate");
    return Status::Success();
  }
};
struct FakePlacementFeasible : virtual FakeBase, PlacementFeasiblePlugin {
  Status PlacementFeasible(const PlacementGroup&, const NodePlacement&, const PlacementProgress&,
                           const NodeTable&) const override {
    script->log->push_back(name + ".PlacementFeasible");
    return Status::Success();
  }
};
struct FakePlacementScore : virtual FakeBase, PlacementScorePlugin {
  absl::StatusOr<int64_t> ScorePlacement(const PlacementGroup&, const NodePlacement&,
                                         const PlacementAssignments&,
                                         const NodeTable&) const override {
    script->log->push_back(name + ".PlacementScore");
    return 0;
  }
};
struct FakeSign : virtual FakeBase, SignPlugin {
  Status SignPod(const PodInfo& pod, PodSignature& signature) const override {
    return script->Ask("SignPod", script->sign, pod, signature);
  }
  Aspects DependsOn() const override { return script->depends_on; }
};
struct FakeResourceFilter : virtual FakeBase, ResourceFilter {
  NeededResources ResourcesNeededBy(const CycleState&, const PodInfo&) const override {
    return script->needed();
  }
};
struct FakeNominationRules : virtual FakeBase, NominationRules {
  std::optional<bool> NominationCountsFor(const PodInfo& nominated,
                                          const PodInfo& pod) const override {
    return script->nomination_counts(nominated, pod);
  }
};
struct FakeEvents : virtual FakeBase, EnqueueExtensions {
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    script->log->push_back(name + ".EventsToRegister");
    return script->events == nullptr ? std::vector<ClusterEventWithHint>() : script->events();
  }
};
struct FakeGroup : virtual FakeBase, GroupPlugin {
  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    if (script->group_ready != nullptr) script->group_ready();
    return pod.key();
  }
  std::optional<GroupSpec> Spec(absl::string_view) const override { return GroupSpec(); }
  Status ReadyToSchedule(const GroupMembers&) const override {
    return script->Ask("ReadyToSchedule", script->group_ready);
  }
  Status GroupUnschedulable(const GroupMembers&, int, const Status& cause) const override {
    return cause;
  }
};
struct FakeObserver : virtual FakeBase, AssignmentObserver {
  void OnPodAssigned(const PodInfo&, const NodeInfo&) override {
    script->log->push_back(name + ".OnPodAssigned");
    if (script->assigned != nullptr) script->assigned();
  }
  void OnPodUnassigned(const PodInfo&, const NodeInfo&) override {}
};

template <class... Points>
struct Fake final : Points... {};

// "multiPoint: A B:3; filter: -* C": plugins enabled at a point, with weights, and disabled (-).
// Each entry's place is line 1, 2 … of "p.yaml". The points queueSort and bind have Sort and Binder
// unless the text says something about them.
inline Profile MakeProfile(absl::string_view text) {
  Profile profile;
  const Symbol file = Symbol::Intern("p.yaml");
  int line = 0;
  const auto set_of = [&profile](absl::string_view field) -> PluginSet& {
    for (int i = 0; i < kExtensionPointCount; ++i) {
      const auto point = static_cast<ExtensionPoint>(i);
      if (ExtensionPointField(point) == field) return profile.at(point);
    }
    BERTH_CHECK(field == "multiPoint") << field;
    return profile.multi_point;
  };
  std::string all(text);
  for (absl::string_view fixed : {"queueSort: Sort", "bind: Binder"}) {
    const absl::string_view field = fixed.substr(0, fixed.find(':') + 1);
    if (!absl::StrContains(all, field)) absl::StrAppend(&all, "; ", fixed);
  }
  for (const absl::string_view part : absl::StrSplit(all, ';', absl::SkipWhitespace())) {
    const std::pair<std::string, std::string> split =
        absl::StrSplit(absl::StripAsciiWhitespace(part), absl::MaxSplits(':', 1));
    PluginSet& set = set_of(split.first);
    for (absl::string_view word : absl::StrSplit(split.second, ' ', absl::SkipWhitespace())) {
      PluginEntry entry;
      entry.where = {file, ++line, 1};
      const bool disabled = absl::ConsumePrefix(&word, "-");
      const std::vector<std::string> reason_id = absl::StrSplit(word, ':');
      entry.name = reason_id[0];
      if (reason_id.size() > 1) BERTH_CHECK(absl::SimpleAtoi(reason_id[1], &entry.weight)) << word;
      (disabled ? set.disabled : set.enabled).push_back(entry);
    }
  }
  return profile;
}

// A registry of scripted plugins and what builds frameworks from it.
class FrameworkTest : public ::testing::Test {
 protected:
  FrameworkTest() {
    Add<FakeQueueSort>("Sort");
    Add<FakeBind>("Binder");
  }

  // Registers a plugin that implements `Points`; the script may change at any time.
  template <class... Points>
  Script& Add(absl::string_view name) {
    Script& script = scripts_[std::string(name)];
    script.log = &log_;
    script.name = std::string(name);
    registrations_.push_back(
        {std::string(name),
         [&script](const PluginArgs&, Handle&) -> absl::StatusOr<std::unique_ptr<Plugin>> {
           script.log->push_back(script.name + ".Create");
           auto plugin = std::make_unique<Fake<Points...>>();
           plugin->FakeBase::name = script.name;
           plugin->FakeBase::script = &script;
           return plugin;
         }});
    return script;
  }
  void Add(PluginRegistration registration) { registrations_.push_back(std::move(registration)); }
  Script& script(absl::string_view name) { return scripts_.at(std::string(name)); }

  std::unique_ptr<Framework> TryBuild(const Profile& profile, Problems& problems) {
    return TryBuild(profile, handle_, problems);
  }
  std::unique_ptr<Framework> TryBuild(const Profile& profile, Handle& handle, Problems& problems) {
    Registry::Builder builder;
    for (const PluginRegistration& registration : registrations_) builder.Add(registration);
    absl::StatusOr<Registry> registry = std::move(builder).Build();
    BERTH_CHECK(registry.ok()) << registry.status();
    return Framework::Create(profile, *registry, handle, problems);
  }
  // For a profile that must be right. Clears the log.
  std::unique_ptr<Framework> Build(absl::string_view text) {
    Problems problems;
    std::unique_ptr<Framework> framework = TryBuild(MakeProfile(text), problems);
    BERTH_CHECK(framework != nullptr) << text << "\n" << problems.ToString();
    log_.clear();
    return framework;
  }
  // "p.yaml:1: message" of each problem.
  std::vector<std::string> ProblemsOf(const Profile& profile) {
    Problems problems;
    const bool built = TryBuild(profile, problems) != nullptr;
    EXPECT_EQ(built, problems.ok());
    std::vector<std::string> texts;
    for (const Problem& problem : problems) {
      texts.push_back(absl::StrCat(problem.where.line, ": ", problem.message));
    }
    return texts;
  }
  std::vector<std::string> ProblemsOf(absl::string_view text) {
    return ProblemsOf(MakeProfile(text));
  }

  std::vector<std::string> log_;  // every call, in order
  FakeHandle handle_;

 private:
  std::map<std::string, Script> scripts_;
  std::vector<PluginRegistration> registrations_;
};

// With a pod and three nodes to run the points for.
class RunnerTest : public FrameworkTest {
 protected:
  // n0, n1 … without any resources.
  static std::vector<NodeInfo> MakeNodes(int count) {
    std::vector<NodeInfo> nodes;
    for (int i = 0; i < count; ++i) nodes.push_back(MakeNode().Name(absl::StrCat("n", i)).Info());
    return nodes;
  }

  CycleState state_;
  const std::shared_ptr<const PodInfo> pod_ = MakePod().Name("p").Priority(10).Obj();
  const TestNodes nodes_{MakeNodes(3)};
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_FRAMEWORK_FRAMEWORK_FAKES_H_
