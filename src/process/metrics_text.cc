// SPDX-License-Identifier: Apache-2.0
// Implementation of metrics_text.h, over prometheus-cpp's data model.
#include "process/metrics_text.h"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>
#include <prometheus/serializer.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace berth {
namespace {

using prometheus::ClientMetric;

// Go's strconv.FormatFloat(number, 'g', -1, 64).
std::string GoNumber(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "+Inf" : "-Inf";
  const double magnitude = std::fabs(number);
  const bool is_plain = number == 0 || (magnitude >= 1e-4 && magnitude < 1e6);
  char text[64];
  const std::to_chars_result end =
      std::to_chars(text, text + sizeof(text), number,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  return std::string(text, end.ptr);
}

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\n", "\\n"}, {"\"", "\\\""}});
}

// prometheus::TextSerializer writes 1.5000000000000002e-05 as 1.5e-05 and 1e+06 as 1000000: the
// same bucket would have another label than kube-scheduler's.
class GoTextSerializer final : public prometheus::Serializer {
 public:
  using prometheus::Serializer::Serialize;
  void Serialize(std::ostream& out,
                 const std::vector<prometheus::MetricFamily>& families) const override {
    for (const prometheus::MetricFamily& family : families) {
      out << "# HELP " << family.name << ' '
          << absl::StrReplaceAll(family.help, {{"\\", "\\\\"}, {"\n", "\\n"}}) << '\n';
      out << "# TYPE " << family.name << ' ' << TypeName(family.type) << '\n';
      for (const ClientMetric& metric : family.metric) Write(out, family, metric);
    }
  }

 private:
  static const char* TypeName(prometheus::MetricType type) {
    return type == prometheus::MetricType::Counter ? "counter"
           : type == prometheus::MetricType::Gauge ? "gauge"
                                                   : "histogram";
  }

  static void Write(std::ostream& out, const prometheus::MetricFamily& family,
                    const ClientMetric& metric) {
    std::string labels;
    for (const ClientMetric::Label& label : metric.label) {
      absl::StrAppend(&labels, labels.empty() ? "" : ",", label.name, "=\"", Escaped(label.value),
                      "\"");
    }
    const auto line = [&](const char* suffix, const std::string& within, double value) {
      out << family.name << suffix;
      if (!within.empty()) out << '{' << within << '}';
      out << ' ' << GoNumber(value) << '\n';
    };
    if (family.type != prometheus::MetricType::Histogram) {
      const bool is_counter = family.type == prometheus::MetricType::Counter;
      return line("", labels, is_counter ? metric.counter.value : metric.gauge.value);
    }
    for (const ClientMetric::Bucket& bucket : metric.histogram.bucket) {
      line("_bucket",
           absl::StrCat(labels, labels.empty() ? "" : ",", "le=\"", GoNumber(bucket.upper_bound),
                        "\""),
           static_cast<double>(bucket.cumulative_count));
    }
    line("_sum", labels, metric.histogram.sample_sum);
    line("_count", labels, static_cast<double>(metric.histogram.sample_count));
  }
};

ClientMetric ToClientMetric(const MetricInfo& info, const MetricSample& sample) {
  ClientMetric metric;
  for (size_t i = 0; i < info.labels.size(); ++i) {
    metric.label.push_back({info.labels[i], sample.labels[i]});
  }
  std::sort(metric.label.begin(), metric.label.end());
  metric.counter.value = sample.value;
  metric.gauge.value = sample.value;
  metric.histogram.sample_sum = sample.value;
  uint64_t below = 0;
  for (size_t i = 0; i < sample.counts.size(); ++i) {
    below += static_cast<uint64_t>(sample.counts[i]);
    metric.histogram.bucket.push_back(
        {below, i < info.bounds.size() ? info.bounds[i] : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = below;
  return metric;
}

// Our metrics as prometheus-cpp collects them.
class MetricsCollectable final : public prometheus::Collectable {
 public:
  explicit MetricsCollectable(const MetricList& metrics) : metrics_(metrics) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    for (const MetricFamily* const metric : metrics_) {
      const MetricSnapshot snapshot = metric->Read();
      if (snapshot.samples.empty()) continue;
      prometheus::MetricFamily& family = families.emplace_back();
      family.name = snapshot.info->name;
      family.help = snapshot.info->help;
      family.type = snapshot.info->type == MetricType::kCounter ? prometheus::MetricType::Counter
                    : snapshot.info->type == MetricType::kGauge ? prometheus::MetricType::Gauge
                                                                : prometheus::MetricType::Histogram;
      for (const MetricSample& sample : snapshot.samples) {
        family.metric.push_back(ToClientMetric(*snapshot.info, sample));
      }
    }
    std::sort(families.begin(), families.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return families;
  }

 private:
  const MetricList& metrics_;
};

}  // namespace

std::string MetricsText(const MetricList& metrics) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  GoTextSerializer().Serialize(out, MetricsCollectable(metrics).Collect());
  return out.str();
}

void AddMetricsEndpoint(const std::string& path, MetricList metrics, std::function<void()> refresh,
                        Endpoints& endpoints) {
  endpoints.Add(path,
                [metrics = std::move(metrics),
                 refresh = std::move(refresh)](const ServerRequest&) -> ServerResponse {
                  if (refresh != nullptr) refresh();
                  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
                          .body = MetricsText(metrics)};
                });
}

}  // namespace berth
