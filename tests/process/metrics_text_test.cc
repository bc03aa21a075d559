// SPDX-License-Identifier: Apache-2.0
// The text that Prometheus reads.
#include "process/metrics_text.h"

#include <gtest/gtest.h>

#include "process/process_metrics.h"

namespace berth {
namespace {

TEST(MetricsText, IsPrometheusTextFormat) {
  MetricList list;
  CounterMetric counter({"b_total", MetricType::kCounter, "Of \\ and\nlines.", {"z", "a"}}, list);
  GaugeMetric gauge({"a", MetricType::kGauge, "A gauge."}, list);
  HistogramMetric histogram({"c", MetricType::kHistogram, "H.", {"x"}, {0.5, 1e6}}, list);
  GaugeMetric none({"d", MetricType::kGauge, "Nothing yet.", {"x"}}, list);
  counter.With({"1", "say \"hi\"\n\\"}).Add(3);
  gauge.only().Set(0.25);
  for (const double value : {0.5, 0.6, 2e6}) histogram.With({"y"}).Observe(value);
  EXPECT_EQ(MetricsText(list),
            "# HELP a A gauge.\n"
            "# TYPE a gauge\n"
            "a 0.25\n"
            "# HELP b_total Of \\\\ and\\nlines.\n"
            "# TYPE b_total counter\n"
            "b_total{a=\"say \\\"hi\\\"\\n\\\\\",z=\"1\"} 3\n"
            "# HELP c H.\n"
            "# TYPE c histogram\n"
            "c_bucket{x=\"y\",le=\"0.5\"} 1\n"
            "c_bucket{x=\"y\",le=\"1e+06\"} 2\n"
            "c_bucket{x=\"y\",le=\"+Inf\"} 3\n"
            "c_sum{x=\"y\"} 2.0000011e+06\n"
            "c_count{x=\"y\"} 3\n");
}

// strconv.FormatFloat(number, 'g', -1, 64)
TEST(MetricsText, NumbersAreGos) {
  struct Case {
    double number;
    std::string text;
  };
  for (const Case& c : std::vector<Case>{{0, "0"},
                                         {1, "1"},
                                         {-1.5, "-1.5"},
                                         {999999, "999999"},
                                         {1e6, "1e+06"},
                                         {1234567, "1.234567e+06"},
                                         {0.0001, "0.0001"},
                                         {0.00001, "1e-05"},
                                         {1.5 * 0.00001, "1.5000000000000002e-05"},
                                         {1e100, "1e+100"},
                                         {1.0 / 0.0, "+Inf"},
                                         {-1.0 / 0.0, "-Inf"},
                                         {0.0 / 0.0, "NaN"}}) {
    MetricList list;
    GaugeMetric gauge({"x", MetricType::kGauge, ""}, list);
    gauge.only().Set(c.number);
    EXPECT_EQ(MetricsText(list), "# HELP x \n# TYPE x gauge\nx " + c.text + "\n");
  }
}

#ifndef BERTH_SANITIZED  // a sanitizer's heap tells no numbers
TEST(ProcessMetrics, TheHeapGrowsAndShrinks) {
  ProcessMetrics metrics("1");
  const auto used = [&] {
    metrics.Refresh();
    for (const MetricFamily* const metric : metrics.list()) {
      if (metric->info().name != "berth_heap_bytes") continue;
      for (const MetricSample& sample : metric->Read().samples) {
        if (sample.labels == std::vector<std::string>{"used"}) return sample.value;
      }
    }
    return -1.0;
  };
  const double before = used();
  EXPECT_GT(before, 0);
  constexpr size_t kBytes = 64 << 20;
  auto block = std::make_unique<std::string>(kBytes, 'x');
  EXPECT_GT(used(), before + kBytes * 0.9);
  block = nullptr;
  EXPECT_LT(used(), before + kBytes * 0.1);
}
#endif

TEST(ProcessMetrics, AreThoseOfThisProcess) {
  ProcessMetrics metrics("1.2.3");
  metrics.Refresh();
  metrics.SetLeader("kube-scheduler", true);
  metrics.ObserveCall({.method = "GET", .host = "h:1", .code = 200, .response_bytes = 100});
  metrics.ObserveCall(
      {.method = "POST", .host = "h:1", .rate_limiter_wait = absl::Milliseconds(1500)});
  metrics.ObserveCall({.method = "GET", .host = "h:1", .code = 200, .is_stream = true});
  const std::string text = MetricsText(metrics.list());
  const auto has = [&](const std::string& line) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  };
  has("\nberth_build_info{version=\"1.2.3\"} 1\n");
  has("leader_election_master_status{name=\"kube-scheduler\"} 1\n");
  has("rest_client_requests_total{code=\"200\",host=\"h:1\",method=\"GET\"} 2\n");
  has("rest_client_requests_total{code=\"<error>\",host=\"h:1\",method=\"POST\"} 1\n");
  has("rest_client_rate_limiter_duration_seconds_bucket{host=\"h:1\",verb=\"POST\",le=\"1\"} 0\n");
  has("rest_client_rate_limiter_duration_seconds_bucket{host=\"h:1\",verb=\"POST\",le=\"2\"} 1\n");
  has("rest_client_rate_limiter_duration_seconds_count{host=\"h:1\",verb=\"GET\"} 2\n");
  has("rest_client_request_duration_seconds_count{host=\"h:1\",verb=\"GET\"} 1\n");
  has("rest_client_response_size_bytes_bucket{host=\"h:1\",verb=\"GET\",le=\"64\"} 0\n");
  has("rest_client_response_size_bytes_bucket{host=\"h:1\",verb=\"GET\",le=\"256\"} 1\n");
  has("rest_client_response_size_bytes_bucket{host=\"h:1\",verb=\"GET\",le=\"1.048576e+06\"} 1\n");
  for (const MetricFamily* const metric : metrics.list()) {
    const std::string& name = metric->info().name;
    if (name.rfind("process_", 0) != 0 || name == "process_cpu_seconds_total") continue;
    EXPECT_GT(metric->Read().samples.at(0).value, 0) << name;
  }
}

}  // namespace
}  // namespace berth
