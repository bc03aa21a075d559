// SPDX-License-Identifier: Apache-2.0
// Our metrics beside those of a kube-scheduler, as record_metrics.py saw them.
#include "metrics/scheduler_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "process/metrics_text.h"
#include "process/process_metrics.h"

namespace berth {
namespace {

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The names in the first column of the table below `heading` in docs/metrics.md.
std::set<std::string> Documented(const std::string& heading) {
  std::set<std::string> names;
  bool inside = false;
  for (const std::string& line : Lines("docs/metrics.md")) {
    if (line.rfind("## ", 0) == 0) inside = line == "## " + heading;
    if (!inside || line.rfind("| `", 0) != 0) continue;
    const std::string cell = line.substr(2, line.find(" |", 2) - 2);
    for (const absl::string_view part : absl::StrSplit(cell, ", ")) {
      names.insert(std::string(part.substr(1, part.size() - 2)));
    }
  }
  EXPECT_FALSE(names.empty()) << heading;
  return names;
}

const char* TypeName(MetricType type) {
  return type == MetricType::kCounter ? "counter"
         : type == MetricType::kGauge ? "gauge"
                                      : "histogram";
}

class SchedulerMetricsTest : public ::testing::Test {
 protected:
  SchedulerMetricsTest() {
    for (const MetricList* list : {&scheduler_.list(), &process_.list(), &health_.list()}) {
      for (const MetricFamily* metric : *list) {
        EXPECT_TRUE(ours_.emplace(metric->info().name, &metric->info()).second)
            << metric->info().name << " is there twice";
      }
    }
  }
  // The bounds as they are shown.
  static std::string Bounds(const MetricInfo& info) {
    if (info.type != MetricType::kHistogram) return "-";
    MetricList list;
    HistogramMetric histogram({"x", MetricType::kHistogram, "", {}, info.bounds}, list);
    std::vector<std::string> bounds;
    const std::string text = MetricsText(list);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const size_t begin = line.find("le=\"");
      if (begin == absl::string_view::npos) continue;
      bounds.emplace_back(line.substr(begin + 4, line.find('"', begin + 4) - begin - 4));
    }
    return absl::StrJoin(bounds, ",");
  }

  SchedulerMetrics scheduler_;
  ProcessMetrics process_{"1"};
  HealthMetrics health_;
  std::map<std::string, const MetricInfo*> ours_;
};

TEST_F(SchedulerMetricsTest, AreThoseOfKubeScheduler) {
  const std::set<std::string> not_provided = Documented("Not provided");
  int compared = 0;
  for (const std::string& line : Lines("tests/metrics/kube_scheduler_metrics.txt")) {
    if (line.rfind('#', 0) == 0) continue;
    const std::vector<std::string> columns = absl::StrSplit(line, '\t');
    ASSERT_EQ(columns.size(), 6) << line;
    const std::string& name = columns[1];
    const auto found = ours_.find(name);
    EXPECT_NE(found == ours_.end(), not_provided.count(name) == 0)
        << name
        << (found == ours_.end() ? " is missing here, and docs/metrics.md does not say so"
                                 : " is provided, and docs/metrics.md says that it is not");
    if (found == ours_.end()) continue;
    const MetricInfo& info = *found->second;
    std::vector<std::string> labels = info.labels;
    std::sort(labels.begin(), labels.end());
    EXPECT_EQ(TypeName(info.type), columns[2]) << name;
    EXPECT_EQ(labels.empty() ? "-" : absl::StrJoin(labels, ","), columns[3]) << name;
    EXPECT_EQ(Bounds(info), columns[4]) << name;
    EXPECT_EQ(info.help, columns[5]) << name;
    ++compared;
  }
  EXPECT_GE(compared, 30);
}

TEST_F(SchedulerMetricsTest, AreDocumented) {
  std::set<std::string> documented = Documented("kube-scheduler's metrics");
  documented.merge(Documented("Berth's own"));
  documented.merge(Documented("The process"));
  std::set<std::string> provided;
  for (const auto& [name, info] : ours_) provided.insert(name);
  EXPECT_EQ(provided, documented);
}

}  // namespace
}  // namespace berth
