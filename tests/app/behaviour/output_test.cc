// SPDX-License-Identifier: Apache-2.0
// Output that goes nowhere is an error, whatever prints it; and a terminal obeys no name.
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Cluster(absl::string_view pod_name) {
  return WriteTemporary("output-cluster.yaml", absl::StrCat(R"(
{apiVersion: v1, kind: Node, metadata: {name: n0}, status: {allocatable: {cpu: '4', pods: '9'}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: ")",
                                                            pod_name, R"("},
  spec: {containers: [{name: c, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: ")",
                                                            pod_name, R"(-large"},
  spec: {containers: [{name: c, image: x, resources: {requests: {cpu: '9'}}}]}}
)"));
}

// Every command that prints something.
std::vector<std::string> Printing() {
  const std::string cluster = Cluster("p");
  return {"version",
          "--version",
          "--help",
          "simulate --help",
          "help explain",
          "completion bash",
          "__complete ''",
          "validate config/default.yaml",
          absl::StrCat("explain --cluster ", cluster),
          absl::StrCat("explain -o json --cluster ", cluster),
          absl::StrCat("simulate --cluster ", cluster),
          absl::StrCat("simulate -o json --cluster ", cluster),
          "simulate --scenario tests/scenarios/gpu_unreadable.yaml",
          "simulate --scenario tests/scenarios/gpu_unreadable.yaml -o json",
          "simulate --trace openb --until 0.1 --config config/gpu.yaml",
          "simulate --trace openb --until 0.1 --config config/gpu.yaml -o csv"};
}

TEST(OutputTest, AFullDiskIsAnError) {
  for (const std::string& words : Printing()) {
    const Outcome outcome = RunBerth(absl::StrCat(words, " >/dev/full"));
    EXPECT_EQ(outcome.status, 1) << words;
    EXPECT_THAT(outcome.err, HasSubstr("berth: the output could not be written")) << words;
  }
  EXPECT_EQ(RunBerth("simulate --trace openb --until 0.1 --decisions /dev/full").status, 1);
}

TEST(OutputTest, AClosedStreamIsAnError) {
  for (const std::string& words : Printing()) {
    const Outcome outcome = RunBerth(absl::StrCat(words, " >&-"));
    EXPECT_EQ(outcome.status, 1) << words;
    EXPECT_THAT(outcome.err, HasSubstr("berth: the output could not be written")) << words;
  }
  EXPECT_THAT(RunBerth("validate - <&-").err, HasSubstr("<stdin>: error: cannot be read"));
  EXPECT_EQ(RunBerth("frobnicate 2>&-").status, 2);
}

// What is opened next must not take the place of a closed stream.
TEST(OutputTest, AClosedStreamDoesNotBecomeAnotherFile) {
  const std::string decisions = WriteTemporary("decisions", "");
  RunBerth(absl::StrCat("simulate --trace openb --until 0.1 --decisions ", decisions, " >&-"));
  EXPECT_THAT(ReadWhole(decisions), AllOf(HasSubstr("event,pod_row"), Not(HasSubstr("ARRIVED"))));
}

TEST(OutputTest, AReaderThatIsGoneIsAnError) {
  const std::string berth = BerthCommand();
  const Outcome ignored = RunShell(absl::StrCat("bash -c 'trap \"\" PIPE; exec 3> >(:); wait $!; ",
                                                berth, " simulate --help >&3'"));
  EXPECT_EQ(ignored.status, 1);
  EXPECT_THAT(ignored.err, HasSubstr("the output could not be written"));
  // As with any program, the signal ends it silently where it is not ignored.
  const Outcome ended =
      RunShell(absl::StrCat("bash -c 'exec 3> >(:); wait $!; ", berth, " simulate --help >&3'"));
  EXPECT_EQ(ended.status, 128 + 13);
  EXPECT_EQ(ended.err, "");
}

TEST(OutputTest, NoNameReachesTheTerminalAsAControl) {
  // A colour, a line of its own, a NUL, C1's CSI, and text from right to left.
  const std::string cluster = Cluster("a\\e[31mb\\nforged\\0\\x9b2J\\u202e");
  for (const std::string& words : {absl::StrCat("explain --cluster ", cluster),
                                   absl::StrCat("explain -o json --cluster ", cluster),
                                   absl::StrCat("simulate --cluster ", cluster),
                                   absl::StrCat("simulate -o json --cluster ", cluster)}) {
    const Outcome outcome = RunBerth(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const absl::string_view control :
         {absl::string_view("\033"), absl::string_view("\nforged"), absl::string_view("\0", 1),
          absl::string_view("\xC2\x9B"), absl::string_view("\xE2\x80\xAE")}) {
      EXPECT_THAT(outcome.out, Not(HasSubstr(std::string(control)))) << words;
    }
    EXPECT_THAT(outcome.out, HasSubstr(R"(a\u001B[31mb\nforged\u0000\u009B2J\u202E)")) << words;
  }
}

TEST(OutputTest, ProblemsAndMistakesAreEscapedToo) {
  const std::string bad = WriteTemporary(
      "bad\033[31m.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: \"a\\e]0;x\\a/b\"}}\n");
  for (const std::string& words :
       {absl::StrCat("simulate --cluster '", bad, "'"),
        std::string("simulate --cluster '/\033[2J'"), std::string("'\033[2J'"),
        std::string("simulate '--\033[2J'"), std::string("validate '/\033[2J\xFF'"),
        std::string("simulate --scenario '/\033[2J'"),
        std::string("simulate --trace openb --list '\033[2J'")}) {
    const Outcome outcome = RunBerth(words);
    EXPECT_NE(outcome.status, 0) << words;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("\\u001B"), Not(HasSubstr("\033")))) << words;
  }
}

}  // namespace
}  // namespace berth
