// SPDX-License-Identifier: Apache-2.0
// What holds for every registered plugin: the batch form agrees with the per-node form, scores
// keep their range, and a verdict depends on nothing that the plugin did not declare.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/builtin_plugins.h"
#include "berth/extensions/observer.h"
#include "berth/framework/filter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_filter.h"
#include "berth/incremental/domain_scorer.h"
#include "berth/incremental/indexed_hints.h"
#include "berth/incremental/selective_filter.h"
#include "berth/incremental/uniform_score.h"
#include "tests/plugins/random_cluster.h"
#include "tests/plugins/run_plugin.h"
#include "tests/plugins/shared_reasons.h"

namespace berth::testing {
namespace {

constexpr int kSeeds = 20;
constexpr int kPodsPerCluster = 8;
constexpr int kMaxNodes = 20;

const Registry& Builtins() {
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  return registry;
}

// Arguments to try besides the default ones.
std::vector<std::string> ArgsOf(const std::string& plugin) {
  static const auto& more = *new std::map<std::string, std::vector<std::string>>{
      {"NodeResourcesFit",
       {"{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: "
        "nvidia.com/gpu, weight: 5}, {name: ephemeral-storage}, {name: unknown}]}, "
        "ignoredResourceGroups: [example.com]}",
        "{scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: memory, weight: 2}, "
        "{name: example.com/foo}], requestedToCapacityRatio: {shape: [{utilization: 10, score: 0}, "
        "{utilization: 70, score: 10}, {utilization: 100, score: 3}]}}, ignoredResources: "
        "[nvidia.com/gpu]}"}},
      {"NodeResourcesBalancedAllocation",
       {"{resources: [{name: cpu}, {name: memory}, {name: nvidia.com/gpu}, {name: "
        "ephemeral-storage}]}"}},
      {"NodeResourcesAllocatable", {"{mode: Most, resources: [{name: memory, weight: 7}]}"}},
      {"NodeAffinity",
       {"{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
        "[{matchExpressions: [{key: zone, operator: Exists}]}]}, "
        "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 4, preference: "
        "{matchExpressions: [{key: generation, operator: Gt, values: ['3']}]}}]}}"}},
      {"NodeResourcesFitPlus",
       {"{resources: {nvidia.com/gpu: {type: MostAllocated, weight: 2}, cpu: {type: "
        "LeastAllocated, weight: 1}, memory: {type: MostAllocated, weight: 0}}}"}},
      {"PodTopologySpread",
       {"{defaultingType: List}",
        "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, "
        "whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: disk, whenUnsatisfiable: "
        "ScheduleAnyway}]}"}},
      {"InterPodAffinity",
       {"{hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}",
        "{hardPodAffinityWeight: 37}"}},
      {"ScarceResourceAvoidance", {"{resources: [nvidia.com/gpu, memory]}"}},
  };
  std::vector<std::string> all = {"{}"};
  const auto it = more.find(plugin);
  if (it != more.end()) all.insert(all.end(), it->second.begin(), it->second.end());
  return all;
}

// A plugin in a cluster of its own.
struct Stage {
  Stage(const PluginRegistration& registration, const std::string& yaml,
        const RandomCluster& cluster)
      : handle(cluster.Infos(), cluster.objects) {
    const PluginArgs args = registration.args == nullptr
                                ? PluginArgs()
                                : PluginArgs::Parse(yaml, *registration.args).value();
    plugin = registration.factory(args, handle).value();
    if (auto* observer = dynamic_cast<AssignmentObserver*>(plugin.get())) {
      for (NodeRow row = 0; row < handle.nodes().size(); ++row) {
        const NodeInfo& node = handle.nodes().node(row);
        for (const PodPtr& pod : node.pods()) observer->OnPodAssigned(*pod, node);
      }
    }
    for (NodeRow row = 0; row < handle.nodes().size(); ++row) rows.push_back(row);
  }
  template <class T>
  T* As() const {
    return dynamic_cast<T*>(plugin.get());
  }

  FakeHandle handle;
  std::unique_ptr<Plugin> plugin;
  std::vector<NodeRow> rows;  // all of them
};

// Everything that a plugin says about a pod.
struct Opinion {
  std::string pre_filter;  // the status, and the nodes it narrows to
  std::vector<Code> codes;
  std::string pre_score;
  std::vector<int64_t> scores, normalized;

  friend bool operator==(const Opinion&, const Opinion&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Opinion& o) {
    out << "PreFilter " << o.pre_filter << "; Filter";
    for (const Code code : o.codes) out << ' ' << static_cast<int>(code);
    return out << "; PreScore " << o.pre_score << "; scores " << absl::StrJoin(o.scores, " ")
               << "; normalized " << absl::StrJoin(o.normalized, " ");
  }
};

// By the per-node forms; the batch forms are held against them on the way.
class Evaluation {
 public:
  Evaluation(const Stage& stage, Random& random) : stage_(stage), random_(random) {}

  Opinion Ask(const PodPtr& pod) {
    CycleState state;
    Opinion opinion;
    if (RunPreFilter(state, *pod, opinion)) Filter(state, *pod, opinion);
    if (stage_.As<ScorePlugin>() != nullptr) Score(state, *pod, opinion);
    return opinion;
  }
  // How many rows share the reason of another row.
  int shared_reasons() const { return shared_reasons_; }
  // How many rows a SelectiveFilter left out.
  int left_out() const { return left_out_; }
  // How many pods had one score on all rows.
  int uniform() const { return uniform_; }
  // How many pods had points without SetFeasible().
  int without_feasible() const { return without_feasible_; }
  // For how many rows another one scored.
  int stood_for() const { return stood_for_; }

 private:
  // Whether the filter is to run.
  bool RunPreFilter(CycleState& state, const PodInfo& pod, Opinion& opinion) {
    auto* const pre_filter = stage_.As<PreFilterPlugin>();
    if (pre_filter == nullptr) return true;
    PreFilterResult result;
    const Status status = pre_filter->PreFilter(state, pod, stage_.handle.nodes(), result);
    opinion.pre_filter = absl::StrCat(CodeName(status.code()));
    if (result.node_names.has_value()) {
      for (const Symbol name : *result.node_names) {
        absl::StrAppend(&opinion.pre_filter, " ", name.view());
      }
    }
    return status.ok();
  }

  void Filter(const CycleState& state, const PodInfo& pod, Opinion& opinion) {
    auto* const filter = stage_.As<FilterPlugin>();
    if (filter == nullptr) return;
    const NodeTable& nodes = stage_.handle.nodes();
    for (const NodeRow row : stage_.rows) {
      opinion.codes.push_back(filter->Filter(state, pod, nodes.node(row)).code());
    }
    const std::vector<NodeRow> block = SomeRows();
    NodeVerdicts verdicts;
    verdicts.Reset(nodes.size());
    verdicts.BeginBlock(block);
    ASSERT_TRUE(filter->FilterNodes(state, pod, nodes, verdicts).ok());
    SharedReasons reasons;
    for (const NodeRow row : block) {
      shared_reasons_ += reasons.Check(verdicts, row, filter->Filter(state, pod, nodes.node(row)));
    }
    if (auto* selective = stage_.As<SelectiveFilter>()) {
      CompareSelectedRows(*selective, state, pod, opinion.codes);
    }
    if (const auto* domains = stage_.As<DomainFilter>()) {
      CompareDescribedDomains(*domains, state, pod);
    }
  }

  // What is left out is rejected, whatever the most.
  void CompareSelectedRows(SelectiveFilter& plugin, const CycleState& state, const PodInfo& pod,
                           const std::vector<Code>& codes) {
    const NodeTable& nodes = stage_.handle.nodes();
    const int most = random_.Below(nodes.size() + 1);
    std::vector<NodeRow> selected;
    if (!plugin.SelectRows(state, pod, nodes, most, selected)) return;
    EXPECT_LE(static_cast<int>(selected.size()), most);
    EXPECT_EQ(absl::c_adjacent_find(selected, std::greater_equal<>()), selected.end());
    for (const NodeRow row : stage_.rows) {
      if (std::binary_search(selected.begin(), selected.end(), row)) continue;
      ++left_out_;
      EXPECT_NE(codes[row], Code::kSuccess) << "pod " << pod.key() << ", row " << row;
    }
  }

  // A row's verdict is that of the first rule that does not let the pod in, in its words.
  void CompareDescribedDomains(const DomainFilter& plugin, const CycleState& state,
                               const PodInfo& pod) {
    std::vector<TrackedThreshold> rules;
    plugin.DescribeDomains(state, rules);
    for (const NodeRow row : stage_.rows) {
      uint8_t verdict = 0;
      for (const TrackedThreshold& rule : rules) {
        if (verdict == 0) verdict = rule.OfRow(row);
      }
      const Status status =
          stage_.As<FilterPlugin>()->Filter(state, pod, stage_.handle.nodes().node(row));
      ASSERT_EQ(verdict == 0, status.ok()) << "row " << row;
      const std::string said = absl::StrCat(CodeName(status.code()), " ", status.message());
      const auto [meaning, is_new] = meanings_.try_emplace(verdict, said);
      ASSERT_EQ(meaning->second, said) << "row " << row;
    }
  }

  void Score(CycleState& state, const PodInfo& pod, Opinion& opinion) {
    const NodeTable& nodes = stage_.handle.nodes();
    CycleState own = state.Clone();
    if (auto* const pre_score = stage_.As<PreScorePlugin>()) {
      const Status status = pre_score->PreScore(state, pod, nodes, stage_.rows);
      opinion.pre_score = absl::StrCat(CodeName(status.code()));
      if (!status.ok()) return;
    }
    const auto& plugin = *stage_.As<ScorePlugin>();
    for (const NodeRow row : stage_.rows) {
      opinion.scores.push_back(plugin.Score(state, pod, nodes.node(row)).value());
    }
    const std::vector<NodeRow> block = SomeRows();
    std::vector<int64_t> of_block(block.size(), -1);
    ASSERT_TRUE(plugin.ScoreNodes(state, pod, nodes, block, absl::MakeSpan(of_block)).ok());
    for (size_t i = 0; i < block.size(); ++i) {
      EXPECT_EQ(of_block[i], opinion.scores[block[i]]) << "Score, row " << block[i];
    }
    opinion.normalized = opinion.scores;
    Normalize(state, pod, stage_.rows, opinion.normalized);
    for (const int64_t score : opinion.normalized) {
      EXPECT_GE(score, kMinNodeScore);
      EXPECT_LE(score, kMaxNodeScore * plugin.ScoreResolution());
    }
    if (const auto* const uniform = stage_.As<UniformScorePlugin>()) {
      CompareUniformScore(*uniform, state, pod, opinion);
    }
    if (auto* const domains = stage_.As<DomainScorer>()) {
      ScoreDomains(*domains, std::move(own), pod, opinion);
    }
  }

  // The one score is that of every row, and so is what becomes of it.
  void CompareUniformScore(const UniformScorePlugin& plugin, const CycleState& state,
                           const PodInfo& pod, const Opinion& opinion) {
    const std::optional<int64_t> score = plugin.UniformScore(state, pod, stage_.handle.nodes());
    if (!score.has_value()) return;
    ++uniform_;
    std::vector<int64_t> normalized = {*score};
    Normalize(state, pod, {stage_.rows.front()}, normalized);
    EXPECT_THAT(opinion.scores, ::testing::Each(*score)) << "pod " << pod.key();
    EXPECT_THAT(opinion.normalized, ::testing::Each(normalized.front())) << "pod " << pod.key();
  }

  void Normalize(const CycleState& state, const PodInfo& pod, const std::vector<NodeRow>& rows,
                 std::vector<int64_t>& scores) {
    const auto* const extensions = stage_.As<ScoreExtensions>();
    if (extensions == nullptr) return;
    ASSERT_TRUE(extensions->NormalizeScores(state, pod, rows, absl::MakeSpan(scores)).ok());
  }

  // The nodes of each class, which may be in several domains.
  class DomainsOfClasses final : public EquivalentNodes::Domains {
   public:
    std::map<NodeRow, std::vector<NodeRow>> members;  // by the row that stands for them

    std::optional<int> CountDomains(const LabelColumn& column,
                                    absl::FunctionRef<bool(NodeRow)> takes) const override {
      std::set<uint32_t> domains;
      for (const auto& [row, rows] : members) {
        if (!takes(row)) continue;
        for (const NodeRow member : rows) domains.insert(column.index(member));
      }
      return static_cast<int>(domains.size());
    }
  };

  // One row scores for all that the plugin's sums do not tell apart. `own` is as PreFilter left it.
  void ScoreDomains(DomainScorer& plugin, CycleState own, const PodInfo& pod,
                    const Opinion& opinion) {
    const NodeTable& nodes = stage_.handle.nodes();
    std::vector<DomainSum> sums;
    const std::optional<Status> said = plugin.PreScoreDomains(own, pod, nodes, sums);
    if (!said.has_value()) return;
    ASSERT_EQ(CodeName(said->code()), opinion.pre_score);
    if (!said->ok()) return;
    if (plugin.ScoresDependOn(own) == DomainScorer::Feasible::kNothing) {
      ScoreWithoutFeasible(plugin, own, pod);
    }
    const bool by_sums = random_.Percent(50);
    std::map<std::vector<int64_t>, std::vector<NodeRow>> classes;
    for (const NodeRow row : stage_.rows)
      classes[WhatTellsApart(sums, by_sums, row)].push_back(row);
    std::vector<NodeRow> rows;
    std::vector<int> counts;
    DomainsOfClasses domains;
    for (const auto& [key, members] : classes) {
      rows.push_back(random_.OneOf(members));
      domains.members.emplace(rows.back(), members);
      counts.push_back(static_cast<int>(members.size()));
      stood_for_ += counts.back() - 1;
    }
    plugin.SetFeasible(own, {rows, counts, by_sums ? &domains : nullptr});
    const auto& score = *stage_.As<ScorePlugin>();
    std::vector<int64_t> scores(rows.size(), -1);
    ASSERT_TRUE(score.ScoreNodes(own, pod, nodes, rows, absl::MakeSpan(scores)).ok());
    std::vector<int64_t> normalized = scores;
    Normalize(own, pod, rows, normalized);
    size_t i = 0;
    for (const auto& [key, members] : classes) {
      for (const NodeRow row : members) {
        EXPECT_EQ(scores[i], opinion.scores[row]) << "row " << rows[i] << " for row " << row;
        EXPECT_EQ(normalized[i], opinion.normalized[row]) << "row " << rows[i] << " for " << row;
      }
      ++i;
    }
  }

  // Points are the same whether or not SetFeasible() was called. `own` is as PreScoreDomains() left
  // it.
  void ScoreWithoutFeasible(DomainScorer& plugin, const CycleState& own, const PodInfo& pod) {
    const std::vector<NodeRow> rows = SomeRows();
    if (rows.empty()) return;
    std::vector<int64_t> points[2];
    for (const bool is_told : {false, true}) {
      CycleState state = own.Clone();
      if (is_told) plugin.SetFeasible(state, {rows, {}, nullptr});
      std::vector<int64_t>& scores = points[is_told ? 1 : 0];
      scores.resize(rows.size());
      const absl::Status status = stage_.As<ScorePlugin>()->ScoreNodes(
          state, pod, stage_.handle.nodes(), rows, absl::MakeSpan(scores));
      ASSERT_TRUE(status.ok()) << status;
      Normalize(state, pod, rows, scores);
    }
    EXPECT_EQ(points[0], points[1]) << "pod " << pod.key();
    ++without_feasible_;
  }

  // `by_sums`: also where domains have several nodes.
  static std::vector<int64_t> WhatTellsApart(const std::vector<DomainSum>& sums, bool by_sums,
                                             NodeRow row) {
    std::vector<int64_t> key;
    for (const DomainSum& sum : sums) {
      const uint32_t domain = sum.column->index(row);
      const bool by_domain =
          !sum.column->at(row).present || (!by_sums && !HasOneNodePerValue(*sum.column));
      int64_t pods = 0;
      for (const auto& part : sum.parts) {
        pods += part.weight * part.pods->of_domains(*sum.column)[domain];
      }
      key.insert(key.end(), {by_domain, by_domain ? domain : pods});
    }
    return key;
  }

  // A few rows, or all, beginning anywhere, as a search that goes on where the last one ended.
  std::vector<NodeRow> SomeRows() {
    std::vector<NodeRow> rows;
    const bool all = random_.Percent(50);
    for (const NodeRow row : stage_.rows) {
      if (all || random_.Percent(50)) rows.push_back(row);
    }
    if (!rows.empty()) {
      absl::c_rotate(rows, rows.begin() + random_.Below(static_cast<int>(rows.size())));
    }
    return rows;
  }

  const Stage& stage_;
  Random& random_;
  int shared_reasons_ = 0;
  int stood_for_ = 0, left_out_ = 0, uniform_ = 0, without_feasible_ = 0;
  std::map<uint8_t, std::string> meanings_;  // of what a DomainFilter says
};

// Calls `test` for every plugin, each of its arguments and a number of seeds.
template <class Test>
void ForEveryPlugin(Test test, int seeds = kSeeds) {
  for (const auto& [name, registration] : Builtins().plugins()) {
    for (const std::string& yaml : ArgsOf(name)) {
      for (int seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(absl::StrCat(name, " ", yaml, ", seed ", seed));
        test(registration, yaml, seed);
        if (::testing::Test::HasFailure()) return;  // the first one says it all
      }
    }
  }
}

TEST(EveryPluginTest, BatchFormsAgreeWithPerNodeForms) {
  int shared_reasons = 0, stood_for = 0, left_out = 0, uniform = 0, without_feasible = 0;
  ForEveryPlugin([&](const PluginRegistration& registration, const std::string& yaml, int seed) {
    Random random(seed);
    Stage stage(registration, yaml, MakeRandomCluster(random, kMaxNodes));
    Evaluation evaluation(stage, random);
    for (int i = 0; i < kPodsPerCluster; ++i) {
      evaluation.Ask(MakeRandomPod(random, absl::StrCat("pod-", i)).Obj());
    }
    shared_reasons += evaluation.shared_reasons();
    stood_for += evaluation.stood_for();
    left_out += evaluation.left_out();
    uniform += evaluation.uniform();
    without_feasible += evaluation.without_feasible();
  });
  EXPECT_GT(shared_reasons, 1000);
  EXPECT_GT(stood_for, 300);
  EXPECT_GT(left_out, 300);
  EXPECT_GT(uniform, 100);
  EXPECT_GT(without_feasible, 50);
}

// The batch form after the table followed changes of its nodes.
TEST(EveryPluginTest, BatchFormsAgreeAfterChanges) {
  ForEveryPlugin([](const PluginRegistration& registration, const std::string& yaml, int seed) {
    Random random(seed);
    Stage stage(registration, yaml, MakeRandomCluster(random, kMaxNodes));
    Evaluation evaluation(stage, random);
    auto* const observer = stage.As<AssignmentObserver>();
    for (int i = 0; i < kPodsPerCluster; ++i) {
      evaluation.Ask(MakeRandomPod(random, absl::StrCat("pod-", i)).Obj());
      const NodeRow row = random.OneOf(stage.rows);
      const PodPtr added = MakeRandomPod(random, absl::StrCat("added-", i))
                               .NodeName(stage.handle.nodes().node(row).name().view())
                               .Obj();
      stage.handle.test_nodes().AddPod(row, added);
      if (observer != nullptr) observer->OnPodAssigned(*added, stage.handle.nodes().node(row));
    }
  });
}

// Takes `rows` out of what can be compared.
void Forget(const std::vector<bool>& rows, Opinion& opinion) {
  opinion.normalized.clear();  // one score may move all of them
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row]) continue;
    if (row < opinion.codes.size()) opinion.codes[row] = Code::kSuccess;
    if (row < opinion.scores.size()) opinion.scores[row] = 0;
  }
}

TEST(EveryPluginTest, UndeclaredAspectsChangeNothing) {
  ForEveryPlugin([](const PluginRegistration& registration, const std::string& yaml, int seed) {
    Random random(seed);
    RandomCluster cluster = MakeRandomCluster(random, kMaxNodes);
    Stage before(registration, yaml, cluster);
    const auto* const signer = before.As<SignPlugin>();
    if (signer == nullptr) return;
    std::vector<bool> may_change(cluster.nodes.size(), false);
    for (int i = 0; i < 10; ++i) {
      RandomCluster other = cluster;
      const NodeChange change = ChangeNode(random, other);
      if ((change.others & signer->DependsOn()) != 0) continue;
      if ((change.own & signer->DependsOn()) != 0) may_change[change.node] = true;
      cluster = other;
    }
    Stage after(registration, yaml, cluster);
    for (int i = 0; i < kPodsPerCluster; ++i) {
      const PodPtr pod = MakeRandomPod(random, absl::StrCat("pod-", i)).Obj();
      PodSignature signature;
      if (!signer->SignPod(*pod, signature).ok()) continue;
      Opinion opinion = Evaluation(before, random).Ask(pod);
      Opinion opinion_after = Evaluation(after, random).Ask(pod);
      Forget(may_change, opinion);
      Forget(may_change, opinion_after);
      EXPECT_EQ(opinion, opinion_after);
    }
  });
}

TEST(EveryPluginTest, PodsOfOneSignatureGetTheSameVerdicts) {
  ForEveryPlugin(
      [](const PluginRegistration& registration, const std::string& yaml, int seed) {
        Random random(seed);
        Stage stage(registration, yaml, MakeRandomCluster(random, kMaxNodes));
        const auto* const signer = stage.As<SignPlugin>();
        if (signer == nullptr) return;
        Evaluation evaluation(stage, random);
        for (int i = 0; i < kPodsPerCluster; ++i) {
          PodBuilder pod = MakeRandomPod(random, absl::StrCat("pod-", i));
          PodBuilder other = pod;
          other.Name(absl::StrCat("other-", i));
          // Often the same thing in both, so that they differ in a value and not in how many there
          // are.
          for (int changes = random.Between(1, 3); changes > 0; --changes) {
            const int change = random.Below(kPodChanges);
            if (random.Percent(60)) ChangePod(random, pod, change);
            ChangePod(random, other, change);
          }
          PodSignature signature, other_signature;
          if (!signer->SignPod(*pod.Obj(), signature).ok()) continue;
          if (!signer->SignPod(*other.Obj(), other_signature).ok()) continue;
          if (signature.bytes() != other_signature.bytes()) continue;
          const Opinion opinion = evaluation.Ask(pod.Obj());
          EXPECT_EQ(opinion, evaluation.Ask(other.Obj()));
        }
      },
      3 * kSeeds);  // most pairs have different signatures
}

// A pod with the spec of `pod`, its labels and namespace, and nothing else; null if there is none.
PodPtr AnotherOfItsSpec(const PodInfo& pod, int i) {
  const auto packed = pod.packed()->With([&](api::Pod& own) {
    api::ObjectMeta& metadata = *own.mutable_metadata();
    metadata.set_name(absl::StrCat("other-", i));
    metadata.set_uid(absl::StrCat("uid-", i));
    (*metadata.mutable_annotations())["example.com/gpu"] = "1";
    metadata.mutable_creation_timestamp()->set_seconds(i);
    metadata.add_owner_references()->set_kind("ReplicaSet");
    own.mutable_spec()->set_node_name("somewhere");
    own.mutable_status()->set_nominated_node_name("elsewhere");
  });
  PodPtr other = PodInfo::Create(packed, &pod).value();
  return other->SharesSpec(pod) ? other : nullptr;
}

// Who signs by the spec alone looks at nothing else of a pod.
TEST(EveryPluginTest, WhatSignsBySpecDoesNotSeeWhoseItIs) {
  int pods_signed = 0;
  ForEveryPlugin([&](const PluginRegistration& registration, const std::string& yaml, int seed) {
    Random random(seed);
    Stage stage(registration, yaml, MakeRandomCluster(random, kMaxNodes));
    const auto* const signer = stage.As<SignPlugin>();
    if (signer == nullptr || !signer->SignsSpecOnly()) return;
    for (int i = 0; i < 10 * kPodsPerCluster; ++i) {
      const PodPtr pod = MakeRandomPod(random, absl::StrCat("pod-", i)).Obj();
      const PodPtr other = AnotherOfItsSpec(*pod, i);
      if (other == nullptr) continue;
      PodSignature signature, other_signature;
      const Status status = signer->SignPod(*pod, signature);
      EXPECT_EQ(status.code(), signer->SignPod(*other, other_signature).code());
      EXPECT_EQ(signature.bytes(), other_signature.bytes());
      if (status.ok()) ++pods_signed;
    }
  });
  EXPECT_GT(pods_signed, 1000);
}

// A change that a hint may be asked about: of a node, or of a pod that is neither of those asked
// about. Absent for other kinds of objects.
std::optional<ObjectChange> RandomChange(Random& random, const ClusterEvent& event) {
  const auto node = [&] {
    RandomCluster cluster = MakeRandomCluster(random, 1);
    return std::make_shared<const NodeInfo>(cluster.nodes.front().Info());
  };
  const auto pod = [&](bool assigned) {
    PodBuilder builder = MakeRandomPod(random, "changed");
    if (assigned) builder.NodeName("node-0");
    return builder.Obj();
  };
  ObjectChange change;
  const bool came = (event.action & action::kAdd) != 0 && random.Percent(50);
  const bool went = !came && (event.action & action::kDelete) != 0 && random.Percent(50);
  const bool changes = (event.action & action::kUpdate) != 0 || (!came && !went);
  switch (event.resource.type) {
    case EventResource::kNode:
      if (!came && (went || changes)) change.old_node = node();
      if (!went) change.new_node = node();
      if (change.new_node == nullptr && (event.action & action::kDelete) == 0) return std::nullopt;
      return change;
    case EventResource::kPod:
    case EventResource::kAssignedPod: {
      const bool only_deletes = event.action == action::kDelete;
      if (!came) change.old_pod = pod(true);
      if (!went && !only_deletes) change.new_pod = pod(true);
      return change;
    }
    default:
      return std::nullopt;
  }
}

// Nor do hints that read the spec alone.
TEST(EveryPluginTest, HintsThatReadTheSpecDoNotSeeWhoseItIs) {
  int asked = 0, helpful = 0;
  ForEveryPlugin([&](const PluginRegistration& registration, const std::string& yaml, int seed) {
    Random random(seed);
    Stage stage(registration, yaml, MakeRandomCluster(random, kMaxNodes));
    const auto* const extensions = stage.As<EnqueueExtensions>();
    if (extensions == nullptr || !extensions->HintsReadSpecOnly()) return;
    for (const ClusterEventWithHint& registered : extensions->EventsToRegister()) {
      if (registered.hint == nullptr) continue;
      for (int i = 0; i < kPodsPerCluster; ++i) {
        const PodPtr pod = MakeRandomPod(random, absl::StrCat("pod-", i)).Obj();
        const PodPtr other = AnotherOfItsSpec(*pod, i);
        const std::optional<ObjectChange> change = RandomChange(random, registered.event);
        if (other == nullptr || !change.has_value()) continue;
        const absl::StatusOr<QueueingHint> hint = registered.hint(*pod, *change);
        const absl::StatusOr<QueueingHint> of_other = registered.hint(*other, *change);
        ASSERT_EQ(hint.status(), of_other.status());
        if (hint.ok()) {
          EXPECT_EQ(*hint, *of_other);
          helpful += *hint == QueueingHint::kQueue;
        }
        ++asked;
      }
    }
  });
  EXPECT_GT(asked, 500);
  EXPECT_GT(helpful, 100);
}

// A change whose values a pod has none of does not help the pod.
TEST(EveryPluginTest, IndexesMissNoPodThatAChangeHelps) {
  int missed = 0, helpful = 0;
  ForEveryPlugin([&](const PluginRegistration& registration, const std::string& yaml, int seed) {
    Random random(seed);
    Stage stage(registration, yaml, MakeRandomCluster(random, kMaxNodes));
    const auto* const extensions = stage.As<EnqueueExtensions>();
    const auto* const index = stage.As<IndexedHints>();
    if (index == nullptr || !extensions->HintsReadSpecOnly()) return;
    for (const ClusterEventWithHint& registered : extensions->EventsToRegister()) {
      for (int i = 0; i < 10 * kPodsPerCluster; ++i) {
        PodBuilder waiting = MakeRandomPod(random, absl::StrCat("waiting-", i));
        ChangePod(random, waiting, kAddsInterPodTerm);
        const PodPtr pod = waiting.Obj();
        std::optional<ObjectChange> change = RandomChange(random, registered.event);
        if (!change.has_value()) continue;
        if (change->new_pod != nullptr && i % 4 != 0) {
          PodBuilder comes = MakeRandomPod(random, "comes").NodeName("n");
          for (int labels = 0; labels < 4; ++labels) ChangePod(random, comes, kAddsLabel);
          *change = {.new_pod = comes.Obj()};
        }
        std::vector<uint64_t> of_pod, of_change;
        if (!index->IndexPod(*pod, of_pod) || !index->IndexChange(*change, of_change)) continue;
        const absl::StatusOr<QueueingHint> hint = registered.hint(*pod, *change);
        const bool helps = !hint.ok() || *hint == QueueingHint::kQueue;
        const bool found = absl::c_any_of(
            of_pod, [&](uint64_t value) { return absl::c_linear_search(of_change, value); });
        EXPECT_TRUE(found || !helps) << registration.name << " " << seed;
        helpful += helps ? 1 : 0;
        missed += found ? 0 : 1;
      }
    }
  });
  EXPECT_GT(missed, 500);
  EXPECT_GT(helpful, 50);
}

// The random pods and clusters are worth something: the filters say yes and no, the scores differ.
TEST(EveryPluginTest, TheClustersAreVaried) {
  for (const std::string name :
       {"NodeAffinity", "NodePorts", "NodeResourcesFit", "NodeUnschedulable", "TaintToleration"}) {
    int feasible = 0, rejected = 0;
    for (int seed = 1; seed <= 2 * kSeeds; ++seed) {
      Random random(seed);
      Stage stage(*Builtins().Find(name), "{}", MakeRandomCluster(random, kMaxNodes));
      for (int i = 0; i < kPodsPerCluster; ++i) {
        const PodPtr pod = MakeRandomPod(random, absl::StrCat("pod-", i)).Obj();
        for (const Code code : Evaluation(stage, random).Ask(pod).codes) {
          ++(code == Code::kSuccess ? feasible : rejected);
        }
      }
    }
    EXPECT_GT(feasible, 50) << name;
    EXPECT_GT(rejected, 10) << name;
  }
}

}  // namespace
}  // namespace berth::testing
