// SPDX-License-Identifier: Apache-2.0
// What follows from a list of rules about topology domains is what a walk over all pods finds.
#include "berth/incremental/domain_rules.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/columns/node_verdicts.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::Random;
using testing::TestNodes;
using PodPtr = std::shared_ptr<const PodInfo>;

enum class Kind { kAtMost, kAtMostAboveMinimum, kAtLeastOne, kAtLeastOneOrFirst };

struct Wanted {
  const char* key;
  const char* app;
  Kind kind;
  int pods = 0, min_domains = 0;
  bool needs_key = false;

  DomainLimit limit() const {
    switch (kind) {
      case Kind::kAtMost:
        return DomainLimit::AtMost(pods);
      case Kind::kAtMostAboveMinimum:
        return DomainLimit::AtMostAboveMinimum(pods, min_domains);
      case Kind::kAtLeastOne:
        return DomainLimit::AtLeastOne();
      case Kind::kAtLeastOneOrFirst:
        break;
    }
    return DomainLimit::AtLeastOneOrFirst();
  }
};

constexpr DomainRejection kReasons[] = {{Code::kUnschedulable, "first"},
                                        {Code::kUnschedulable, "second"},
                                        {Code::kUnschedulableAndUnresolvable, "third"}};
constexpr DomainRejection kNoKey = {Code::kUnschedulableAndUnresolvable, "no key"};

class Lists final : public DomainRulesPlugin {
 public:
  Status ListRules(const PodInfo&, const NodeTable&, DomainRules& rules) override {
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Wanted& rule = wanted[i];
      const std::string made_up = absl::StrCat("reason ", ++reasons);
      rules.Add({.topology_key = Symbol::Intern(rule.key),
                 .selector = {.any_namespace = true,
                              .labels = LabelSelector::FromLabels({{"app", rule.app}})}},
                {.limit = rule.limit(),
                 .otherwise = makes_up_reasons ? DomainRejection{Code::kUnschedulable, made_up}
                                               : kReasons[i],
                 .without_key = rule.needs_key ? std::optional(kNoKey) : std::nullopt});
    }
    return Status::Success();
  }
  // `wanted` does not change between two dry runs.
  void CountOtherPods(const PodInfo&, const PodInfo&, const NodeInfo&, int64_t,
                      DomainRules&) const override {}

  std::vector<Wanted> wanted;
  bool makes_up_reasons = false;
  int reasons = 0;
};

// What the rules come to, from the nodes as they are.
class Walk {
 public:
  Walk(const std::vector<Wanted>& wanted, const std::vector<NodeInfo>& nodes)
      : wanted_(wanted), nodes_(nodes) {}

  std::string Filter(const NodeInfo& node) const {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const Symbol* const value = node.labels().Find(Symbol::Intern(wanted_[i].key));
      if (value == nullptr) {
        if (wanted_[i].needs_key) return "no key";
      } else if (!IsWithin(wanted_[i], *value)) {
        return std::string(kReasons[i].reason);
      }
    }
    return "";
  }

 private:
  std::map<std::string, int> Count(const Wanted& rule) const {
    std::map<std::string, int> pods;
    for (const NodeInfo& node : nodes_) {
      const Symbol* const value = node.labels().Find(Symbol::Intern(rule.key));
      if (value == nullptr) continue;
      int& in_domain = pods[std::string(value->view())];
      for (const PodPtr& pod : node.pods()) {
        const Symbol* const app = pod->labels().Find(Symbol::Intern("app"));
        in_domain += app != nullptr && app->view() == rule.app ? 1 : 0;
      }
    }
    return pods;
  }
  bool IsWithin(const Wanted& rule, Symbol value) const {
    const std::map<std::string, int> pods = Count(rule);
    const int here = pods.at(std::string(value.view()));
    switch (rule.kind) {
      case Kind::kAtMost:
        return here <= rule.pods;
      case Kind::kAtMostAboveMinimum: {
        int minimum = here;
        for (const auto& [domain, count] : pods) minimum = std::min(minimum, count);
        if (static_cast<int>(pods.size()) < rule.min_domains) minimum = 0;
        return here <= minimum + rule.pods;
      }
      case Kind::kAtLeastOne:
        return here > 0;
      case Kind::kAtLeastOneOrFirst:
        break;
    }
    int anywhere = 0;
    for (const Wanted& other : wanted_) {
      if (other.kind != Kind::kAtLeastOneOrFirst) continue;
      for (const auto& [domain, count] : Count(other)) anywhere += count;
    }
    return here > 0 || anywhere == 0;
  }

  const std::vector<Wanted>& wanted_;
  const std::vector<NodeInfo>& nodes_;
};

PodBuilder RandomPod(Random& random, int i) {
  return MakePod().Name(absl::StrCat("p", i)).Label("app", random.Percent(50) ? "a" : "b");
}

std::vector<NodeInfo> RandomNodes(Random& random) {
  std::vector<NodeInfo> nodes;
  const int most_pods = random.Between(1, 3);
  for (int i = 0; i < 12; ++i) {
    NodeBuilder node = MakeNode().Name(absl::StrCat("n", i));
    if (random.Percent(90)) node.Label("zone", absl::StrCat("z", random.Below(3)));
    if (random.Percent(90)) node.Label("host", absl::StrCat("h", i));
    std::vector<PodPtr> pods;
    for (int k = random.Below(most_pods); k > 0; --k) {
      pods.push_back(RandomPod(random, 10 * i + k).NodeName(absl::StrCat("n", i)).Obj());
    }
    nodes.push_back(node.Info(pods));
  }
  return nodes;
}

std::vector<Wanted> RandomRules(Random& random) {
  std::vector<Wanted> wanted;
  for (int i = random.Between(1, 3); i > 0; --i) {
    wanted.push_back({.key = random.Percent(50) ? "zone" : "host",
                      .app = random.Percent(50) ? "a" : "b",
                      .kind = static_cast<Kind>(random.Below(4)),
                      .pods = random.Below(3),
                      .min_domains = random.Below(5),
                      .needs_key = random.Percent(50)});
  }
  return wanted;
}

TEST(DomainRules, EveryFormIsWhatAWalkFinds) {
  std::map<std::string, int> said;
  std::map<bool, int> followed;
  for (int seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    std::vector<NodeInfo> infos = RandomNodes(random);
    const TestNodes nodes(infos);
    Lists plugin;
    plugin.wanted = RandomRules(random);
    const PodPtr pod = MakePod().Name("asked").Obj();
    CycleState state;
    PreFilterResult narrowed;
    ASSERT_TRUE(plugin.PreFilter(state, *pod, nodes.table(), narrowed).ok());

    const Walk walk(plugin.wanted, infos);
    NodeVerdicts verdicts;
    verdicts.Reset(nodes.table().size());
    std::vector<NodeRow> rows;
    for (NodeRow row = 0; row < nodes.table().size(); ++row) rows.push_back(row);
    verdicts.BeginBlock(rows);
    ASSERT_TRUE(plugin.FilterNodes(state, *pod, nodes.table(), verdicts).ok());
    std::vector<TrackedThreshold> by_domain;
    plugin.DescribeDomains(state, by_domain);
    std::map<uint8_t, std::string> meanings = {{0, ""}};
    for (const NodeRow row : rows) {
      const Status status = plugin.Filter(state, *pod, nodes.node(row));
      ASSERT_EQ(status.message(), walk.Filter(nodes.node(row))) << "row " << row;
      EXPECT_EQ(verdicts.code(row), status.code());
      uint8_t verdict = 0;
      for (const auto& rule : by_domain) verdict = verdict != 0 ? verdict : rule.OfRow(row);
      EXPECT_EQ(meanings.emplace(verdict, status.message()).first->second, status.message());
      ++said[status.message()];
    }

    // Pods of one node go, and one comes.
    const int changed = random.Below(static_cast<int>(infos.size()));
    CycleState dry_run = state.Clone();
    const std::vector<PodPtr> there(infos[changed].pods().begin(), infos[changed].pods().end());
    const PodPtr came = RandomPod(random, 1000).Obj();
    const std::string before = walk.Filter(infos[changed]);
    const bool follows = plugin.FollowsPodsOf(state, *pod, infos[changed], {came});
    for (const PodPtr& gone : there) {
      if (random.Percent(30)) continue;
      ASSERT_TRUE(infos[changed].RemovePod(*gone));
      ASSERT_TRUE(plugin.RemovePod(dry_run, *pod, *gone, infos[changed]).ok());
    }
    if (random.Percent(30)) {
      infos[changed].AddPod(came);
      ASSERT_TRUE(plugin.AddPod(dry_run, *pod, *came, infos[changed]).ok());
    }
    const std::string after = walk.Filter(infos[changed]);
    EXPECT_EQ(plugin.Filter(dry_run, *pod, infos[changed]).message(), after);
    if (!follows) {
      EXPECT_EQ(after, before);
    }
    ++followed[follows];
  }
  EXPECT_GT(followed[false], 50);
  EXPECT_GT(followed[true], 50);
  for (const char* reason : {"", "first", "second", "third", "no key"}) {
    EXPECT_GT(said[reason], 50) << reason;
  }
}

TEST(DomainRules, WithoutARuleThePluginIsSkipped) {
  Lists plugin;
  const TestNodes nodes({MakeNode().Info()});
  CycleState state;
  PreFilterResult narrowed;
  EXPECT_TRUE(plugin.PreFilter(state, *MakePod().Obj(), nodes.table(), narrowed).IsSkip());
}

// The reasons are numbered; a plugin that makes them up as it goes runs out of numbers.
TEST(DomainRules, ReasonsAreConstants) {
  Lists plugin;
  plugin.wanted = {{.key = "zone", .app = "a", .kind = Kind::kAtMost}};
  plugin.makes_up_reasons = true;
  const TestNodes nodes({MakeNode().Info()});
  const PodPtr pod = MakePod().Obj();
  Status status;
  for (int i = 0; i < 300 && status.ok(); ++i) {
    CycleState state;
    PreFilterResult narrowed;
    status = plugin.PreFilter(state, *pod, nodes.table(), narrowed);
  }
  EXPECT_EQ(status.ToString(),
            "Error: its domain rules reject nodes in more than 200 ways; a reason is a constant");
}

}  // namespace
}  // namespace berth
