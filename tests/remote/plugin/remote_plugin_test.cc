// SPDX-License-Identifier: Apache-2.0
// A built-in plugin that is served answers as it does in process.
#include "remote/plugin/remote_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "berth/columns/node_verdicts.h"
#include "berth/testing/fake_handle.h"
#include "tests/plugins/random_cluster.h"
#include "tests/remote/plugin/faulty_process.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct ServedCase {
  std::string name;
  ServedPlugin served;
};

// With a signature and without; that read the node, what is requested of it, and its pods.
std::vector<ServedCase> Cases() {
  return {
      {"TaintToleration",
       {.is_signed = true,
        .signature = {"spec.tolerations"},
        .depends_on = {"NodeTaints"},
        .normalization = ScoreDirection::kLowerIsBetter}},
      {"NodeUnschedulable",
       {.is_signed = true, .signature = {"spec.tolerations"}, .depends_on = {"NodeUnschedulable"}}},
      {"NodeResourcesFit",
       {.is_signed = true,
        .signature = {"spec"},
        .depends_on = {"NodeAllocatable", "NodeRequested"}}},
      {"NodePorts",
       {.is_signed = true,
        .signature = {"spec.containers", "spec.initContainers"},
        .depends_on = {"NodePods"}}},
      {"NodeAffinity",
       {.is_signed = true,
        .signature = {"spec.affinity", "spec.nodeSelector"},
        .depends_on = {"NodeLabels"},
        .normalization = ScoreDirection::kHigherIsBetter}},
      {"NodeAffinity",
       {.depends_on = {"NodeLabels"}, .normalization = ScoreDirection::kHigherIsBetter}},
  };
}

PluginArgs ArgsFor(const std::string& address) {
  auto args = PluginArgs::Parse(absl::StrCat("{address: '", address, "', deadline: 20s}"),
                                RemotePluginArgs::Fields());
  BERTH_CHECK(args.ok()) << args.status();
  return *args;
}

// The plugin at that point, or null.
template <class P>
P* At(ExtensionPoint point, Plugin& plugin) {
  const auto* const choice = dynamic_cast<const PointChoice*>(&plugin);
  return choice == nullptr || choice->Serves(point) ? dynamic_cast<P*>(&plugin) : nullptr;
}

// What a plugin says of a pod: codes, messages, scores of the feasible rows, normalized.
std::string OpinionOf(Plugin& plugin, const PodInfo& pod, const FakeHandle& handle) {
  const NodeTable& nodes = handle.nodes();
  CycleState state;
  std::string opinion;
  if (auto* const pre_filter = At<PreFilterPlugin>(ExtensionPoint::kPreFilter, plugin)) {
    PreFilterResult result;
    const Status status = pre_filter->PreFilter(state, pod, nodes, result);
    if (!status.ok() && !status.IsSkip()) return status.ToString();
    if (status.IsSkip()) opinion = "skips Filter; ";
    if (result.node_names.has_value()) {
      for (const Symbol name : *result.node_names) absl::StrAppend(&opinion, name.view(), " ");
    }
  }
  std::vector<NodeRow> rows(nodes.size());
  for (NodeRow row = 0; row < nodes.size(); ++row) rows[row] = row;
  NodeVerdicts verdicts;
  verdicts.Reset(nodes.size());
  verdicts.BeginBlock(rows);
  auto* const filter = At<FilterPlugin>(ExtensionPoint::kFilter, plugin);
  if (filter != nullptr && opinion != "skips Filter; ") {
    const Status status = filter->FilterNodes(state, pod, nodes, verdicts);
    if (!status.ok()) return status.ToString();
    for (const NodeRow row : rows) {
      const Status one = filter->Filter(state, pod, nodes.node(row));
      EXPECT_EQ(one.code(), verdicts.code(row));
      absl::StrAppend(&opinion, one.ToString(), "; ");
    }
  }
  verdicts.EndPlugin(0);
  auto* const score = At<ScorePlugin>(ExtensionPoint::kScore, plugin);
  std::vector<NodeRow> feasible;
  verdicts.AppendFeasible(rows, feasible);
  if (score == nullptr || feasible.empty()) return opinion;
  if (auto* const pre_score = At<PreScorePlugin>(ExtensionPoint::kPreScore, plugin)) {
    // Nothing is compared for a plugin that leaves Score out for the pod.
    if (pre_score->PreScore(state, pod, nodes, feasible).IsSkip()) return opinion + "skips Score";
  }
  std::vector<int64_t> scores(feasible.size());
  const absl::Status scored =
      score->ScoreNodes(state, pod, nodes, feasible, absl::MakeSpan(scores));
  if (!scored.ok()) return scored.ToString();
  for (size_t i = 0; i < feasible.size(); ++i) {
    EXPECT_EQ(*score->Score(state, pod, nodes.node(feasible[i])), scores[i]);
  }
  if (auto* const extensions = dynamic_cast<ScoreExtensions*>(&plugin)) {
    extensions->NormalizeScores(state, pod, feasible, absl::MakeSpan(scores)).IgnoreError();
  }
  for (const int64_t s : scores) absl::StrAppend(&opinion, " ", s);
  return opinion;
}

TEST(RemotePlugin, AnswersAsTheSamePluginInProcess) {
  for (const ServedCase& c : Cases()) {
    const std::string address = FreshAddress();
    const std::unique_ptr<PluginServer> server = ServeBuiltin(c.name, address, c.served);
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE(absl::StrCat(c.name, " seed ", seed));
      Random random(seed);
      RandomCluster cluster = MakeRandomCluster(random, 20);
      FakeHandle handle(cluster.Infos());
      const PluginRegistration& registration = *RemoteRegistry().Find(c.name);
      const auto local = registration.factory(PluginArgs::Defaults(registration.args), handle);
      ASSERT_TRUE(local.ok()) << local.status();
      auto remote = RemotePlugin::Create("Remote", ArgsFor(address), handle);
      ASSERT_TRUE(remote.ok()) << remote.status();
      for (int i = 0; i < 6; ++i) {
        const auto pod = MakeRandomPod(random, absl::StrCat("p", i)).Obj();
        std::string want = OpinionOf(**local, *pod, handle);
        const std::string got = OpinionOf(**remote, *pod, handle);
        const size_t skips_score = want.find("skips Score");
        if (skips_score == std::string::npos) {
          EXPECT_EQ(got, want);
        } else {
          EXPECT_EQ(got.substr(0, skips_score), want.substr(0, skips_score));
        }
        if (i % 2 == 1) {  // a pod is placed
          handle.test_nodes().AddPod(random.Below(handle.nodes().size()), pod);
        }
      }
    }
  }
}

// Preemption asks about nodes without some of their pods.
TEST(RemotePlugin, JudgesANodeAsItIsGiven) {
  const std::string address = FreshAddress();
  const auto server = ServeBuiltin("NodeResourcesFit", address,
                                   {.is_signed = true,
                                    .signature = {"spec"},
                                    .depends_on = {"NodeAllocatable", "NodeRequested"}});
  const auto big = MakePod().Name("big").Request("cpu", "3").Obj();
  FakeHandle handle({MakeNode().Name("n").Capacity("cpu", "4").Pods(10).Info({big})});
  const auto remote = RemotePlugin::Create("Remote", ArgsFor(address), handle);
  ASSERT_TRUE(remote.ok()) << remote.status();
  auto& plugin = static_cast<RemotePlugin&>(**remote);
  const auto pod = MakePod().Name("p").Request("cpu", "2").Obj();
  CycleState state;
  PreFilterResult result;
  ASSERT_TRUE(plugin.PreFilter(state, *pod, handle.nodes(), result).ok());
  EXPECT_EQ(plugin.Filter(state, *pod, handle.nodes().node(0)).message(), "Insufficient cpu");
  NodeInfo without = handle.nodes().node(0);
  without.RemovePod(*big);
  EXPECT_TRUE(plugin.Filter(state, *pod, without).ok());
  NodeInfo with = without;
  with.AddPod(MakePod().Name("q").Request("cpu", "3").Obj());
  EXPECT_FALSE(plugin.Filter(state, *pod, with).ok());
}

TEST(RemotePlugin, IsAskedOncePerClassOfPods) {
  const std::string address = FreshAddress();
  const auto server = ServeBuiltin("TaintToleration", address,
                                   {.is_signed = true,
                                    .signature = {"spec.tolerations"},
                                    .depends_on = {"NodeTaints"},
                                    .normalization = ScoreDirection::kLowerIsBetter});
  std::vector<Object> objects;
  for (int i = 0; i < 20; ++i) {
    objects.push_back(MakeNode()
                          .Name(absl::StrCat("n", i))
                          .Taint("only", i < 10 ? "x" : "y", TaintEffect::kNoSchedule)
                          .Capacity("cpu", "8")
                          .Pods(20)
                          .Object());
  }
  for (int i = 0; i < 40; ++i) {
    objects.push_back(MakePod()
                          .Name(absl::StrCat("p", i))
                          .Request("cpu", "1")
                          .Toleration("only", "x", TaintEffect::kNoSchedule)
                          .Object());
  }
  auto simulation = Simulate(RemoteProfile(address, "deadline: 20s, ", "{name: TaintToleration}"),
                             std::move(objects));
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  (*simulation)->RunUntilQuiet();
  EXPECT_EQ((*simulation)->cluster().Bindings().size(), 40u);
  for (const auto& [pod, node] : (*simulation)->cluster().Bindings()) {
    EXPECT_LT(std::stoi(node.substr(1)), 10) << pod;
  }
  EXPECT_EQ((*simulation)->scheduler().PluginCounters()["Remote/questions"], 1);
  EXPECT_EQ((*simulation)->scheduler().PluginCounters()["Remote/failures"], 0);
}

// Whole clusters: the same placements with the plugin in process and remote.
TEST(RemotePlugin, PlacesAsTheSamePluginInProcess) {
  const std::string address = FreshAddress();
  const auto server = ServeBuiltin("TaintToleration", address,
                                   {.is_signed = true,
                                    .signature = {"spec.tolerations"},
                                    .depends_on = {"NodeTaints"},
                                    .normalization = ScoreDirection::kLowerIsBetter});
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const auto placements = [&](const std::string& configuration) {
      Random random(seed);
      RandomCluster cluster = MakeRandomCluster(random, 20);
      std::vector<Object> objects;
      for (NodeBuilder& node : cluster.nodes) objects.push_back(node.Object());
      for (int i = 0; i < 60; ++i) {
        objects.push_back(MakeRandomPod(random, absl::StrCat("p", i)).Object());
      }
      auto simulation = Simulate(configuration, std::move(objects));
      EXPECT_TRUE(simulation.ok()) << simulation.status();
      (*simulation)->RunUntilQuiet();
      return (*simulation)->cluster().Bindings();
    };
    const std::string in_process =
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}";
    EXPECT_EQ(placements(RemoteProfile(address, "deadline: 20s, ", "{name: TaintToleration}")),
              placements(in_process));
  }
}

TEST(RemotePlugin, IsNamedByTheConfiguration) {
  const std::string good = RemoteProfile("unix:/run/x.sock");
  EXPECT_EQ(ProblemsOf(good), "");
  const std::vector<PluginRegistration> found = RemotePluginsIn(good);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "Remote");
  EXPECT_TRUE(
      RemotePluginsIn("profiles: [{pluginConfig: [{name: X, args: {kind: XArgs}}]}]").empty());
  EXPECT_TRUE(RemotePluginsIn("{profiles: 3").empty());

  EXPECT_THAT(ProblemsOf(RemoteProfile("unix:/run/x.sock", "kinds: x, ")), HasSubstr("kinds"));
  EXPECT_THAT(ProblemsOf(RemoteProfile("10.0.0.1:7000")), HasSubstr("loopback"));
  EXPECT_THAT(ProblemsOf(RemoteProfile("unix:/run/x.sock", "points: [queueSort], ")),
              HasSubstr("cannot sort the queue"));
  EXPECT_THAT(ProblemsOf(RemoteProfile("unix:/run/x.sock", "points: [preEnqueue], ")),
              HasSubstr("cannot be served"));
}

// What is wrong with one field is said once: the process of a plugin without address is not asked.
TEST(RemotePlugin, WhoseArgumentsAreAtFaultIsReportedOnce) {
  const LoadedConfiguration loaded = ParseConfiguration(
      RemoteProfile("unix:/run/x.sock", "failurePolicy: Nope, "), "config.yaml", RemoteRegistry());
  EXPECT_EQ(loaded.problems.errors(), 1);
  const auto simulation = Simulation::Create(
      {.configuration = loaded.configuration, .registry = &RemoteRegistry(), .objects = {}});
  EXPECT_TRUE(simulation.ok()) << simulation.status();
}

// To check a configuration that somebody sent: nobody listens at its address.
TEST(RemotePlugin, CanBeCheckedByItsFieldsAlone) {
  const auto trouble = [](const std::string& configuration) {
    std::vector<PluginRegistration> plugins =
        RemotePluginsIn(configuration, RemoteCheck::kFieldsOnly);
    const Registry registry = BuiltinRegistry(std::move(plugins)).value();
    LoadedConfiguration loaded = ParseConfiguration(configuration, "config.yaml", registry);
    if (!loaded.problems.ok()) return std::string(loaded.problems.ToStatus().message());
    const auto simulation = Simulation::Create(
        {.configuration = std::move(loaded.configuration), .registry = &registry, .objects = {}});
    return simulation.ok() ? "" : std::string(simulation.status().message());
  };
  EXPECT_EQ(trouble(RemoteProfile("unix:/run/nobody.sock")), "");
  EXPECT_THAT(trouble(RemoteProfile("unix:/run/nobody.sock", "points: [queueSort], ")),
              HasSubstr("cannot sort the queue"));
}

TEST(RemotePlugin, IsNoPartOfAProfileThatItDoesNotFit) {
  const auto trouble = [](const std::string& configuration) {
    const auto simulation = Simulate(configuration, {});
    return simulation.ok() ? "" : std::string(simulation.status().message());
  };
  const std::string address = FreshAddress();
  EXPECT_THAT(trouble(RemoteProfile(address, "startTimeout: 0.2s, ")),
              HasSubstr("berth describe-plugin"));
  const auto server = ServeBuiltin("NodeUnschedulable", address);
  EXPECT_EQ(trouble(RemoteProfile(address)), "");
  EXPECT_THAT(trouble(RemoteProfile(address, "points: [score], ")),
              HasSubstr("does not serve score"));
  EXPECT_THAT(trouble(RemoteProfile(address, "args: {size: 3}, ")), HasSubstr("takes none"));
  EXPECT_THAT(trouble(absl::StrReplaceAll(
                  RemoteProfile(address),
                  {{"multiPoint:", "queueSort: {enabled: [{name: Remote}]}\n    multiPoint:"}})),
              HasSubstr("a remote plugin cannot sort the queue"));
  // It is there: to start it does not help.
  const std::string no_file = trouble(
      RemoteProfile("localhost:1", "caFile: /no/ca, certFile: /no/cert, keyFile: /no/key, "));
  EXPECT_THAT(no_file, HasSubstr("cannot read /no/ca"));
  EXPECT_THAT(no_file, Not(HasSubstr("start it")));
}

// What only the process itself can refuse is refused when the profile is made.
TEST(RemotePlugin, IsNoPartOfAProfileWhoseArgumentsTheProcessRefuses) {
  const std::string address = FreshAddress();
  int made = 0;
  ServedPlugin picky;
  picky.registration = WithPlugin(
      "Picky",
      [&made](const PluginArgs&, Handle& handle) -> absl::StatusOr<std::unique_ptr<Plugin>> {
        // The first is made by the server to describe it.
        if (made++ > 0) return absl::InvalidArgumentError("no licence server");
        return RemoteRegistry().Find("NodeUnschedulable")->factory(PluginArgs(), handle);
      });
  const auto server = PluginServer::Start(std::move(picky), {.address = address});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto simulation = Simulate(RemoteProfile(address), {});
  ASSERT_FALSE(simulation.ok());
  EXPECT_THAT(simulation.status().message(),
              HasSubstr("it refuses its arguments: no licence server"));
}

// The same checks, with what the process said when it was there.
TEST(RemotePlugin, IsCheckedByItsSavedDescriptionIfItCannotBeReached) {
  const std::string address = FreshAddress();
  const std::string file = absl::StrCat(::testing::TempDir(), "berth-description-", getpid());
  const auto trouble = [&](const std::string& more) {
    const auto simulation = Simulate(
        RemoteProfile(address,
                      absl::StrCat(more, "startTimeout: 0.2s, descriptionFile: ", file, ", ")),
        {});
    return simulation.ok() ? "" : std::string(simulation.status().message());
  };
  {
    FaultyProcess process(address);
    process.End();
    process.description().set_arguments_schema(
        R"({"type": "object", "required": ["size"], "additionalProperties": false,
            "properties": {"size": {"type": "integer", "minimum": 1}}})");
    process.Begin();
    const absl::StatusOr<std::string> said = DescribeRemotePlugin(address);
    ASSERT_TRUE(said.ok()) << said.status();
    std::ofstream(file) << *said;
  }
  const absl::Time begin = absl::Now();
  EXPECT_EQ(trouble("args: {size: 2}, "), "");
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1));  // nobody listens, which is known at once
  EXPECT_THAT(trouble("args: {size: 0}, "), HasSubstr("size"));
  EXPECT_THAT(trouble("args: {size: 2, colour: red}, "), HasSubstr("colour"));
  EXPECT_THAT(trouble(""), HasSubstr("size"));
  EXPECT_THAT(trouble("args: {size: 2}, points: [score], "), HasSubstr("does not serve score"));
  std::ofstream(file) << "{\"name\": 3}";
  EXPECT_THAT(trouble("args: {size: 2}, "), HasSubstr(file));
  unlink(file.c_str());
}

}  // namespace
}  // namespace berth::testing
