// SPDX-License-Identifier: Apache-2.0
// Input that is no file, no text, too deep or too large: an error in a moment, without much memory.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Measured {
  int status;
  std::string output;
  int64_t peak_mib;
};

// Runs `berth` with `words`; more than 40 seconds are a failure.
Measured Measure(std::vector<std::string> words) {
  words.insert(words.begin(), BerthCommand());
  const std::string out = WriteTemporary("measured", "");
  const pid_t pid = fork();
  if (pid == 0) {
    const int fd = open(out.c_str(), O_WRONLY | O_TRUNC);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    alarm(40);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage usage;
  wait4(pid, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ReadWhole(out),
          usage.ru_maxrss >> 10};
}

// A folder that goes with the test.
class HostileInputTest : public ::testing::Test {
 protected:
  HostileInputTest() : folder_(absl::StrCat(::testing::TempDir(), "/hostile-", getpid())) {
    fs::create_directories(folder_);
  }
  ~HostileInputTest() override { fs::remove_all(folder_); }

  std::string Write(absl::string_view name, absl::string_view text) const {
    const std::string path = absl::StrCat(folder_.string(), "/", name);
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string At(absl::string_view name) const { return absl::StrCat(folder_.string(), "/", name); }

  const fs::path folder_;
};

constexpr char kNode[] = "{apiVersion: v1, kind: Node, metadata: {name: n0}}\n";

std::string Repeat(absl::string_view text, size_t bytes) {
  std::string repeated;
  repeated.reserve(bytes + text.size());
  while (repeated.size() < bytes) absl::StrAppend(&repeated, text);
  return repeated;
}

TEST_F(HostileInputTest, DevicesAndFoldersAreNoText) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"simulate", "--cluster", "/dev/zero"},
           {"explain", "--cluster", "/dev/zero"},
           {"validate", "/dev/zero"},
           {"simulate", "--cluster", "examples/manifests/cluster", "--config", "/dev/zero"},
           {"simulate", "--scenario", "/dev/zero"},
           {"simulate", "--trace", "openb", "--data", "/dev"},
           {"validate", "tests"},
           {"simulate", "--scenario", "/dev/urandom"}}) {
    const Measured measured = Measure(words);
    EXPECT_EQ(measured.status, 1) << absl::StrJoin(words, " ") << measured.output;
    EXPECT_LT(measured.peak_mib, 400) << absl::StrJoin(words, " ");
    EXPECT_LT(measured.output.size(), 10'000u) << absl::StrJoin(words, " ");
  }
}

TEST_F(HostileInputTest, AFolderMayHoldWhatIsNoFile) {
  Write("n.yaml", kNode);
  ASSERT_EQ(mkfifo(At("pipe.yaml").c_str(), 0600), 0);
  fs::create_directory(At("folder.yaml"));
  fs::create_directory_symlink(folder_, At("loop"));
  const Measured measured = Measure({"simulate", "--cluster", folder_.string()});
  EXPECT_EQ(measured.status, 0) << measured.output;
  EXPECT_THAT(measured.output,
              AllOf(HasSubstr("pipe.yaml: warning: is a pipe, not a file; left out"),
                    HasSubstr("on 1 node")));

  Write("folder.yaml/s.yaml",
        "name: a node comes\nsteps:\n"
        "- create: '{apiVersion: v1, kind: Node, metadata: {name: n0}}'\n");
  ASSERT_EQ(mkfifo(At("folder.yaml/pipe.yaml").c_str(), 0600), 0);
  const Measured scenarios = Measure({"simulate", "--scenario", At("folder.yaml")});
  EXPECT_THAT(scenarios.output, HasSubstr("1 of 1 scenarios hold"));
}

TEST_F(HostileInputTest, LinksToNowhereAreErrors) {
  fs::create_symlink("self.yaml", At("self.yaml"));
  fs::create_symlink("nowhere", At("gone.yaml"));
  const Measured measured = Measure({"simulate", "--cluster", folder_.string()});
  EXPECT_EQ(measured.status, 1);
  EXPECT_THAT(measured.output,
              AllOf(HasSubstr("gone.yaml: error: No such file or directory"),
                    HasSubstr("self.yaml: error: Too many levels of symbolic links")));
  EXPECT_THAT(Measure({"validate", At("self.yaml")}).output, HasSubstr("Too many levels"));
}

// As the shell's <(...) makes them.
TEST_F(HostileInputTest, ANamedPipeIsRead) {
  const Outcome outcome =
      RunShell(absl::StrCat("bash -c '", BerthCommand(), " validate <(cat config/default.yaml)'"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(HostileInputTest, ALargeFileIsRefusedBeforeItIsRead) {
  const std::string path = Write("large.yaml", kNode);
  fs::resize_file(path, uint64_t{100} << 30);  // sparse
  const Measured measured = Measure({"simulate", "--cluster", path});
  EXPECT_EQ(measured.status, 1) << measured.output;
  EXPECT_THAT(measured.output, HasSubstr("large.yaml: error: is larger than 2 GiB"));
  fs::remove(path);
}

TEST_F(HostileInputTest, DepthIsFoundOutInAMomentAndWithoutMemory) {
  constexpr size_t kBytes = 30'000'000;
  const struct {
    absl::string_view name;
    std::string text;
    absl::string_view want;
  } cases[] = {
      {"brackets", Repeat("[", kBytes), "nested more than 200 deep"},
      {"braces", Repeat("{", kBytes), "nested more than 200 deep"},
      {"json", Repeat("{\"a\":", kBytes), "nested more than 200 deep"},
      {"json lists", absl::StrCat("{\"a\":", Repeat("[", kBytes)), "nested more than 200 deep"},
      {"flow maps", Repeat("{a: ", kBytes), "nested more than 200 deep"},
      {"flow lists", absl::StrCat("a: ", Repeat("[b, ", kBytes)), "nested more than 200 deep"},
      {"behind a block scalar", absl::StrCat("- a: |\n    text [\n  b: ", Repeat("[", kBytes)),
       "nested more than 200 deep"},
      {"behind a tag", absl::StrCat("a: !x &b ", Repeat("[", kBytes)), "nested more than 200 deep"},
      {"of a marker", absl::StrCat("--- ", Repeat("[", kBytes)), "nested more than 200 deep"},
      {"long flow list", absl::StrCat("a: [", Repeat("b,", kBytes)), "with more than"},
      {"dashes", Repeat("- ", kBytes), "nested more than 200 deep"},
      {"question marks", Repeat("? ", kBytes), ""},
      {"block maps",
       [] {
         std::string text;
         for (int depth = 0; depth < 3000; ++depth) {
           absl::StrAppend(&text, std::string(depth, ' '), "a:\n");
         }
         return text;
       }(),
       "nested more than 200 deep"},
  };
  for (const auto& c : cases) {
    const std::string path = Write("deep.yaml", c.text);
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"simulate", "--cluster", path}, {"validate", path}}) {
      const Measured measured = Measure(words);
      EXPECT_EQ(measured.status, 1) << c.name;
      EXPECT_THAT(measured.output, HasSubstr(std::string(c.want))) << c.name;
      EXPECT_LT(measured.peak_mib, 600) << c.name;
    }
  }
}

// Once for the line it is in, not once for each bracket; and many lines are not all printed.
TEST_F(HostileInputTest, BrokenJsonIsToldOnce) {
  for (const std::string& text :
       {absl::StrCat("[", Repeat("{", 3'000'000)), Repeat("[{", 3'000'000),
        absl::StrCat("[", Repeat("{]", 3'000'000)),
        absl::StrCat("{\"kind\":\"List\",\"items\":[", Repeat("{", 3'000'000))}) {
    const Measured measured = Measure({"validate", Write("broken.yaml", text)});
    EXPECT_EQ(measured.status, 1) << text.substr(0, 20);
    EXPECT_LT(measured.output.size(), 2000) << text.substr(0, 20);
    EXPECT_LT(measured.peak_mib, 600) << text.substr(0, 20);
  }
  const Measured lines =
      Measure({"simulate", "--cluster", Write("lines.jsonl", Repeat("{\"a\": }\n", 200'000))});
  EXPECT_EQ(lines.status, 1);
  EXPECT_LT(lines.output.size(), 200'000);
}

TEST_F(HostileInputTest, WhatIsNoTextIsTold) {
  const std::string nul = Write("nul.yaml", absl::string_view("a: 1\nb: \0x\n", 11));
  EXPECT_THAT(Measure({"simulate", "--cluster", nul}).output,
              HasSubstr("nul.yaml:2:4: error: not valid UTF-8 text"));
  const std::string latin = Write("latin.yaml", "a: caf\xE9\n");
  EXPECT_THAT(Measure({"validate", latin}).output,
              HasSubstr("latin.yaml:1:7: error: not valid UTF-8 text"));
}

TEST_F(HostileInputTest, ATraceWithoutDemandForGpusIsRun) {
  Write("openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,8000,9000,2,T4\n");
  const std::string header = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
  Write("openb_pod_list_cpu.csv", absl::StrCat(header, "p0,1000,100,0,0,\np1,9000,100,0,0,\n"));
  Write("openb_pod_list_tiny.csv",
        absl::StrCat(header, "p0,1,1,1,1,\n", Repeat("p,1,1,0,0,\n", 100'000)));
  Write("openb_pod_list_huge.csv", absl::StrCat(header, "p0,1,1,2000000000,1000,\n"));
  const auto run = [&](const std::string& list) {
    return Measure({"simulate", "--trace", "openb", "--data", folder_.string(), "--list", list});
  };
  const Measured cpu = run("cpu");
  EXPECT_EQ(cpu.status, 0) << cpu.output;
  EXPECT_THAT(cpu.output, HasSubstr("1 of 2 pods unscheduled (1 without GPU)"));
  EXPECT_THAT(run("tiny").output, HasSubstr("the pods ask for too little"));
  EXPECT_THAT(run("huge").output, HasSubstr("num_gpu: \"2000000000\" is no amount up to 1000"));
  Write("openb_node_list_gpu_node.csv", "sn,cpu_milli,memory_mib,gpu,model\nn,8000,9000,0,T4\n");
  EXPECT_THAT(run("cpu").output, HasSubstr("has no GPUs"));
}

TEST_F(HostileInputTest, DuplicateKeysAreErrorsWithBothPlaces) {
  const std::string path = Write("twice.yaml", R"(apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {a: x, b: x, a: z}
spec:
  containers:
  - name: c
    image: x
    name: d
spec: {}
)");
  for (const char* command : {"simulate", "explain"}) {
    const Measured measured = Measure({command, "--cluster", path});
    EXPECT_EQ(measured.status, 1);
    for (const char* want :
         {":5:24: error: Pod default/p: metadata.labels.a: appears a second time; first in line 5",
          ":10:5: error: Pod default/p: spec.containers[0].name: appears a second time; first in "
          "line 8",
          ":11:1: error: Pod default/p: spec: appears a second time; first in line 6"}) {
      EXPECT_THAT(measured.output, HasSubstr(want));
    }
    EXPECT_THAT(measured.output, HasSubstr("3 errors"));
  }
}

TEST_F(HostileInputTest, TwoPodsWithOneUidAreAnError) {
  const std::string path = Write("uids.yaml", R"(
{apiVersion: v1, kind: Node, metadata: {name: n0}, status: {allocatable: {cpu: '4', pods: '9'}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, uid: u}, spec: {containers: [{name: c, image: x}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, uid: u}, spec: {containers: [{name: c, image: x}]}}
)");
  const Measured measured = Measure({"simulate", "--cluster", path});
  EXPECT_EQ(measured.status, 1);
  EXPECT_THAT(measured.output,
              HasSubstr(absl::StrCat(path,
                                     ":6:1: error: Pod default/b: metadata.uid: is that of Pod "
                                     "default/a, too; first at ",
                                     path, ":4:1")));
  EXPECT_THAT(measured.output, Not(HasSubstr("no profile is named")));
}

}  // namespace
}  // namespace berth
