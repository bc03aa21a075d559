// SPDX-License-Identifier: Apache-2.0
// The words that `berth` takes: each command's help, near misses, completion in a shell.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Cluster() {
  return WriteTemporary("cluster.yaml", R"(
{apiVersion: v1, kind: Node, metadata: {name: n0}, status: {allocatable: {cpu: '4', pods: '9'}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: x}]}}
)");
}

// All `--words` of a text.
std::set<std::string> Flags(const std::string& text) {
  static const std::regex flag("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), flag), {}};
}

// The first words of its lines.
std::set<std::string> Candidates(const std::string& text) {
  std::set<std::string> words;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    words.emplace(line.substr(0, line.find('\t')));
  }
  return words;
}

TEST(CommandLineTest, HelpIsTheCommandsOwn) {
  const Outcome all = RunBerth("--help");
  EXPECT_EQ(all.status, 0);
  EXPECT_THAT(all.out, AllOf(HasSubstr("Usage: berth"), HasSubstr("simulate"),
                             HasSubstr("completion"), Not(HasSubstr("--seed"))));
  const Outcome explain = RunBerth("explain --help");
  EXPECT_EQ(explain.status, 0);
  EXPECT_THAT(explain.out, AllOf(HasSubstr("Usage: berth explain"), HasSubstr("--pod"),
                                 HasSubstr("Examples:"), Not(HasSubstr("--seed"))));
  EXPECT_THAT(RunBerth("simulate -h").out,
              AllOf(HasSubstr("--scenario"), HasSubstr("--seed"), HasSubstr("Examples:")));
  EXPECT_EQ(RunBerth("help explain").out, explain.out);
  EXPECT_EQ(RunBerth("help").out, all.out);
  EXPECT_EQ(RunBerth("help me").status, 2);
}

TEST(CommandLineTest, ProgramsOfOthersGoByTheirOwnName) {
  const Outcome help = RunShell(absl::StrCat(STUBBORN_SCHEDULER, " simulate --help"));
  EXPECT_THAT(help.out, AllOf(HasSubstr("Usage: berth_stubborn_scheduler simulate"),
                              Not(HasSubstr(" berth "))));
  EXPECT_THAT(RunShell(absl::StrCat(STUBBORN_SCHEDULER, " simulat")).err,
              StartsWith("berth_stubborn_scheduler: unknown command"));
  EXPECT_THAT(RunShell(absl::StrCat(STUBBORN_SCHEDULER, " completion bash")).out,
              HasSubstr("complete -F _berth_stubborn_scheduler berth_stubborn_scheduler"));
}

TEST(CommandLineTest, AMistakeIsToldInTwoLines) {
  const struct {
    absl::string_view words, want;
  } cases[] = {
      {"", "berth: no command given"},
      {"simulat", R"(berth: unknown command "simulat"; did you mean "simulate"?)"},
      {"frobnicate", R"(berth: unknown command "frobnicate")"},
      {"simulate --cluser x", R"(berth: unknown flag "--cluser"; did you mean "--cluster"?)"},
      {"simulate --cluser=x", R"(berth: unknown flag "--cluser"; did you mean "--cluster"?)"},
      {"explain --seed 3 --cluster x", R"(berth: unknown flag "--seed")"},
      {"validate", "berth: FILE is required"},
      {"import", "berth: FILE is required"},
      {"import a -o b -o c", "berth: --output is given twice"},
      {"import - -", "berth: standard input (-) can be read only once"},
      {"explain", "berth: --cluster is required"},
      {"explain --cluster x -o xml", "berth: --output: xml not in {table,json}"},
      {"explain --cluster x -o csv", "berth: --output: csv not in {table,json}"},
      {"simulate", "berth: --cluster is required, or --scenario, or --trace"},
      {"simulate --cluster x -o csv", "berth: -o csv goes with --trace only"},
      {"simulate --cluster x --seed many", "berth: "},
      {"simulate --cluster x --seed -1", "berth: "},
      {"simulate --cluster x --scenario y", "berth: --"},
      {"simulate --cluster x --trace openb", "berth: --"},
      {"simulate --cluster x --times", "berth: --"},
      {"simulate --cluster - --config -", "berth: standard input (-) can be read only once"},
      {"simulate --cluster x --config=", "berth: --config"},
      {"simulate --cluster x --config a --config b",
       "berth: --config is given twice, and takes one FILE"},
      {"simulate --cluster x --config a --config=b --config c",
       "berth: --config is given 3 times, and takes one FILE"},
      {"explain --cluster x --config a --config b", "berth: --config is given twice"},
      {"explain --cluster x --pod a --pod b", "berth: --pod is given twice"},
      {"explain --cluster x -o json -o table", "berth: --output is given twice"},
      {"simulate --cluster x --seed 1 --seed=2", "berth: --seed is given twice"},
      {"simulate --trace openb --trace openb", "berth: --trace is given twice"},
      {"simulate --trace openb --data a --data b", "berth: --data is given twice"},
      {"simulate --trace openb --list a --list b", "berth: --list is given twice"},
      {"simulate --trace openb --until 1 --until 2", "berth: --until is given twice"},
      {"simulate --trace openb --decisions a --decisions b", "berth: --decisions is given twice"},
      {"completion tcsh", "berth: SHELL: tcsh not in {bash,zsh,fish}"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = RunBerth(c.words);
    EXPECT_EQ(outcome.status, 2) << c.words;
    EXPECT_EQ(outcome.out, "") << c.words;
    EXPECT_THAT(outcome.err, StartsWith(std::string(c.want))) << c.words;
    EXPECT_THAT(outcome.err, HasSubstr(" --help' for what it takes.\n")) << c.words;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
  }
}

TEST(CommandLineTest, ValuesFollowOrAreGivenWithAnEqualsSign) {
  const std::string cluster = Cluster();
  const Outcome one = RunBerth(absl::StrCat(
      "simulate --seed=7 --config=config/default.yaml --output=json --cluster=", cluster));
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr(R"("node":"n0")"));
  const std::string more =
      WriteTemporary("more.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n");
  EXPECT_THAT(RunBerth(absl::StrCat("simulate --cluster ", cluster, " ", more, " --seed 3")).out,
              HasSubstr("on 2 nodes"));
  EXPECT_THAT(RunBerth(absl::StrCat("simulate --cluster ", cluster, " --cluster ", more)).out,
              HasSubstr("on 2 nodes"));
}

TEST(CommandLineTest, WithoutAConfigurationKubeSchedulersDefaultsHold) {
  const std::string cluster = Cluster();
  const std::string words = absl::StrCat(" --cluster ", cluster);
  const Outcome explain = RunBerth(absl::StrCat("explain", words));
  EXPECT_EQ(explain.status, 0) << explain.err;
  EXPECT_EQ(
      explain.out,
      RunBerth(absl::StrCat("explain --config config/kube-scheduler-default.yaml", words)).out);
  EXPECT_THAT(RunBerth(absl::StrCat("simulate", words)).out, HasSubstr("1 pod placed"));
}

TEST(CommandLineTest, ValidateTakesFiles) {
  const Outcome good = RunBerth("validate config/default.yaml config/gang.yaml");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_THAT(good.out,
              AllOf(HasSubstr("config/default.yaml: valid"), HasSubstr("config/gang.yaml: valid")));
  const std::string bad = WriteTemporary("bad-config.yaml", "kind: Policy\n");
  const Outcome mixed = RunBerth(absl::StrCat("validate ", bad, " config/default.yaml"));
  EXPECT_EQ(mixed.status, 1);
  EXPECT_THAT(mixed.out, HasSubstr("config/default.yaml: valid"));
  EXPECT_THAT(mixed.err, HasSubstr(bad));
  EXPECT_THAT(RunBerth("validate - <config/default.yaml").out, StartsWith("<stdin>: valid"));
  const std::string remote =
      "echo '{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
      "profiles: [{plugins: {multiPoint: {enabled: [{name: Far}]}}, pluginConfig: [{name: Far, "
      "args: {kind: RemotePluginArgs, address: \"unix:/no/such\", startTimeout: 50ms}}]}]}' | ";
  EXPECT_THAT(RunShell(absl::StrCat(remote, BerthCommand(), " validate -")).err,
              HasSubstr("the remote plugin Far at unix:/no/such"));
}

// Everything that help names can be completed, and nothing else.
TEST(CompletionTest, OffersWhatHelpNames) {
  const std::set<std::string> commands = {
      "run",        "validate", "convert", "explain", "import", "simulate", "describe-plugin",
      "completion", "version",  "help",    "serve"};
  EXPECT_EQ(Candidates(RunBerth("__complete ''").out), commands);
  for (const std::string& command : commands) {
    EXPECT_THAT(RunBerth("--help").out, HasSubstr(absl::StrCat("\n  ", command))) << command;
    const std::set<std::string> offered =
        Candidates(RunBerth(absl::StrCat("__complete ", command, " --")).out);
    std::set<std::string> named;
    const std::string help = RunBerth(absl::StrCat(command, " --help")).out;
    // Examples name flags of other programs.
    for (const std::string& flag : Flags(help.substr(0, help.find("\nExamples:"))))
      named.insert(flag);
    EXPECT_EQ(offered, named) << command;
  }
}

TEST(CompletionTest, CompletesWordsValuesAndFiles) {
  const struct {
    absl::string_view words;
    std::set<std::string> want;
  } cases[] = {
      {"si", {"simulate"}},
      {"simulate --sc", {"--scenario"}},
      {"simulate --output ''", {"table", "json", "csv"}},
      {"simulate -o j", {"json"}},
      {"explain --output = j", {"json"}},
      {"explain --output=j", {"json"}},
      {"explain --cluster a b ''", {":files"}},
      {"simulate --trace ''", {"openb"}},
      {"simulate --seed ''", {}},
      {"validate ''", {":files"}},
      {"import ''", {":files"}},
      {"import a -o ''", {":files"}},
      {"completion f", {"fish"}},
      {"help e", {"explain"}},
      {"nonsense ''", {}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Candidates(RunBerth(absl::StrCat("__complete ", c.words)).out), c.want) << c.words;
  }
}

TEST(CompletionTest, BashCompletes) {
  const std::string script = WriteTemporary("completion.bash", RunBerth("completion bash").out);
  const auto completed = [&](absl::string_view words, int at) {
    return RunShell(absl::StrCat("bash -c 'source ", script, "; COMP_WORDS=(", words,
                                 "); COMP_CWORD=", at, "; _berth; echo ${COMPREPLY[@]}'"))
        .out;
  };
  const std::string berth = BerthCommand();
  EXPECT_EQ(completed(absl::StrCat(berth, " sim"), 1), "simulate\n");
  EXPECT_EQ(completed(absl::StrCat(berth, " simulate --output js"), 3), "json\n");
  EXPECT_EQ(completed(absl::StrCat(berth, " validate config/defa"), 2), "config/default.yaml\n");
}

TEST(CompletionTest, EveryShellHasAScript) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = RunBerth(absl::StrCat("completion ", shell));
    EXPECT_EQ(script.status, 0);
    EXPECT_THAT(script.out, HasSubstr("__complete")) << shell;
    EXPECT_THAT(script.out, Not(HasSubstr("$P"))) << shell;
    // Where the shell is there, it has to like it.
    const std::string file = WriteTemporary("script", script.out);
    EXPECT_EQ(RunShell(absl::StrCat("! command -v ", shell, " >/dev/null || ", shell, " -n ", file))
                  .status,
              0)
        << shell;
  }
}

}  // namespace
}  // namespace berth
