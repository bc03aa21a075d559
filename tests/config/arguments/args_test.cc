// SPDX-License-Identifier: Apache-2.0
// Field tables: every type of field read, checked, printed and read again.
#include "berth/framework/args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "berth/api/core_v1.pb.h"
#include "tests/config/fake_registry.h"

namespace berth {
namespace {

constexpr absl::string_view kDefaults =
    R"({strict: false, nodes: 100, bytes: 0, ratio: 0.5, mode: Most, timeout: "10s", )"
    R"(main: {name: cpu, weight: 2}, limit: null, spare: null, ignored: [], )"
    R"(resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}], byName: {}, ratios: {}, )"
    R"(affinity: null})";

TEST(Args, NothingGivenIsTheDefaults) {
  for (const absl::string_view text :
       {"", "{}", "null", "{apiVersion: kubescheduler.config.k8s.io/v1, kind: PackArgs}"}) {
    const absl::StatusOr<PluginArgs> args = PluginArgs::Parse(text, PackArgs::Fields());
    ASSERT_TRUE(args.ok()) << args.status();
    EXPECT_EQ(args->ToString(), kDefaults) << text;
  }
  EXPECT_EQ(PluginArgs::Defaults(&PackArgs::Fields()).ToString(), kDefaults);
  EXPECT_EQ(PluginArgs::Defaults(nullptr).ToString(), "{}");
}

TEST(Args, EveryTypeIsRead) {
  const absl::StatusOr<PluginArgs> args = PluginArgs::Parse(R"(
strict: true
nodes: 1e1
bytes: 9223372036854775807
ratio: 1
mode: "Least"
timeout: 1m30s
main: {weight: 3}
limit: 7
spare: {name: "no"}
ignored: [cpu]
resources:
- {name: nvidia.com/gpu, weight: 0}
byName:
  nvidia.com/gpu: {name: g, weight: 20}
  cpu:
ratios: {a: 0.25, b: 1}
affinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
    - matchExpressions:
      - {key: gpu, operator: In, values: [a100]}
)",
                                                            PackArgs::Fields());
  ASSERT_TRUE(args.ok()) << args.status();
  const PackArgs& pack = args->As<PackArgs>();
  EXPECT_TRUE(pack.strict);
  EXPECT_EQ(pack.nodes, 10);
  EXPECT_EQ(pack.bytes, 9223372036854775807);
  EXPECT_EQ(pack.ratio, 1.0);
  EXPECT_EQ(pack.mode, "Least");
  EXPECT_EQ(pack.timeout, absl::Seconds(90));
  EXPECT_EQ(pack.main.name, "cpu") << "what is not given keeps the default of the struct around it";
  EXPECT_EQ(pack.main.weight, 3);
  EXPECT_EQ(pack.limit, 7);
  EXPECT_EQ(pack.spare->name, "no");
  EXPECT_EQ(pack.spare->weight, 1);
  EXPECT_THAT(pack.ignored, testing::ElementsAre("cpu"));
  ASSERT_EQ(pack.resources.size(), 1) << "a list takes the place of the default list";
  EXPECT_EQ(pack.resources[0].weight, 1) << "completed";
  EXPECT_EQ(pack.by_name.at("nvidia.com/gpu").weight, 20);
  EXPECT_EQ(pack.by_name.at("cpu").weight, 1);
  EXPECT_EQ(pack.ratios.at("a"), 0.25);
  const auto& required = pack.affinity->required_during_scheduling_ignored_during_execution();
  EXPECT_EQ(required.node_selector_terms(0).match_expressions(0).values(0), "a100");

  // Printing loses nothing.
  const absl::StatusOr<PluginArgs> again = PluginArgs::Parse(args->ToString(), PackArgs::Fields());
  ASSERT_TRUE(again.ok()) << again.status() << args->ToString();
  EXPECT_EQ(again->ToString(), args->ToString());
  EXPECT_THAT(args->ToString(), testing::HasSubstr(R"(spare: {name: "no", weight: 1})"));
}

TEST(Args, EveryProblemIsReported) {
  struct Case {
    absl::string_view text;
    std::vector<std::string> want;
  };
  const Case cases[] = {
      {"strict: 'true'", {"1:9: error: strict: is a string, not true or false; remove the quotes"}},
      {"strict: 1", {"1:9: error: strict: is a number, not true or false"}},
      {"nodes: '5'", {"1:8: error: nodes: is a string, not an integer; remove the quotes"}},
      {"nodes: 3000000000",
       {"1:8: error: nodes: 3000000000 is not an integer between -2147483648 and 2147483647"}},
      {"nodes: 1.5",
       {"1:8: error: nodes: 1.5 is not an integer between -2147483648 and 2147483647"}},
      {"nodes: 0", {"1:8: error: nodes: Invalid value: 0: not in valid range (0, inf)"}},
      {"ratio: .nan", {"1:8: error: ratio: is a number, not a finite number"}},
      {"ratio: 1.01", {"1:8: error: ratio: Invalid value: 1.01: not in valid range [0, 1]"}},
      {"mode: 5", {"1:7: error: mode: is a number, not a string; put quotes around it"}},
      {"mode: most",
       {"1:7: error: mode: Unsupported value: \"most\": supported values: \"Least\", \"Most\"; did "
        "you mean \"Most\"?"}},
      {"timeout: 10", {"1:10: error: timeout: is a number, not a duration such as \"10s\""}},
      {"timeout: ten",
       {"1:10: error: timeout: Invalid value: \"ten\": must be a duration such as \"10s\" or "
        "\"1m30s\""}},
      {"timeout: 1ms", {"1:10: error: timeout: Invalid value: 0.001: not in valid range [1, inf)"}},
      {"main: [cpu]", {"1:7: error: main: is a list, not a map of fields"}},
      {"main: {weigth: 1}", {"1:8: error: main.weigth: unknown field; did you mean \"weight\"?"}},
      {"{limit: -1, spare: {weight: 101}}",
       {"1:9: error: limit: Invalid value: -1: not in valid range [0, inf)",
        "1:29: error: spare.weight: Invalid value: 101: not in valid range [1, 100]"}},
      {"ignored: [cpu, disk, 5, ~]",
       {"1:22: error: ignored[2]: is a number, not a string; put quotes around it",
        "1:25: error: ignored[3]: is empty",
        "1:16: error: ignored[1]: Unsupported value: \"disk\": supported values: \"cpu\", "
        "\"memory\""}},
      {"resources: []", {"1:12: error: resources: Required value: name at least one"}},
      {"resources: {cpu: 1}", {"1:12: error: resources: is a map, not a list"}},
      {"byName: {cpu: {weight: -1}, cpu: {}}",
       {"1:29: error: byName[cpu]: appears a second time; first in line 1",
        "1:34: error: byName[cpu].weight: Invalid value: -1: not in valid range [1, 100]"}},
      {"ratios: {a: 2}", {"1:13: error: ratios[a]: Invalid value: 2: not in valid range [0, 1]"}},
      {"{nodes: 1, nodes: 2}", {"1:12: error: nodes: appears a second time; first in line 1"}},
      {"{strict: true, nodes: 101}",
       {"1:23: error: nodes: Invalid value: 101: must be at most 100 when strict"}},
      {"kind: FitArgs",
       {"1:7: error: kind: Invalid value: \"FitArgs\": has to match plugin args: PackArgs"}},
      {"apiVersion: v1",
       {"1:13: error: apiVersion: Invalid value: \"v1\": has to match plugin args: "
        "kubescheduler.config.k8s.io/v1"}},
  };
  for (const Case& c : cases) {
    Problems problems;
    const std::vector<Document> documents = ReadDocuments(c.text, "", problems);
    PackArgs args;
    PackArgs::Fields().Decode(documents.at(0).root(), "", &args, problems);
    std::vector<std::string> got;
    for (const Problem& problem : problems) got.push_back(problem.ToString());
    EXPECT_EQ(got, c.want) << c.text;
  }
}

TEST(Args, MessagesAreReadStrictly) {
  const absl::StatusOr<PluginArgs> args =
      PluginArgs::Parse("affinity: {requiredDuringScheduling: {}}", PackArgs::Fields());
  EXPECT_THAT(std::string(args.status().message()),
              testing::AllOf(testing::HasSubstr("1:12"),
                             testing::HasSubstr("affinity.requiredDuringScheduling")));
}

// A list of structs, and checks, in a type that only this file knows: what a plugin author has.
struct Mine {
  struct Base {
    int32_t inherited = 1;
  };
  struct Part : Base {
    std::vector<std::vector<int64_t>> grid = {{1, 2}, {}};
    static const FieldTable& Fields() {
      static const FieldTable& table =
          *new FieldTable(DescribeFields<Part>("Part", "")
                              .Field("inherited", &Part::inherited, "")
                              .Field("grid", &Part::grid, "", AtLeast(0)));
      return table;
    }
  };
  std::map<std::string, std::optional<std::vector<Part>>> parts;
  static const FieldTable& Fields() {
    static const FieldTable& table =
        *new FieldTable(DescribeFields<Mine>("MineArgs", "").Field("parts", &Mine::parts, ""));
    return table;
  }
};

TEST(Args, TypesNest) {
  const absl::StatusOr<PluginArgs> args =
      PluginArgs::Parse("parts: {a: [{inherited: 2}, {grid: [[3]]}], b: ~}", Mine::Fields());
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(args->ToString(),
            "{parts: {a: [{inherited: 2, grid: [[1, 2], []]}, {inherited: 1, grid: [[3]]}], "
            "b: null}}");
  EXPECT_THAT(
      std::string(
          PluginArgs::Parse("parts: {a: [{grid: [[3, -1]]}]}", Mine::Fields()).status().message()),
      testing::HasSubstr("parts[a][0].grid[0][1]: Invalid value: -1"));
}

TEST(Args, ValidateChecksStructsThatWereNotRead) {
  PackArgs args;
  args.resources = {{"cpu", 500}};
  Problems problems;
  PackArgs::Fields().Validate(Value(), "args", &args, problems);
  EXPECT_EQ(problems.ToString(),
            "error: args.resources[0].weight: Invalid value: 500: not in valid range [1, 100]\n");
}

}  // namespace
}  // namespace berth
