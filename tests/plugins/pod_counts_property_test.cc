// SPDX-License-Identifier: Apache-2.0
// Random histories of a cluster: what is counted along while pods, nodes and namespaces come,
// change and go is what a plain count over all pods finds. BERTH_TEST_SEED repeats one history.
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/columns/pod_table.h"
#include "cache/cache.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"
#include "plugins/pod_topology_spread/pod_topology_spread.h"
#include "tests/plugins/random_cluster.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr int kHistories = 12;
constexpr int kSteps = 150;
constexpr int kNodes = 12;
constexpr int kPods = 60;

using Strings = std::vector<std::string>;
const Strings& Keys() {
  static const auto& keys =
      *new Strings{"zone", "app", "disk", "kubernetes.io/hostname", "topology.kubernetes.io/zone"};
  return keys;
}
const Strings& Values() {
  static const auto& values = *new Strings{"a", "b", "1", ""};
  return values;
}
const Strings& Namespaces() {
  static const auto& namespaces = *new Strings{"default", "other", "third"};
  return namespaces;
}

// --- Random things -------------------------------------------------------------------------------

LabelSelector RandomSelector(Random& random) {
  api::LabelSelector selector;
  for (int i = random.Between(0, 2); i > 0; --i) {
    static const auto& operators = *new Strings{"In", "In", "NotIn", "Exists", "DoesNotExist"};
    api::LabelSelectorRequirement* requirement = selector.add_match_expressions();
    requirement->set_key(random.OneOf(Keys()));
    requirement->set_operator_(random.OneOf(operators));
    if (requirement->operator_() == "Exists" || requirement->operator_() == "DoesNotExist")
      continue;
    for (int value = random.Between(1, 3); value > 0; --value) {
      requirement->add_values(random.OneOf(Values()));
    }
  }
  return LabelSelector::FromProto(&selector).value();
}

PodSelector RandomPodSelector(Random& random) {
  PodSelector selector;
  selector.any_namespace = random.Percent(30);
  selector.counts_terminating = random.Percent(50);
  selector.labels = RandomSelector(random);
  for (const std::string& name : Namespaces()) {
    const bool chosen = random.Percent(50);
    if (chosen && !selector.any_namespace) selector.namespaces.push_back(Symbol::Intern(name));
  }
  return selector;
}

// Gives some terms of `terms` a namespaceSelector by the label "team".
template <class Terms>
void SelectNamespaces(Random& random, Terms* terms) {
  for (api::PodAffinityTerm& term : *terms) {
    if (!random.Percent(40)) continue;
    api::LabelSelector* selector = term.mutable_namespace_selector();
    if (random.Percent(30)) continue;  // all of them
    api::LabelSelectorRequirement* requirement = selector->add_match_expressions();
    requirement->set_key("team");
    requirement->set_operator_(random.Percent(60) ? "In" : "NotIn");
    requirement->add_values(random.OneOf(Values()));
  }
}

PodBuilder RandomPod(Random& random, const std::string& name) {
  PodBuilder pod = MakeRandomPod(random, name);
  pod.Namespace(random.OneOf(Namespaces()));
  pod.Label("app", random.OneOf(Values()));
  for (int i = random.Between(0, 3); i > 0; --i) ChangePod(random, pod, 11);  // a term
  if (pod.Message().spec().has_affinity()) {
    api::Affinity* affinity = pod.Message().mutable_spec()->mutable_affinity();
    SelectNamespaces(random, affinity->mutable_pod_affinity()
                                 ->mutable_required_during_scheduling_ignored_during_execution());
    SelectNamespaces(random, affinity->mutable_pod_anti_affinity()
                                 ->mutable_required_during_scheduling_ignored_during_execution());
  }
  for (api::TopologySpreadConstraint& constraint :
       *pod.Message().mutable_spec()->mutable_topology_spread_constraints()) {
    if (random.Percent(40)) constraint.set_node_taints_policy("Honor");
    if (random.Percent(20)) constraint.set_node_affinity_policy("Ignore");
  }
  if (random.Percent(15)) pod.Deleted();
  return pod;
}

NodeBuilder RandomNode(Random& random, const std::string& name) {
  NodeBuilder node = MakeNode().Name(name);
  if (random.Percent(90)) node.Label("kubernetes.io/hostname", name);
  for (const absl::string_view key : {"zone", "disk", "topology.kubernetes.io/zone"}) {
    if (random.Percent(75)) node.Label(key, random.OneOf(Values()));
  }
  if (random.Percent(20)) node.Taint("dedicated", "a", TaintEffect::kNoSchedule);
  return node;
}

Object RandomNamespace(Random& random) {
  auto object = std::make_shared<api::Namespace>();
  object->mutable_metadata()->set_name(random.OneOf(Namespaces()));
  if (random.Percent(70)) {
    (*object->mutable_metadata()->mutable_labels())["team"] = random.OneOf(Values());
  }
  return Object::Of(std::move(object));
}

// --- The plain counts ----------------------------------------------------------------------------

using ByValue = std::map<std::string, int64_t>;  // pods, or weights, by label value; no zeros

std::optional<std::string> ValueOf(const NodeInfo& node, const std::string& key) {
  const Symbol* const value = node.labels().Find(Symbol::Intern(key));
  if (value == nullptr) return std::nullopt;
  return std::string(value->view());
}

bool Selects(const PodSelector& selector, const PodInfo& pod) {
  if (!selector.counts_terminating && pod.deletion_time().has_value()) return false;
  bool in_namespace = selector.any_namespace;
  for (const Symbol name : selector.namespaces) in_namespace |= name == pod.namespace_name();
  return in_namespace && selector.labels.Matches(pod.labels());
}

ByValue PlainCount(const NodeTable& nodes, const PodSelector& selector, const std::string& key) {
  ByValue counts;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const std::optional<std::string> value = ValueOf(nodes.node(row), key);
    for (const PodPtr& pod : nodes.node(row).pods()) {
      if (value.has_value() && Selects(selector, *pod)) ++counts[*value];
    }
  }
  return counts;
}

// The sums of the weights (1 if required) of the terms of that kind that match `pod`.
ByValue PlainTerms(const NodeTable& nodes, const PodInfo& pod, const LabelSet* namespace_labels,
                   TermKinds kind, const std::string& key) {
  ByValue sums;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const std::optional<std::string> value = ValueOf(nodes.node(row), key);
    if (!value.has_value()) continue;
    const auto add = [&](const AffinityTerm& term, int64_t weight) {
      if (term.topology_key != Symbol::Intern(key)) return;
      if (!term.Matches(pod.namespace_name(), pod.labels(), namespace_labels)) return;
      sums[*value] += weight;
    };
    for (const PodPtr& other : nodes.node(row).pods()) {
      if (kind == TermKind::kRequiredAffinity) {
        for (const AffinityTerm& term : other->required_affinity_terms()) add(term, 1);
      } else if (kind == TermKind::kRequiredAntiAffinity) {
        for (const AffinityTerm& term : other->required_anti_affinity_terms()) add(term, 1);
      } else {
        const bool anti = kind == TermKind::kPreferredAntiAffinity;
        for (const WeightedAffinityTerm& term :
             anti ? other->preferred_anti_affinity_terms() : other->preferred_affinity_terms()) {
          add(term.term, term.weight);
        }
      }
    }
  }
  return sums;
}

// --- What is counted along -----------------------------------------------------------------------

// By value, of an array by index in `column`; nodes without the label and zeros left out.
ByValue Listed(const LabelColumn& column, absl::Span<const int64_t> counts) {
  ByValue by_value;
  for (size_t i = 0; i < counts.size(); ++i) {
    const LabelValue& label = column.values()[i];
    if (label.present && counts[i] != 0) by_value[std::string(label.value.view())] = counts[i];
  }
  return by_value;
}

// Everything that the two plugins say about a pod.
std::string Opinion(PodTopologySpread& spread, InterPodAffinity& affinity, const NodeTable& nodes,
                    const PodInfo& pod) {
  std::string text;
  std::vector<NodeRow> rows;
  for (NodeRow row = 0; row < nodes.size(); ++row) rows.push_back(row);
  const auto ask = [&](auto& plugin) {
    CycleState state;
    PreFilterResult result;
    const Status filtered = plugin.PreFilter(state, pod, nodes, result);
    absl::StrAppend(&text, CodeName(filtered.code()));
    if (filtered.ok()) {
      for (const NodeRow row : rows) {
        absl::StrAppend(&text, " ", CodeName(plugin.Filter(state, pod, nodes.node(row)).code()));
      }
    }
    const Status scored = plugin.PreScore(state, pod, nodes, rows);
    absl::StrAppend(&text, "; ", CodeName(scored.code()));
    if (!scored.ok()) return;
    std::vector<int64_t> scores(rows.size());
    ASSERT_TRUE(plugin.ScoreNodes(state, pod, nodes, rows, absl::MakeSpan(scores)).ok());
    absl::StrAppend(&text, " ", absl::StrJoin(scores, " "));
  };
  ask(spread);
  absl::StrAppend(&text, "\n");
  ask(affinity);
  return text;
}

// One cluster, and plugins that live as long.
class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 10; ++i) selectors_.push_back(RandomPodSelector(random_));
  }

  void Step() {
    for (int changes = random_.Between(1, 4); changes > 0; --changes) Change();
    cache_.Refresh();
  }

  void Check() {
    for (int i = 0; i < 4; ++i) CheckSelector(random_.OneOf(selectors_));
    const PodSelector new_selector = RandomPodSelector(random_);
    CheckSelector(new_selector);
    const std::string name = absl::StrCat("incoming-", step_);
    const PodPtr incoming = RandomPod(random_, name).Obj();
    CheckTerms(*incoming);
    CheckPlugins(*incoming);
    ++step_;
  }

 private:
  void Change() {
    const std::string pod = absl::StrCat("p", random_.Below(kPods));
    const std::string uid = absl::StrCat("uid-", pod);
    const std::string node = absl::StrCat("n", random_.Below(kNodes));
    switch (random_.Below(10)) {
      case 0:
      case 1:
      case 2: {  // it runs, or its labels or terms change, or it begins to go
        PodBuilder builder = RandomPod(random_, pod);
        const CachedPod* const known = cache_.FindPod(uid);
        const std::string where = known == nullptr ? node : std::string(known->node_name.view());
        cache_.SetPod(builder.Uid(uid).NodeName(where).Obj());
        break;
      }
      case 3:
        cache_.RemovePod(uid);
        break;
      case 4:
      case 5:
        // It may run already, and there may be no such node.
        (void)cache_.AssumePod(RandomPod(random_, pod).Uid(uid).Obj(), Symbol::Intern(node));
        break;
      case 6:
        cache_.ForgetPod(uid);
        break;
      case 7:
      case 8:
        if (random_.Percent(20)) {
          cache_.RemoveNode(Symbol::Intern(node));
        } else {
          cache_.SetNode(RandomNode(random_, node).Obj());
        }
        break;
      default:
        if (random_.Percent(15)) {
          handle_.object_store().Remove(Kind::kNamespace, random_.OneOf(Namespaces()));
        } else {
          handle_.object_store().Set(RandomNamespace(random_));
        }
    }
  }

  const NodeTable& nodes() const { return cache_.table(); }

  void CheckSelector(const PodSelector& selector) {
    const std::shared_ptr<const PodCounts> pods = nodes().pods().Count(selector);
    const std::string& key = random_.OneOf(Keys());
    const LabelColumn& column = nodes().label_column(Symbol::Intern(key));
    const ByValue want = PlainCount(nodes(), selector, key);
    SCOPED_TRACE(absl::StrCat("selector ", selector.labels.ToString(), " by ", key));
    ASSERT_EQ(Listed(column, pods->of_domains(column)), want);
    std::vector<int64_t> sums(column.values().size(), 0);
    const int64_t labelled = pods->AddToDomains(column, 2, absl::MakeSpan(sums));
    int64_t total = 0;
    for (int64_t& sum : sums) total += sum /= 2;
    ASSERT_EQ(Listed(column, sums), want);
    ASSERT_EQ(labelled, total);
    ASSERT_EQ(pods->total_labelled(column), total);
    for (NodeRow row = 0; row < nodes().size(); ++row) {
      int64_t on_node = 0;
      for (const PodPtr& pod : nodes().node(row).pods()) on_node += Selects(selector, *pod) ? 1 : 0;
      ASSERT_EQ(pods->of_rows()[row], on_node) << "row " << row;
    }
  }

  void CheckTerms(const PodInfo& pod) {
    const LabelSet* const labels = handle_.objects().NamespaceLabels(pod.namespace_name());
    for (const TermKinds kind : {TermKind::kRequiredAffinity, TermKind::kRequiredAntiAffinity,
                                 TermKind::kPreferredAffinity, TermKind::kPreferredAntiAffinity}) {
      for (const std::string& key : Keys()) {
        const LabelColumn& column = nodes().label_column(Symbol::Intern(key));
        std::vector<int64_t> sums(column.values().size(), 0);
        for (const PodTerm* term : nodes().pods().TermsAbout(pod, labels, kind)) {
          if (term->term.topology_key != Symbol::Intern(key)) continue;
          const bool required = term->weight == 0;
          term->counts.AddToDomains(column, required ? 1 : term->weight, absl::MakeSpan(sums));
        }
        ASSERT_EQ(Listed(column, sums), PlainTerms(nodes(), pod, labels, kind, key))
            << "terms of kind " << int{kind} << " by " << key;
      }
    }
  }

  // Plugins and a table that are new have counted nothing along.
  void CheckPlugins(const PodInfo& pod) {
    std::vector<const NodeInfo*> order;
    for (NodeRow row = 0; row < nodes().size(); ++row) order.push_back(&nodes().node(row));
    NodeTable table;
    table.SetOrder(std::move(order));
    const auto spread = MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle_);
    const auto affinity = MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle_);
    ASSERT_EQ(Opinion(*spread_, *affinity_, nodes(), pod), Opinion(*spread, *affinity, table, pod));
  }

  Random random_;
  Cache cache_;
  FakeHandle handle_;
  std::unique_ptr<PodTopologySpread> spread_ =
      MakePlugin<PodTopologySpread, PodTopologySpreadArgs>(handle_);
  std::unique_ptr<InterPodAffinity> affinity_ =
      MakePlugin<InterPodAffinity, InterPodAffinityArgs>(handle_);
  std::vector<PodSelector> selectors_;
  int step_ = 0;
};

void RunHistory(uint64_t seed) {
  SCOPED_TRACE(absl::StrCat("BERTH_TEST_SEED=", seed));
  History history(seed);
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    history.Step();
    history.Check();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(PodCountsPropertyTest, CountsAlongWhatAPlainCountFinds) {
  if (const char* seed = std::getenv("BERTH_TEST_SEED")) {
    RunHistory(std::strtoull(seed, nullptr, 10));
    return;
  }
  for (uint64_t seed = 1; seed <= kHistories && !HasFailure(); ++seed) RunHistory(seed);
}

// More selectors than are counted along: each is right whenever it is asked for.
TEST(PodCountsTest, SelectorsThatWereForgottenAreCountedAgain) {
  constexpr int kSelectors = 1'500;
  Cache cache;
  cache.SetNode(MakeNode().Name("n").Obj());
  const auto run = [&](const std::string& name, int number) {
    cache.SetPod(MakePod()
                     .Name(name)
                     .Namespace("default")
                     .Label("number", absl::StrCat(number))
                     .NodeName("n")
                     .Obj());
    cache.Refresh();
  };
  const auto count = [&](int i) {
    const LabelSelector labels = LabelSelector::FromLabels({{"number", absl::StrCat(i)}});
    return cache.table()
        .pods()
        .Count({.any_namespace = i % 2 == 0,
                .namespaces =
                    i % 2 == 0 ? std::vector<Symbol>() : std::vector{Symbol::Intern("default")},
                .labels = labels})
        ->total();
  };
  run("three", 3);
  for (int i = 0; i < kSelectors; ++i) ASSERT_EQ(count(i), i == 3 ? 1 : 0) << i;
  run("another three", 3);
  run("four", 4);
  run("the last", kSelectors - 1);
  for (int i = 0; i < kSelectors; ++i) {
    ASSERT_EQ(count(i), i == 3 ? 2 : i == 4 || i == kSelectors - 1 ? 1 : 0) << i;
  }
}

}  // namespace
}  // namespace berth::testing
