// SPDX-License-Identifier: Apache-2.0
// Node selectors, preferred terms and the required affinity of a pod.
#include "berth/api/node_selector.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A message from its YAML, as a cluster's: operators are not checked on the way.
template <class Message>
Message FromYaml(absl::string_view yaml) {
  Problems problems;
  Message message;
  for (const Document& document : ReadDocuments(yaml, "test", problems)) {
    DecodeMessage(document.root(), {}, message, problems);
  }
  EXPECT_TRUE(problems.ok()) << problems.ToString();
  return message;
}

NodeSelector SelectorOf(absl::string_view terms) {
  return NodeSelector(FromYaml<api::NodeSelector>("nodeSelectorTerms: " + std::string(terms)));
}

const LabelSet kLabels = {{"zone", "a"}, {"cores", "16"}};
const Symbol kName = Symbol::Intern("n1");

TEST(NodeSelectorTest, Matches) {
  const struct {
    absl::string_view terms;
    bool want;
  } cases[] = {
      {"[]", false},
      {"[{}]", false},
      {"[{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]", true},
      {"[{matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}]", false},
      {"[{matchExpressions: [{key: nope, operator: DoesNotExist}]}]", true},
      {"[{matchExpressions: [{key: cores, operator: Gt, values: ['15']}]}]", true},
      {"[{matchExpressions: [{key: cores, operator: Lt, values: ['16']}]}]", false},
      {"[{matchExpressions: [{key: zone, operator: Exists}, {key: nope, operator: Exists}]}]",
       false},
      {"[{matchExpressions: [{key: nope, operator: Exists}]}, "
       "{matchExpressions: [{key: zone, operator: Exists}]}]",
       true},
      {"[{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]", true},
      {"[{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}]", false},
      {"[{matchFields: [{key: metadata.name, operator: NotIn, values: [n2]}]}]", true},
      {"[{matchFields: [{key: metadata.name, operator: In, values: [n1]}], "
       "matchExpressions: [{key: zone, operator: In, values: [b]}]}]",
       false},
      {"[{matchFields: [{key: spec.other, operator: In, values: [n1]}]}]", false},
      {"[{matchFields: [{key: spec.other, operator: NotIn, values: [n1]}]}]", true},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(SelectorOf(c.terms).Matches(kLabels, kName), c.want) << c.terms;
  }
}

TEST(NodeSelectorTest, ABadTermMatchesNothingAndIsReportedOnlyIfNoOtherMatches) {
  const NodeSelector bad = SelectorOf(
      "[{matchExpressions: [{key: zone, operator: In}]}, "
      "{matchExpressions: [{key: zone, operator: In, values: [b]}]}]");
  EXPECT_TRUE(bad.has_errors());
  EXPECT_FALSE(bad.Matches(kLabels, kName));
  EXPECT_EQ(bad.Match(kLabels, kName).status().message(),
            "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', "
            "'notin' operators, values set can't be empty");
  EXPECT_TRUE(*bad.Match({{"zone", "b"}}, kName));
}

TEST(NodeSelectorTest, CreateReportsEveryError) {
  const auto proto = FromYaml<api::NodeSelector>(
      "nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}], "
      "matchFields: [{key: metadata.name, operator: Exists}, "
      "{key: metadata.name, operator: In, values: [a, b]}]}]");
  EXPECT_EQ(
      NodeSelector::Create(proto, "args.x").status().message(),
      "[args.x.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Near\": "
      "supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\", "
      "args.x.nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: \"Exists\": "
      "supported values: \"In\", \"NotIn\", args.x.nodeSelectorTerms[0].matchFields[1].values: "
      "Invalid value: [\"a\",\"b\"]: must have one element]");
}

TEST(NodeSelectorTest, PinnedNames) {
  const auto names = [](absl::string_view terms) {
    std::vector<std::string> result;
    const NodeSelector selector = SelectorOf(terms);
    if (!selector.pinned_node_names()) return std::vector<std::string>{"any"};
    for (const Symbol name : *selector.pinned_node_names()) result.emplace_back(name.view());
    return result;
  };
  EXPECT_THAT(names("[{matchFields: [{key: metadata.name, operator: In, values: [b]}]}, "
                    "{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]"),
              ElementsAre("a", "b"));
  EXPECT_THAT(names("[{matchFields: [{key: metadata.name, operator: In, values: [a]}, "
                    "{key: metadata.name, operator: In, values: [b]}]}]"),
              IsEmpty());
  EXPECT_THAT(names("[{matchFields: [{key: metadata.name, operator: In, values: [a]}]}, {}]"),
              ElementsAre("any"));
  EXPECT_THAT(names("[{matchFields: [{key: metadata.name, operator: NotIn, values: [a]}]}]"),
              ElementsAre("any"));
  EXPECT_THAT(names("[]"), ElementsAre("any"));
}

TEST(PreferredSchedulingTermsTest, SumsTheWeightsOfTheTermsThatMatch) {
  const auto affinity = FromYaml<api::NodeAffinity>(R"(
preferredDuringSchedulingIgnoredDuringExecution:
- {weight: 5, preference: {matchExpressions: [{key: zone, operator: In, values: [a]}]}}
- {weight: 7, preference: {matchExpressions: [{key: zone, operator: In, values: [b]}]}}
- {weight: 20, preference: {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}}
- {weight: 0, preference: {matchExpressions: [{key: zone, operator: Broken}]}}
- {weight: 9, preference: {}}
)");
  const auto terms = PreferredSchedulingTerms::Create(affinity);
  ASSERT_TRUE(terms.ok()) << terms.status();
  EXPECT_EQ(terms->terms().size(), 3u);
  EXPECT_EQ(terms->Score(kLabels, kName), 25);
  EXPECT_EQ(terms->Score({{"zone", "b"}}, Symbol::Intern("n2")), 7);
}

TEST(PreferredSchedulingTermsTest, RefusesATermThatDoesNotParse) {
  const auto affinity = FromYaml<api::NodeAffinity>(R"(
preferredDuringSchedulingIgnoredDuringExecution:
- {weight: 1, preference: {matchExpressions: [{key: zone, operator: Broken}]}}
)");
  EXPECT_THAT(std::string(PreferredSchedulingTerms::Create(affinity).status().message()),
              testing::StartsWith("[0].matchExpressions[0].operator: Unsupported value"));
}

TEST(RequiredNodeAffinityTest, AndsNodeSelectorAndAffinity) {
  const auto pod = FromYaml<api::Pod>(R"(
spec:
  nodeSelector: {zone: a}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: cores, operator: Gt, values: ["8"]}]
)");
  const RequiredNodeAffinity required(pod);
  EXPECT_FALSE(required.empty());
  EXPECT_TRUE(required.Matches(kLabels, kName));
  EXPECT_TRUE(*required.Match(kLabels, kName));
  EXPECT_FALSE(required.Matches({{"zone", "b"}, {"cores", "16"}}, kName));
  EXPECT_FALSE(required.Matches({{"zone", "a"}, {"cores", "8"}}, kName));
}

TEST(RequiredNodeAffinityTest, EmptyMatchesEveryNodeButAnEmptySelectorNone) {
  EXPECT_TRUE(RequiredNodeAffinity(api::Pod()).empty());
  EXPECT_TRUE(RequiredNodeAffinity(api::Pod()).Matches(kLabels, kName));
  const auto pod = FromYaml<api::Pod>(
      "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}}");
  EXPECT_FALSE(RequiredNodeAffinity(pod).Matches(kLabels, kName));
}

}  // namespace
}  // namespace berth
