// SPDX-License-Identifier: Apache-2.0
// Documents: both languages give the same tree, with places; broken ones are reported.
#include "berth/api/value.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

struct Reading {
  std::vector<Document> documents;
  Problems problems;
};

Reading Read(absl::string_view text) {
  Reading reading;
  reading.documents = ReadDocuments(text, "f", reading.problems);
  return reading;
}

// The tree as text with the place of every value: {a: "b"@1:4, c: [1@2:3]@2:1}@1:1.
std::string Show(Value value) {
  std::string text;
  if (value.IsMap()) {
    text = absl::StrCat("{",
                        absl::StrJoin(value.items(), ", ",
                                      [](std::string* out, const Value::Item& item) {
                                        absl::StrAppend(out, item.key, ": ", Show(item.value));
                                      }),
                        "}");
  } else if (value.IsSequence()) {
    text = absl::StrCat(
        "[",
        absl::StrJoin(value.elements(), ", ",
                      [](std::string* out, Value element) { out->append(Show(element)); }),
        "]");
  } else {
    const char* const quote = value.IsString() ? "\"" : "";
    text = absl::StrCat(quote, value.text(), quote);
  }
  return absl::StrCat(text, "@", value.where().line, ":", value.where().column);
}

std::vector<std::string> ShowAll(absl::string_view text) {
  const Reading reading = Read(text);
  EXPECT_TRUE(reading.problems.empty()) << reading.problems.ToString();
  std::vector<std::string> shown;
  for (const Document& document : reading.documents) shown.push_back(Show(document.root()));
  return shown;
}

std::vector<std::string> ProblemsOf(absl::string_view text) {
  std::vector<std::string> lines;
  const Reading reading = Read(text);
  for (const Problem& problem : reading.problems) lines.push_back(problem.ToString());
  return lines;
}

TEST(DocumentsTest, Places) {
  EXPECT_THAT(ShowAll("a: b\nc:\n  - 1\n  - 'x y'\n"),
              ElementsAre("{a: \"b\"@1:4, c: [1@3:5, \"x y\"@4:5]@3:3}@1:1"));
  EXPECT_THAT(ShowAll("{\"a\": \"b\",\n \"c\": [1, true,\n  null, \"x\\ny\"]}"),
              ElementsAre("{a: \"b\"@1:7, c: [1@2:8, true@2:11, null@3:3, \"x\ny\"@3:9]@2:7}@1:1"));
  EXPECT_THAT(ShowAll("{\"a\": {\"b\": -1.5e3}}\n\n  {\"c\": []}"),
              ElementsAre("{a: {b: -1.5e3@1:13}@1:7}@1:1", "{c: []@3:9}@3:3"));
}

TEST(DocumentsTest, ThePlaceOfAKeyIsKnownToo) {
  const Reading reading = Read("a:\n  key: v\n");
  const Value::Item item = *reading.documents[0].root().Find("a").items().begin();
  EXPECT_EQ(item.where.ToString(), "f:2:3");
  EXPECT_EQ(item.value.where().ToString(), "f:2:8");
}

TEST(DocumentsTest, Several) {
  const std::vector<std::string> two = {"{a: 1@1:4}@1:1", "{b: 2@3:4}@3:1"};
  EXPECT_EQ(ShowAll("a: 1\n---\nb: 2\n"), two);
  EXPECT_THAT(ShowAll("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n"),
              ElementsAre("{a: 1@4:4}@4:1", "{b: 2@7:4}@7:1"));
  EXPECT_THAT(ShowAll("a: 1\n...\n---\nb: 2\n"), SizeIs(2));
  EXPECT_THAT(ShowAll("{\"a\":1}\n{\"b\":2}\n"), ElementsAre("{a: 1@1:6}@1:1", "{b: 2@2:6}@2:1"));
  EXPECT_THAT(ShowAll("{\"a\":1}{\"b\":2}"), ElementsAre("{a: 1@1:6}@1:1", "{b: 2@1:13}@1:8"));
  EXPECT_THAT(ShowAll("--- {\"a\":1}\n--- {b: 2}\n"),
              ElementsAre("{a: 1@1:10}@1:5", "{b: 2@2:9}@2:5"));
  EXPECT_THAT(ShowAll("a: |\n  x\n  --- y\n"), SizeIs(1));
  EXPECT_THAT(ShowAll("%YAML 1.2\n---\na: 1\n"), SizeIs(1));
}

TEST(DocumentsTest, EmptyOnesAreLeftOut) {
  for (const absl::string_view text :
       {"", " ", "\n\n", "---", "---\n---\n", "# only\n", "\xEF\xBB\xBF", "~"}) {
    EXPECT_THAT(ShowAll(text), IsEmpty()) << text;
  }
  EXPECT_THAT(ShowAll("\xEF\xBB\xBF{\"a\":1}"), SizeIs(1));
  EXPECT_THAT(ShowAll("a: 1\r\nb: 2\r\n"), ElementsAre("{a: 1@1:4, b: 2@2:4}@1:1"));
}

TEST(ScalarTest, Kinds) {
  using Kind = Value::Kind;
  const struct {
    absl::string_view yaml;
    Kind kind;
    absl::string_view text;
  } cases[] = {
      {"abc", Kind::kString, "abc"},
      {"'1'", Kind::kString, "1"},
      {"\"true\"", Kind::kString, "true"},
      {"1", Kind::kInt, "1"},
      {"-17", Kind::kInt, "-17"},
      {"+5", Kind::kInt, "5"},
      {"0x1F", Kind::kInt, "31"},
      {"0o17", Kind::kInt, "15"},
      {"017", Kind::kInt, "15"},
      {"0b11", Kind::kInt, "3"},
      {"1_000", Kind::kInt, "1000"},
      {"1.5", Kind::kFloat, "1.5"},
      {".5", Kind::kFloat, ".5"},
      {"1e3", Kind::kFloat, "1e3"},
      {"1.", Kind::kFloat, "1."},
      {".inf", Kind::kFloat, ".inf"},
      {"089", Kind::kFloat, "089"},
      {"1.2.3", Kind::kString, "1.2.3"},
      {"100m", Kind::kString, "100m"},
      {"1e", Kind::kString, "1e"},
      {"-", Kind::kString, "-"},
      {"yes", Kind::kBool, "yes"},
      {"Off", Kind::kBool, "Off"},
      {"true", Kind::kBool, "true"},
      {"yess", Kind::kString, "yess"},
      {"2026-01-02", Kind::kString, "2026-01-02"},
      {"2026-01-02T03:04:05Z", Kind::kString, "2026-01-02T03:04:05Z"},
      {"99999999999999999999", Kind::kFloat, "99999999999999999999"},
      {"18446744073709551615", Kind::kInt, "18446744073709551615"},
      {"!!str 12", Kind::kString, "12"},
      {"|-\n  12", Kind::kString, "12"},
  };
  for (const auto& c : cases) {
    if (c.yaml == "-") continue;  // a sequence in YAML
    const Reading reading = Read(absl::StrCat("k: ", c.yaml, "\n"));
    ASSERT_TRUE(reading.problems.ok()) << reading.problems.ToString();
    const Value value = reading.documents[0].root().Find("k");
    EXPECT_EQ(static_cast<int>(value.kind()), static_cast<int>(c.kind)) << c.yaml;
    EXPECT_EQ(value.text(), c.text) << c.yaml;
  }
  for (const absl::string_view null : {"", "~", "null", "NULL"}) {
    const Reading reading = Read(absl::StrCat("k: ", null, "\n"));
    EXPECT_TRUE(reading.documents[0].root().Find("k").IsNull()) << null;
  }
}

TEST(ScalarTest, Conversions) {
  const Reading reading =
      Read("[true, no, 12, 1e3, 1.5, 18446744073709551615, text, '7', .inf, -.INF, .nan]");
  const Value::Elements e = reading.documents[0].root().elements();
  EXPECT_EQ(e[0].AsBool(), true);
  EXPECT_EQ(e[1].AsBool(), false);
  EXPECT_EQ(e[2].AsInt64(), 12);
  EXPECT_EQ(e[2].AsDouble(), 12.0);
  EXPECT_EQ(e[2].AsString(), std::nullopt);
  EXPECT_EQ(e[3].AsInt64(), 1000);
  EXPECT_EQ(e[4].AsInt64(), std::nullopt);
  EXPECT_EQ(e[4].AsDouble(), 1.5);
  EXPECT_EQ(e[5].AsInt64(), std::nullopt);
  EXPECT_EQ(e[6].AsString(), "text");
  EXPECT_EQ(e[6].AsBool(), std::nullopt);
  EXPECT_EQ(e[7].AsInt64(), std::nullopt);
  EXPECT_EQ(e[8].AsDouble(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(e[8].AsInt64(), std::nullopt);
  EXPECT_EQ(e[9].AsDouble(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*e[10].AsDouble()));
}

TEST(MapTest, FindGivesTheLastOfEqualKeys) {
  const Reading reading = Read("{\"a\": 1, \"a\": 2}");
  const Value root = reading.documents[0].root();
  EXPECT_EQ(root.size(), 2u);
  EXPECT_EQ(root.Find("a").AsInt64(), 2);
  EXPECT_FALSE(root.Find("b"));
  EXPECT_FALSE(root.Find("b").Find("c"));
  EXPECT_EQ(root.Find("b").where(), SourceLocation());
}

TEST(AnchorTest, AliasesAndMergeKeys) {
  EXPECT_THAT(ShowAll("a: &x {b: 1}\nc: *x\n"),
              ElementsAre("{a: {b: 1@1:11}@1:4, c: {b: 1@1:11}@2:4}@1:1"));
  EXPECT_THAT(ShowAll("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n"),
              ElementsAre("{a: {b: 1@1:11, c: 2@1:17}@1:4, d: {c: 3@4:6, b: 1@1:11}@3:3}@1:1"));
  EXPECT_THAT(ShowAll("a: &x {b: 1}\ne: &y {b: 2, c: 2}\nd:\n  <<: [*x, *y]\n"),
              ElementsAre(HasSubstr("d: {b: 1@1:11, c: 2@2:17}")));
}

TEST(AnchorTest, BombsAreRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [");
    for (int k = 0; k < 10; ++k) absl::StrAppend(&bomb, k ? ", " : "", "*a", i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(ProblemsOf(bomb), ElementsAre(HasSubstr("stand for more than 1000000 values")));
  EXPECT_THAT(ProblemsOf("a: &a [*a]\n"), SizeIs(1));
}

TEST(BrokenTest, JsonGoesOnWithTheNextLine) {
  const Reading reading =
      Read("{\"a\":1}\n{\"b\":}\n{\"c\":\"x\n{\"d\":{\"x\":1}\n{\"e\":5}\nnonsense\n{\"f\":6}\n");
  std::vector<std::string> shown;
  for (const Document& document : reading.documents) shown.push_back(Show(document.root()));
  EXPECT_THAT(shown, ElementsAre("{a: 1@1:6}@1:1", "{e: 5@5:6}@5:1", "{f: 6@7:6}@7:1"));
  std::vector<std::string> lines;
  for (const Problem& problem : reading.problems) lines.push_back(problem.ToString());
  EXPECT_THAT(lines, ElementsAre(StartsWith("f:2:6: error: not valid JSON: Invalid value"),
                                 StartsWith("f:3:8: error: not valid JSON: "),
                                 StartsWith("f:5:1: error: not valid JSON: Missing a comma or '}'"),
                                 "f:6:1: error: expected a JSON object"));
}

TEST(BrokenTest, YamlGoesOnWithTheNextDocument) {
  const Reading reading =
      Read("a: 1\n---\nb: [1, 2\nc: 3\n---\nd: 4\n---\n\te: 5\n---\n? [k]\n: 1\n");
  ASSERT_THAT(reading.documents, SizeIs(2));
  EXPECT_EQ(Show(reading.documents[1].root()), "{d: 4@6:4}@6:1");
  std::vector<std::string> lines;
  for (const Problem& problem : reading.problems) lines.push_back(problem.ToString());
  EXPECT_THAT(
      lines,
      ElementsAre(
          StartsWith("f:4:2: error: not valid YAML: "), StartsWith("f:8:"),
          "f:10:3: error: a key must be a text, not a map or a list: is a { or [ not closed?"));
}

TEST(BrokenTest, WhatAnAuthorCanDoAboutIt) {
  EXPECT_THAT(ProblemsOf("a: 1\n b: 2\n"),
              ElementsAre("f:2:3: error: not valid YAML: bad indentation: a key cannot stand here; "
                          "or a text with \": \" in it lacks quotes"));
  EXPECT_THAT(ProblemsOf("a: b: c\n"), ElementsAre(HasSubstr("bad indentation: a key")));
  EXPECT_THAT(ProblemsOf("a: 1\n - 2\nb: - 3\n"), ElementsAre(HasSubstr("bad indentation: a")));
  EXPECT_THAT(ProblemsOf("a:\n\tb: 1\n"),
              ElementsAre(HasSubstr("the line is indented with a tab; use spaces")));
  EXPECT_THAT(ProblemsOf("a:\n  b: 1\n c: 2\n"), ElementsAre(HasSubstr("bad indentation")));
  EXPECT_THAT(ProblemsOf("a: [1\n"), ElementsAre(HasSubstr("a \"[\" is not closed")));
}

TEST(BrokenTest, WhatStandsBehindTheDocument) {
  EXPECT_THAT(
      ProblemsOf("a: 1\n]\n"),
      ElementsAre("f:2:1: error: not valid YAML: a closing bracket without its opening one"));
  EXPECT_THAT(ProblemsOf("[a] b\n"),
              ElementsAre("f:1:5: error: not valid YAML: this does not belong to the document"));
  EXPECT_THAT(ProblemsOf("]"), SizeIs(1));
  EXPECT_THAT(ProblemsOf("a: ]\n---\nb: 1\n"), SizeIs(1));
  EXPECT_THAT(ShowAll("...\na: 1\n...\n...\nb: 2\n"), SizeIs(2));
}

TEST(BrokenTest, DeepNesting) {
  for (const std::string& open : {std::string(100'000, '['), std::string(300, '[') + "1"}) {
    EXPECT_THAT(ProblemsOf("{\"a\":" + open), SizeIs(1));
    EXPECT_THAT(ProblemsOf("a: " + open), SizeIs(1));
  }
  std::string dashes;
  for (int i = 0; i < 5'000; ++i) dashes += "- ";
  EXPECT_THAT(ProblemsOf(dashes), SizeIs(1));
  std::string balanced = "[" + std::string(250, '[') + std::string(250, ']') + "]";
  EXPECT_THAT(ProblemsOf("{\"a\":" + balanced + "}\n{\"b\":1}"),
              ElementsAre("f:1:1: error: nested more than 200 deep"));
  EXPECT_THAT(ProblemsOf("a: " + balanced), ElementsAre(HasSubstr("nested more than 200 deep")));
}

// Text with brackets is no flow collection, however many there are.
TEST(BrokenTest, BracketsInTextDoNotCount) {
  std::string many;
  for (int i = 0; i < 300; ++i) many += "[";
  for (const std::string& text : {
           "a: |\n  x: " + many + "\n  " + many + "\nb: 1",
           "a: >-\n\n    " + many + "\n\n    x: " + many + "\nb: 1",
           "- |\n x: " + many + "\n- b",
           "- k: |  # text\n    x: " + many + "\n  b: 1",
           "? |\n  x: " + many + "\n: b",
           "a: '" + many + " it''s " + many + "'",
           "a: \"" + many + "\\\" " + many + "\"",
           "'" + many + "': \"\\\"" + many + "\"",
           "a: text " + many + "\nb: c#" + many,
           "a: 1  # b: " + many + "\n# c: " + many,
           "--- |\n " + many + "\n",
           "{a: '" + many + "', b: \"" + many + "\", c: 1}",
           "{a: 1,  # " + many + "\n b: it's, c: [d]}",
       }) {
    EXPECT_THAT(ProblemsOf(text), IsEmpty()) << text;
  }
  // And behind all that, they do.
  for (const std::string& text :
       {"a: |\n  text\nb: " + many, "- a: |\n    text\n  b: " + many, "a: |\nb: " + many,
        "a: 'x'\nb: " + many, "a: !t &x " + many, "? " + many, "- - " + many,
        "{a: it's, b: " + many, "{'a': 'x', b: " + many, "a: [b]\nc: " + many,
        "a: >\n\n  t\n\n" + many}) {
    EXPECT_THAT(ProblemsOf(text), ElementsAre(HasSubstr("nested more than 200 deep"))) << text;
  }
}

TEST(BrokenTest, FlowCollectionsAreNotEndless) {
  std::string list = "b: [";
  for (int i = 0; i < 600'000; ++i) list += "1,";
  EXPECT_THAT(ProblemsOf("x: 1\na: 2\n" + list + "]"),
              ElementsAre("f:3:1000006: error: a list or map in brackets with more than 500000 "
                          "values; write it as JSON, or without brackets"));
}

TEST(BrokenTest, Utf8) {
  EXPECT_THAT(ShowAll("a: \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"\n"), SizeIs(1));
  for (const std::string& bad :
       {std::string("\xFF"), std::string("\xC3"), std::string("\xC0\xAF"),
        std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80"), std::string("\0", 1)}) {
    EXPECT_THAT(ProblemsOf("x: 1\n---\ny: 2\na: " + bad + "\n"),
                ElementsAre("f:4:4: error: not valid UTF-8 text"));
    EXPECT_THAT(Read("x: 1\n---\na: " + bad + "\n---\nz: 1").documents, SizeIs(2));
  }
}

}  // namespace
}  // namespace berth
