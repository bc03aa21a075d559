// SPDX-License-Identifier: Apache-2.0
// The lines of the log, as klog and component-base write them.
#include "process/log.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "berth/api/value.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// What `say` makes of a log with `options`.
template <class Say>
std::string Logged(Log::Options options, const Say& say) {
  options.file = std::tmpfile();
  {
    Log log(options);
    say(log);
  }
  std::string text(static_cast<size_t>(std::ftell(options.file)), '\0');
  std::rewind(options.file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), options.file), text.size());
  std::fclose(options.file);
  return text;
}

TEST(LogTest, TextIsThatOfKlog) {
  const std::string text = Logged({}, [](Log& log) {
    log.Info("Scheduled pod", {{"pod", "default/p"}, {"feasibleNodes", 3}});
    log.Warning("slow");
    log.Error("Failed to bind", absl::AbortedError("somebody \"else\"\nwas first"),
              {{"node", "n"}});
  });
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  ASSERT_EQ(lines.size(), 4u) << text;
  const std::string place = " log_test.cc:[0-9]+\\] ";
  const std::string head = "[0-9]{4} [0-9:]{8}\\.[0-9]{6} +[0-9]+" + place;
  EXPECT_THAT(lines[0],
              MatchesRegex("I" + head + "\"Scheduled pod\" pod=\"default/p\" feasibleNodes=3"));
  EXPECT_THAT(lines[1], MatchesRegex("W" + head + "\"slow\""));
  EXPECT_THAT(lines[2], MatchesRegex("E" + head +
                                     "\"Failed to bind\" err=\"somebody .*else.*nwas first\" "
                                     "node=\"n\""));
}

TEST(LogTest, TextIsQuotedAsGoQuotes) {
  const std::string text = Logged({}, [](Log& log) {
    log.Info("Couldn't", {{"err", "the kubeconfig's \\'x' \x1b[31m\t\xc3\xa9"}});
  });
  EXPECT_THAT(text,
              HasSubstr("\"Couldn't\" err=\"the kubeconfig's \\\\'x' \\x1b[31m\\t\xc3\xa9\"\n"));
}

TEST(LogTest, JsonIsThatOfTheComponents) {
  const std::string text = Logged({.format = LogFormat::kJson, .verbosity = 2}, [](Log& log) {
    log.Verbose(2, "Scheduled pod", {{"pod", "default/p"}, {"feasibleNodes", 3}});
    log.Error("Failed to bind", absl::AbortedError("\xff\""), {{"node", "n"}});
  });
  Problems problems;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u) << text;
  for (const std::string& line : lines) {
    const std::vector<Document> parsed = ReadDocuments(line, "log", problems);
    ASSERT_TRUE(problems.ok() && parsed.size() == 1) << line;
    EXPECT_THAT(std::string(parsed[0].root().Find("caller").text()),
                MatchesRegex("log_test.cc:[0-9]+"));
    EXPECT_GT(parsed[0].root().Find("ts").AsInt64().value_or(0), 1'600'000'000'000);
  }
  EXPECT_THAT(lines[0], HasSubstr("\"msg\":\"Scheduled pod\",\"v\":2,\"pod\":\"default/p\","
                                  "\"feasibleNodes\":3}"));
  EXPECT_THAT(lines[1], HasSubstr("\"err\":\"\xEF\xBF\xBD\\\"\""));
}

TEST(LogTest, WhatIsTooVerboseIsNotWritten) {
  const std::string text = Logged({.verbosity = 2}, [](Log& log) {
    EXPECT_TRUE(log.IsOn(2));
    EXPECT_FALSE(log.IsOn(3));
    log.Verbose(2, "two");
    log.Verbose(3, "three");
  });
  EXPECT_THAT(text, HasSubstr("two"));
  EXPECT_THAT(text, Not(HasSubstr("three")));
}

TEST(LogTest, ManyThreadsWriteWholeLines) {
  const std::string text = Logged({}, [](Log& log) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log] {
        for (int i = 0; i < 500; ++i) log.Info("line", {{"text", std::string(100, 'x')}});
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 2000u);
  for (const std::string& line : lines) EXPECT_THAT(line, MatchesRegex("I.*\"line\" text=\"x+\""));
}

}  // namespace
}  // namespace berth
