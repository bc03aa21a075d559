// SPDX-License-Identifier: Apache-2.0
// `berth simulate --trace`: a trace of a real cluster through the profiles of a configuration.
#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/json.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/terminal.h"
#include "app/trouble_report.h"
#include "trace/openb_run.h"

namespace berth {
namespace {

constexpr int64_t kMomentsWanted = 40;
constexpr size_t kShapesShown = 10;

// Most frequent first.
std::vector<std::pair<std::string, int64_t>> ShapesByCount(const TraceResult& result) {
  std::vector<std::pair<std::string, int64_t>> shapes(result.shapes.begin(), result.shapes.end());
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return shapes;
}

std::string Percent(double value) { return absl::StrFormat("%.2f", value); }

// --- Arrivals ---

void PrintArrivals(const TraceResult& result) {
  TextTable table({"ARRIVED %", "ALLOCATED %", "FRAGMENTED %", "OF THE IDLE %", "UNSCHEDULED"});
  for (const TraceColumn& column : result.columns) {
    if (column.arrived % 10 != 0 && &column != &result.columns.back()) continue;
    table.AddRow({absl::StrCat(column.arrived), Percent(column.allocation),
                  Percent(column.fragmentation), Percent(column.fragmentation_of_idle),
                  Thousands(column.unscheduled)});
  }
  PrintOut("%s\n", table.ToString());
  if (!result.shapes.empty()) {
    TextTable shapes({"UNSCHEDULED", "SHAPE"});
    const auto by_count = ShapesByCount(result);
    for (size_t i = 0; i < std::min(by_count.size(), kShapesShown); ++i) {
      shapes.AddRow({Thousands(by_count[i].second), by_count[i].first});
    }
    PrintOut("%s", shapes.ToString());
    if (by_count.size() > kShapesShown) {
      PrintOut("and %d more shapes\n", by_count.size() - kShapesShown);
    }
    PrintOut("\n");
  }
  PrintOut("%s of %s pods unscheduled (%d without GPU), %.2f s of scheduling\n",
           Thousands(result.unscheduled), Thousands(static_cast<int64_t>(result.decisions.size())),
           result.cpu_pods_unscheduled, result.seconds);
}

void PrintArrivalsCsv(const TraceResult& result) {
  PrintOut("arrived,allocation,fragmentation,fragmentation_of_idle,unscheduled\n");
  for (const TraceColumn& column : result.columns) {
    PrintOut("%d,%.2f,%.2f,%.4f,%d\n", column.arrived, column.allocation, column.fragmentation,
             column.fragmentation_of_idle, column.unscheduled);
  }
}

void WriteArrivals(const TraceResult& result, JsonWriter& json) {
  json.Key("columns").BeginArray();
  for (const TraceColumn& column : result.columns) {
    json.BeginObject().Key("arrived").Int(column.arrived);
    json.Key("allocation").Double(column.allocation);
    json.Key("fragmentation").Double(column.fragmentation);
    json.Key("fragmentation_of_idle").Double(column.fragmentation_of_idle);
    json.Key("unscheduled").Int(column.unscheduled).EndObject();
  }
  json.EndArray().Key("unscheduled_shapes").BeginObject();
  for (const auto& [shape, count] : ShapesByCount(result)) json.Key(shape).Int(count);
  json.EndObject().Key("pods").Int(static_cast<int64_t>(result.decisions.size()));
  json.Key("cpu_pods_unscheduled").Int(result.cpu_pods_unscheduled);
}

// --- Times ---

void PrintTimes(const TraceResult& result) {
  TextTable table({"DAY", "ALLOCATED %", "FRAGMENTED %", "CPU %", "RUNNING", "WAITING"});
  for (const TraceMoment& moment : result.moments) {
    table.AddRow({absl::StrFormat("%.1f", static_cast<double>(moment.seconds) / 86400),
                  Percent(moment.allocation), Percent(moment.fragmentation), Percent(moment.cpu),
                  Thousands(moment.running), Thousands(moment.waiting)});
  }
  PrintOut("%s\n", table.ToString());
  const TraceResult::Delays& delays = result.delays;
  PrintOut(
      "allocated on average %.2f %%; queueing delay mean %.1f s, p50 %.0f, p90 %.0f, p99 %.0f, max "
      "%.0f s\n",
      result.mean_allocation, delays.mean, delays.p50, delays.p90, delays.p99, delays.max);
  PrintOut("%s pods never placed, %.2f s of wall time\n", Thousands(result.unscheduled),
           result.seconds);
}

void PrintTimesCsv(const TraceResult& result) {
  PrintOut("seconds,allocation,fragmentation,cpu,running,waiting\n");
  for (const TraceMoment& moment : result.moments) {
    PrintOut("%d,%.2f,%.2f,%.2f,%d,%d\n", moment.seconds, moment.allocation, moment.fragmentation,
             moment.cpu, moment.running, moment.waiting);
  }
}

void WriteTimes(const TraceResult& result, JsonWriter& json) {
  json.Key("moments").BeginArray();
  for (const TraceMoment& moment : result.moments) {
    json.BeginObject().Key("seconds").Int(moment.seconds);
    json.Key("allocation").Double(moment.allocation);
    json.Key("fragmentation").Double(moment.fragmentation);
    json.Key("cpu").Double(moment.cpu);
    json.Key("running").Int(moment.running).Key("waiting").Int(moment.waiting).EndObject();
  }
  const TraceResult::Delays& delays = result.delays;
  json.EndArray().Key("delay_seconds").BeginObject();
  json.Key("mean").Double(delays.mean).Key("p50").Double(delays.p50);
  json.Key("p90").Double(delays.p90).Key("p99").Double(delays.p99);
  json.Key("max").Double(delays.max).EndObject();
  json.Key("mean_allocation").Double(result.mean_allocation);
}

bool WriteDecisions(const std::string& path, const TraceResult& result) {
  std::ofstream file(path);
  file << "event,pod_row,node,gpus\n";
  for (size_t i = 0; i < result.decisions.size(); ++i) {
    const TraceDecision& decision = result.decisions[i];
    file << i << ',' << decision.pod << ',' << decision.node << ',' << decision.cards << '\n';
  }
  file.close();
  if (!file) PrintErrorF("%s could not be written", path);
  return static_cast<bool>(file);
}

}  // namespace

int RunTrace(const CommandOptions& options, const Registry& registry) {
  std::optional<KubeSchedulerConfiguration> configuration = ReadConfiguration(options, registry);
  if (!configuration.has_value()) return 1;
  const absl::StatusOr<OpenbTrace> trace = ReadOpenb(options.data, options.list, options.seed);
  if (!trace.ok()) {
    PrintErrorF("%s", trace.status().message());
    return 1;
  }
  Progress progress;
  TraceOptions run{
      .configuration = *std::move(configuration),
      .registry = &registry,
      .until_percent = options.until_percent,
      .progress = [&progress](int64_t arrived) {
        progress.Show([&] { return absl::StrCat("trace: ", Thousands(arrived), " pods arrived"); });
      }};
  int64_t end = 1;
  for (const OpenbPod& pod : trace->pods) end = std::max(end, pod.deleted);
  const absl::StatusOr<TraceResult> result =
      options.times ? RunTimes(*trace, std::move(run), end / kMomentsWanted)
                    : RunArrivals(*trace, std::move(run));
  progress.Clear();
  if (!result.ok()) {
    PrintErrorF("%s", result.status().message());
    return 1;
  }
  if (!options.decisions.empty() && !WriteDecisions(options.decisions, *result)) return 1;
  const TroubleReport troubles{result->troubles, result->unconfirmed};
  if (options.output == OutputFormat::kJson) {
    JsonWriter json;
    json.BeginObject().Key("list").String(options.list);
    json.Key("seed").Int(static_cast<int64_t>(options.seed));
    options.times ? WriteTimes(*result, json) : WriteArrivals(*result, json);
    json.Key("unscheduled").Int(result->unscheduled);
    troubles.WriteTo(json);
    json.Key("seconds").Double(result->seconds).EndObject();
    PrintOut("%s\n", json.text());
  } else if (options.output == OutputFormat::kCsv) {
    options.times ? PrintTimesCsv(*result) : PrintArrivalsCsv(*result);
  } else {
    options.times ? PrintTimes(*result) : PrintArrivals(*result);
    PrintOut("%s", troubles.ToTable());
  }
  return troubles.ExitStatus(0);
}

}  // namespace berth
