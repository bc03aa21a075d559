// SPDX-License-Identifier: Apache-2.0
// Label sets and label selectors.
#include "berth/api/labels.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "berth/api/meta_v1.pb.h"

namespace berth {
namespace {

using Op = SelectorOperator;
using Strings = std::vector<absl::string_view>;

TEST(LabelSetTest, IsSortedByKeyAndFinds) {
  LabelSet labels = {{"b", "2"}, {"a", "1"}, {"c", "3"}};
  EXPECT_EQ(labels.ToString(), "a=1,b=2,c=3");
  ASSERT_NE(labels.Find("b"), nullptr);
  EXPECT_EQ(labels.Find("b")->view(), "2");
  EXPECT_EQ(labels.Find("never seen as a key"), nullptr);
  labels.Set(Symbol::Intern("b"), Symbol::Intern("9"));
  EXPECT_EQ(labels, LabelSet::FromMap(
                        std::map<std::string, std::string>{{"a", "1"}, {"b", "9"}, {"c", "3"}}));
  EXPECT_EQ(labels.size(), 3u);
}

TEST(LabelRequirementTest, Matches) {
  const struct {
    Op op;
    Strings values;
    bool absent, one, two, three;  // wanted without the label, and with "1", "2", "3"
  } cases[] = {
      {Op::kIn, {"1", "2"}, false, true, true, false},
      {Op::kNotIn, {"1", "2"}, true, false, false, true},
      {Op::kExists, {}, false, true, true, true},
      {Op::kDoesNotExist, {}, true, false, false, false},
      {Op::kGreaterThan, {"1"}, false, false, true, true},
      {Op::kLessThan, {"2"}, false, true, false, false},
  };
  for (const auto& c : cases) {
    const auto requirement = LabelRequirement::Create("k", c.op, c.values);
    ASSERT_TRUE(requirement.ok()) << requirement.status();
    SCOPED_TRACE(requirement->ToString());
    EXPECT_EQ(requirement->Matches({{"other", "1"}}), c.absent);
    EXPECT_EQ(requirement->Matches({{"k", "1"}}), c.one);
    EXPECT_EQ(requirement->Matches({{"k", "2"}}), c.two);
    EXPECT_EQ(requirement->Matches({{"k", "3"}}), c.three);
  }
}

TEST(LabelRequirementTest, GtAndLtIgnoreWhatIsNoInteger) {
  const auto requirement = LabelRequirement::Create("k", Op::kGreaterThan, {"5"});
  ASSERT_TRUE(requirement.ok()) << requirement.status();
  for (const absl::string_view value : {"", "a", "1.5", "9223372036854775808", "0x10"}) {
    EXPECT_FALSE(requirement->Matches({{"k", value}})) << value;
  }
  EXPECT_TRUE(requirement->Matches({{"k", "6"}}));
  EXPECT_TRUE(requirement->Matches({{"k", "+6"}}));
}

TEST(LabelRequirementTest, RefusesWithUpstreamsText) {
  const struct {
    absl::string_view key;
    Op op;
    Strings values;
    absl::string_view error;
  } cases[] = {
      {"k",
       Op::kIn,
       {},
       "p.values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"},
      {"k",
       Op::kExists,
       {"a", "b"},
       "p.values: Invalid value: [\"a\",\"b\"]: values set must be empty for exists and does not "
       "exist"},
      {"k",
       Op::kGreaterThan,
       {"1", "2"},
       "p.values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is "
       "required"},
      {"k",
       Op::kLessThan,
       {"x"},
       "p.values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"},
      {"",
       Op::kExists,
       {},
       "p.key: Invalid value: \"\": name part must be non-empty; name part must consist of "
       "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
       "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
       "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
  };
  for (const auto& c : cases) {
    const auto requirement = LabelRequirement::Create(c.key, c.op, c.values, "p");
    ASSERT_FALSE(requirement.ok());
    EXPECT_EQ(requirement.status().message(), c.error);
  }
  const auto two_errors = LabelRequirement::Create("k", Op::kIn, {"a b", "c d"});
  EXPECT_THAT(
      std::string(two_errors.status().message()),
      testing::AllOf(testing::StartsWith("[values[0][k]: Invalid value: \"a b\": a valid label"),
                     testing::HasSubstr(", values[1][k]: Invalid value: \"c d\": ")));
}

TEST(LabelNamesTest, Keys) {
  const std::string name63(63, 'n'), name64(64, 'n');
  for (const std::string& key :
       std::vector<std::string>{"a", "A-b_c.9", "example.com/a", "a-b.c/D", name63, "1/2"}) {
    EXPECT_EQ(CheckLabelKey(key), "") << key;
  }
  for (const std::string& key :
       std::vector<std::string>{"", "-a", "a-", "a b", "/a", "a/", "a/b/c", "Example.com/a",
                                "a..b/c", name64, "\xc3\xa9"}) {
    EXPECT_NE(CheckLabelKey(key), "") << key;
  }
}

TEST(LabelNamesTest, Values) {
  for (const absl::string_view value : {"", "a", "A.b-c_d", "1"}) {
    EXPECT_EQ(CheckLabelValue(value), "") << value;
  }
  for (const std::string& value :
       std::vector<std::string>{"-", "a/b", "a ", std::string(64, 'v')}) {
    EXPECT_NE(CheckLabelValue(value), "") << value;
  }
}

void AddExpression(api::LabelSelector& selector, const char* key, const char* op, Strings values) {
  api::LabelSelectorRequirement& expression = *selector.add_match_expressions();
  expression.set_key(key);
  expression.set_operator_(op);
  for (const absl::string_view value : values) expression.add_values(std::string(value));
}

TEST(LabelSelectorTest, NullSelectsNothingAndEmptyEverything) {
  const LabelSelector nothing = *LabelSelector::FromProto(nullptr);
  EXPECT_TRUE(nothing.SelectsNothing());
  EXPECT_FALSE(nothing.Matches({}));
  EXPECT_EQ(nothing, LabelSelector());
  api::LabelSelector empty;
  const LabelSelector everything = *LabelSelector::FromProto(&empty);
  EXPECT_TRUE(everything.SelectsEverything());
  EXPECT_TRUE(everything.Matches({}));
  EXPECT_TRUE(everything.Matches({{"a", "b"}}));
}

TEST(LabelSelectorTest, AndsLabelsAndExpressions) {
  api::LabelSelector proto;
  (*proto.mutable_match_labels())["app"] = "web";
  AddExpression(proto, "tier", "NotIn", {"db", "cache"});
  AddExpression(proto, "zone", "Exists", {});
  const LabelSelector selector = *LabelSelector::FromProto(&proto);
  EXPECT_EQ(selector.ToString(), "app=web,tier notin (cache,db),zone");
  EXPECT_TRUE(selector.Matches({{"app", "web"}, {"zone", "a"}}));
  EXPECT_FALSE(selector.Matches({{"app", "web"}, {"zone", "a"}, {"tier", "db"}}));
  EXPECT_FALSE(selector.Matches({{"app", "web"}}));
  EXPECT_FALSE(selector.Matches({{"app", "api"}, {"zone", "a"}}));
}

TEST(LabelSelectorTest, AddNarrows) {
  LabelSelector selector = LabelSelector::FromLabels({{"b", "1"}});
  selector.Add(LabelRequirement::Equals(Symbol::Intern("a"), Symbol::Intern("x")));
  EXPECT_EQ(selector.ToString(), "a=x,b=1");
  EXPECT_FALSE(selector.Matches({{"b", "1"}}));
  LabelSelector nothing;
  nothing.Add(LabelRequirement::Equals(Symbol::Intern("a"), Symbol::Intern("x")));
  EXPECT_FALSE(nothing.Matches({{"a", "x"}}));
}

TEST(LabelSelectorTest, RefusesOperatorsOfNodeSelectors) {
  for (const char* op : {"Gt", "Lt", "in", ""}) {
    api::LabelSelector proto;
    AddExpression(proto, "a", op, {"1"});
    EXPECT_EQ(LabelSelector::FromProto(&proto).status().message(),
              std::string("\"") + op + "\" is not a valid label selector operator");
  }
}

}  // namespace
}  // namespace berth
