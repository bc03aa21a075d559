// SPDX-License-Identifier: Apache-2.0
// Takes examples/manifests and examples/configurations through the `berth` command; to add one, add
// a file and a line in examples/expected.yaml.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/value.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr char kManifests[] = "examples/manifests/";
constexpr char kConfigurations[] = "examples/configurations/";

std::string Read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Outcome {
  int status;
  std::string out, err;
};

Outcome Berth(const std::string& arguments) {
  const std::string out = absl::StrCat(::testing::TempDir(), "/examples_out_", getpid());
  const std::string err = absl::StrCat(::testing::TempDir(), "/examples_err_", getpid());
  const char* command = std::getenv("BERTH_COMMAND");
  if (command == nullptr) return {-1, "", "BERTH_COMMAND is not set"};
  const int status =
      std::system(absl::StrCat(command, " ", arguments, " >", out, " 2>", err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Read(out), Read(err)};
}

Document Parse(const std::string& text, const std::string& name) {
  Problems problems;
  std::vector<Document> documents = ReadDocuments(text, name, problems);
  EXPECT_TRUE(problems.ok() && documents.size() == 1) << problems.ToString();
  return documents.empty() ? Document() : std::move(documents.front());
}

std::vector<std::string> FilesBelow(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") {
      files.push_back(entry.path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string ConfigurationOf(Value example) {
  const absl::string_view name = example.Find("config").text();
  return name.empty() ? "config/default.yaml" : absl::StrCat(kConfigurations, name);
}

std::string InputOf(Value example) {
  std::string input = absl::StrCat("--config ", ConfigurationOf(example), " --cluster ", kManifests,
                                   "cluster/nodes.yaml");
  for (const Value file : example.Find("files").elements()) {
    absl::StrAppend(&input, " --cluster ", kManifests, file.text());
  }
  return input;
}

Value FindPod(Value pods, absl::string_view name) {
  for (const Value pod : pods.elements()) {
    if (pod.Find("pod").text() == name) return pod;
  }
  return {};
}

// Everything that `berth explain` says about why a pod cannot be placed.
std::string ReasonOf(Value explanation) {
  std::string reason =
      absl::StrCat(explanation.Find("message").text(), explanation.Find("skipped").text(),
                   explanation.Find("error").text());
  for (const Value text : explanation.Find("preEnqueue").Find("reasons").elements()) {
    absl::StrAppend(&reason, " ", text.text());
  }
  return reason;
}

// `want` maps pods to the node where each belongs, or to a part of the reason why there is none.
void CheckExplained(Value want, Value pods) {
  for (const Value::Item& item : want.items()) {
    const Value pod = FindPod(pods, item.key);
    ASSERT_TRUE(pod) << item.where.ToString() << ": pod " << item.key << " is not pending";
    std::string best;
    for (const Value node : pod.Find("bestNodes").elements()) {
      if (best.empty()) best = std::string(node.text());
    }
    if (best.empty()) {
      EXPECT_TRUE(absl::StrContains(ReasonOf(pod), item.value.text()))
          << item.where.ToString() << ": " << item.key << ": " << ReasonOf(pod);
    } else {
      EXPECT_EQ(best, item.value.text()) << item.where.ToString() << ": " << item.key;
    }
  }
  EXPECT_EQ(pods.size(), want.size()) << want.where().ToString() << ": not every pod is named";
}

void CheckSimulated(Value want, Value placements) {
  for (const Value::Item& item : want.items()) {
    const Value pod = FindPod(placements, item.key);
    ASSERT_TRUE(pod) << item.where.ToString() << ": pod " << item.key << " is not pending";
    const absl::string_view node = pod.Find("node").IsNull() ? "" : pod.Find("node").text();
    if (node.empty()) {
      EXPECT_TRUE(absl::StrContains(pod.Find("reason").text(), item.value.text()))
          << item.where.ToString() << ": " << item.key << ": " << pod.Find("reason").text();
    } else {
      EXPECT_EQ(node, item.value.text()) << item.where.ToString() << ": " << item.key;
    }
  }
  EXPECT_EQ(placements.size(), want.size())
      << want.where().ToString() << ": not every pod is named";
}

void CheckExample(Value example) {
  SCOPED_TRACE(std::string(example.Find("name").text()));
  const std::string input = InputOf(example);
  const Outcome explained = Berth(absl::StrCat("explain -o json ", input));
  ASSERT_EQ(explained.status, 0) << input << "\n" << explained.err;
  const Document explanations = Parse(explained.out, "explain");
  CheckExplained(example.Find("explain"), explanations.root().Find("pods"));
  for (const Value text : example.Find("says").elements()) {
    EXPECT_TRUE(absl::StrContains(explained.err, text.text()))
        << text.where().ToString() << ": " << explained.err;
  }

  const Outcome simulated = Berth(absl::StrCat("simulate -o json ", input));
  ASSERT_EQ(simulated.status, 0) << input << "\n" << simulated.err;
  const Document simulation = Parse(simulated.out, "simulate");
  const Value want = example.Find("simulate") ? example.Find("simulate") : example.Find("explain");
  CheckSimulated(want, simulation.root().Find("placements"));
  std::set<std::string> evicted, want_evicted;
  for (const Value pod : simulation.root().Find("evicted").elements()) {
    evicted.insert(std::string(pod.text()));
  }
  for (const Value pod : example.Find("evicted").elements()) {
    want_evicted.insert(std::string(pod.text()));
  }
  EXPECT_EQ(evicted, want_evicted) << example.where().ToString();
}

class Examples : public ::testing::Test {
 protected:
  Examples() : expected_(Parse(Read("examples/expected.yaml"), "examples/expected.yaml")) {}

  const Document expected_;
};

TEST_F(Examples, ComeToWhatIsExpected) {
  ASSERT_GT(expected_.root().Find("examples").size(), 0u);
  for (const Value example : expected_.root().Find("examples").elements()) CheckExample(example);
}

TEST_F(Examples, EveryConfigurationIsValid) {
  for (const std::string& file : FilesBelow(kConfigurations)) {
    const Outcome outcome = Berth(absl::StrCat("validate --config ", file));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::string name = fs::path(file).filename().string();
    const absl::string_view warning = expected_.root().Find("warnings").Find(name).text();
    if (warning.empty()) {
      EXPECT_EQ(outcome.err, "") << file;
    } else {
      EXPECT_TRUE(absl::StrContains(outcome.err, warning)) << file << ": " << outcome.err;
    }
  }
}

// So that no file can be forgotten.
TEST_F(Examples, EveryFileIsUsed) {
  std::set<std::string> used = {absl::StrCat(kManifests, "cluster/nodes.yaml")};
  for (const Value example : expected_.root().Find("examples").elements()) {
    used.insert(ConfigurationOf(example));
    for (const Value file : example.Find("files").elements()) {
      used.insert(absl::StrCat(kManifests, file.text()));
    }
  }
  for (const std::string& file : FilesBelow(kManifests)) {
    EXPECT_TRUE(used.contains(file)) << file << " is in no line of examples/expected.yaml";
  }
  EXPECT_GE(FilesBelow(kManifests).size() + FilesBelow(kConfigurations).size(), 80u);
}

TEST_F(Examples, TheWholeFolderLoadsAtOnce) {
  for (const char* command : {"explain", "simulate"}) {
    const Outcome outcome =
        Berth(absl::StrCat(command, " --config config/default.yaml --cluster ", kManifests));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
}

}  // namespace
}  // namespace berth
