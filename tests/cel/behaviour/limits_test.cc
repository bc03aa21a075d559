// SPDX-License-Identifier: Apache-2.0
// Hostile expressions end, soon and with an error.
#include <ctime>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cel/evaluation.h"

namespace berth::cel {
namespace {

constexpr char kExceeded[] = "error: operation cancelled: actual cost limit exceeded";

std::string Repeat(absl::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) absl::StrAppend(&result, text);
  return result;
}

// cel.bind(v1, FIRST, cel.bind(v2, STEP of v1, … LAST of vn)); STEP and LAST have $ for the
// variable.
std::string Chain(absl::string_view first, std::string step, std::string last, int length) {
  const auto with = [](std::string text, int i) {
    for (size_t at; (at = text.find('$')) != std::string::npos;) {
      text.replace(at, 1, absl::StrCat("v", i));
    }
    return text;
  };
  std::string text, end;
  for (int i = 1; i <= length; ++i) {
    const std::string value = i == 1 ? std::string(first) : with(step, i - 1);
    absl::StrAppend(&text, "cel.bind(v", i, ", ", value, ", ");
    end.push_back(')');
  }
  return absl::StrCat(text, with(last, length), end);
}

void ExpectToEnd(const std::string& expression) {
  const std::clock_t begin = std::clock();  // of the processor: others may use the machine
  const std::string result = Evaluate(expression);
  const std::clock_t seconds = (std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 20) << expression.substr(0, 200) << "\n" << result.substr(0, 200);
}

TEST(Limits, CostEndsLoops) {
  ExpectEach({{"lists.range(300000).all(x, x >= 0)", kExceeded},
              {"lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))", kExceeded},
              {"lists.range(9223372036854775807).size()", kExceeded}});
  ExpectTrue({"lists.range(70000).map(x, x).size() == 70000"});
}

TEST(Limits, DepthOfExpressions) {
  for (const int depth : {300, 5'000}) {
    for (const auto& [open, close] : {std::pair<absl::string_view, absl::string_view>{"(", ")"},
                                      {"[", "]"},
                                      {"{1:", "}"},
                                      {"f(", ")"},
                                      {"a[", "]"},
                                      {"true ? 1 : ", ""},
                                      {"1.f(", ")"}}) {
      const std::string text = absl::StrCat(Repeat(open, depth), "1", Repeat(close, depth));
      ExpectRefused({{text, "limit exceeded"}});
    }
    ExpectRefused({{absl::StrCat("1", Repeat("+1", depth)), "limit exceeded"},
                   {absl::StrCat("a", Repeat(".b", depth)), "limit exceeded"},
                   {absl::StrCat("a", Repeat("[0]", depth)), "limit exceeded"}});
    EXPECT_EQ(Evaluate(absl::StrCat("true", Repeat(" && true", depth))), "true");
    EXPECT_EQ(Evaluate(absl::StrCat(Repeat("!", 2 * depth), "true")), "true");
  }
}

TEST(Limits, ChainsThatDouble) {
  // Sizes of lists, strings and types, and shared elements, double with each link.
  ExpectToEnd(Chain("[1]", "$ + $", "$.size() > 0", 100));
  ExpectToEnd(Chain("'aaaaaaaa'", "$ + $", "$.size() > 0", 100));
  ExpectToEnd(Chain("[1]", "[$, $]", "$ == $", 30));
  ExpectToEnd(Chain("dyn([1])", "dyn([$, $])", "$ == $", 100));
  ExpectToEnd(Chain("dyn([1])", "dyn([$, $])", "'%s'.format([dyn($)]) == ''", 100));
  ExpectToEnd(Chain("dyn([1])", "dyn([$, $])", "$.flatten(100).size() == 0", 100));
  ExpectToEnd(Chain("dyn([1])", "dyn([$, $])", "[$].indexOf($) == 0", 100));
  ExpectToEnd(Chain("dyn([1])", "dyn([$, $])", "sets.equivalent([$, $], [$])", 100));
  ExpectToEnd(Chain("[1]", "{1: $, 2: $}", "$ == $", 30));
  ExpectToEnd(Chain("{1: 1}", "{$: $}", "$ == $", 100));
  ExpectToEnd(Chain("[]", "[{1: $}, {2: $}]", "$ == [$]", 60));
  ExpectToEnd(absl::StrCat("optional.of(1)", Repeat(".optMap(x, x)", 100), ".hasValue()"));
}

TEST(Limits, LongWorkAtLittleCost) {
  const std::string long_text = "cel.bind(s, 'a'.replace('', '" + Repeat("a", 4000) +
                                "').replace('a', '" + Repeat("a", 1000) + "'), ";
  ExpectToEnd(long_text + "lists.range(50000).all(x, s.charAt(1) == 'a'))");
  ExpectToEnd(long_text + "lists.range(50000).all(x, s == s))");
  ExpectToEnd(long_text + "lists.range(50000).all(x, s.size() > 1))");
  ExpectToEnd(long_text + "s.contains(s.substring(1) + 'b'))");
  ExpectToEnd(long_text + "lists.range(20000).map(x, s).sort().size() > 1)");
  ExpectToEnd(long_text + "s.matches('(a*)*b'))");
  ExpectToEnd(
      "lists.range(20000).all(x, 'a'.matches('((a{99}){9}){' + string(1 + x % 9) + '}') || true)");
  ExpectToEnd("lists.range(20000).all(x, timestamp(0).getHours('a' + string(x)) == 0 || true)");
}

TEST(Limits, DepthOfValues) {
  EXPECT_EQ(Evaluate(Chain("dyn(1)", "dyn([$])", "$ == $", 240)),
            "error: value is nested too deeply");
}

}  // namespace
}  // namespace berth::cel
