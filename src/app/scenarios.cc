// SPDX-License-Identifier: Apache-2.0
// `berth simulate --scenario`: runs scenarios, and says which hold and what happened in the others.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "api/input_file.h"
#include "api/json.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/interrupt.h"
#include "app/terminal.h"
#include "app/trouble_report.h"
#include "berth/api/time.h"
#include "berth/testing/scenario.h"

namespace berth {
namespace {

using testing::ScenarioEvent;
using testing::ScenarioResult;

constexpr size_t kEventsShown = 200;  // of a run that failed

// The files of `paths`, folders with all *.yaml below them; false, with a message, if one is not
// there.
bool FindScenarios(const std::vector<std::string>& paths, std::vector<std::string>& files) {
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      if (!std::filesystem::exists(path, error)) {
        PrintErrorF("%s: there is no such file or folder", OneLine(path));
        return false;
      }
      files.push_back(path);
      continue;
    }
    Problems problems;
    const std::vector<std::string> found = FindInputFiles(path, {".yaml", ".yml"}, problems);
    PrintProblems(problems);
    if (!problems.ok()) return false;
    if (found.empty()) {
      PrintErrorF("%s: has no scenarios (*.yaml)", OneLine(path));
      return false;
    }
    files.insert(files.end(), found.begin(), found.end());
  }
  return true;
}

TroubleReport TroublesOf(const ScenarioResult& result) {
  return {result.figures.troubles, result.figures.unconfirmed};
}

// --- For people ---

void PrintTimeline(const std::vector<ScenarioEvent>& events) {
  if (events.empty()) return;
  PrintOut("  what happened:\n");
  const size_t first = events.size() > kEventsShown ? events.size() - kEventsShown : 0;
  if (first > 0) PrintOut("    (%s earlier lines)\n", Thousands(static_cast<int64_t>(first)));
  size_t widest_time = 0;
  size_t widest_object = 0;
  for (size_t i = first; i < events.size(); ++i) {
    widest_time = std::max(widest_time, DurationToString(events[i].time).size());
    widest_object = std::max(widest_object, OneLine(events[i].object).size());
  }
  for (size_t i = first; i < events.size(); ++i) {
    PrintOut("    %*s  %-*s  %s\n", static_cast<int>(widest_time), DurationToString(events[i].time),
             static_cast<int>(widest_object), OneLine(events[i].object), OneLine(events[i].what));
  }
}

void PrintResult(const ScenarioResult& result) {
  const testing::ScenarioFigures& figures = result.figures;
  PrintOut("%s  %s%s\n",
           result.interrupted ? Styled(Style::kBad, "ENDED")
           : result.ok()      ? Styled(Style::kGood, "ok   ")
                              : Styled(Style::kBad, "FAIL "),
           OneLine(result.file),
           result.name.empty() ? "" : absl::StrCat(": ", OneLine(result.name)));
  PrintOut("       %s pods, %s on nodes, %s pending, %s attempts, %s evictions, in %s\n",
           Thousands(figures.pods), Thousands(figures.bound), Thousands(figures.pending),
           Thousands(figures.attempts), Thousands(figures.evictions),
           DurationToString(figures.simulated));
  PrintOut("%s", TroublesOf(result).ToTable());
  for (const std::string& warning : result.warnings) {
    PrintOut("  %s\n", Styled(Style::kDim, OneLine(warning)));
  }
  if (result.ok()) return;
  for (const std::string& failure : result.failures) PrintOut("  %s\n", OneLine(failure));
  PrintTimeline(result.events);
}

// --- For programs ---

void WriteResult(const ScenarioResult& result, JsonWriter& json) {
  const testing::ScenarioFigures& figures = result.figures;
  json.BeginObject().Key("file").String(result.file).Key("name").String(result.name);
  json.Key("ok").Bool(result.ok());
  if (result.interrupted) json.Key("interrupted").Bool(true);
  json.Key("failures").StringArray(result.failures);
  if (!result.warnings.empty()) json.Key("warnings").StringArray(result.warnings);
  json.Key("figures").BeginObject();
  json.Key("pods").Int(figures.pods).Key("bound").Int(figures.bound);
  json.Key("pending").Int(figures.pending).Key("attempts").Int(figures.attempts);
  json.Key("evictions").Int(figures.evictions);
  json.Key("simulated_seconds").Double(absl::ToDoubleSeconds(figures.simulated)).EndObject();
  TroublesOf(result).WriteTo(json);
  json.Key("pluginCounters").BeginObject();
  for (const auto& [name, value] : figures.plugin_counters) json.Key(name).Int(value);
  json.EndObject();
  json.Key("timeline").BeginArray();
  for (const ScenarioEvent& event : result.events) {
    json.BeginObject().Key("seconds").Double(absl::ToDoubleSeconds(event.time));
    json.Key("object").String(event.object).Key("what").String(event.what).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

int RunScenarios(const CommandOptions& options, const Registry& registry) {
  std::vector<std::string> files;
  if (!FindScenarios(options.scenarios, files)) return 1;
  CatchInterrupts();
  const bool to_json = options.output == OutputFormat::kJson;
  const absl::Time start = absl::Now();
  int64_t passed = 0;
  int64_t failed = 0;
  bool any_faults = false;
  JsonWriter json;
  json.BeginObject().Key("scenarios").BeginArray();
  for (const std::string& file : files) {
    if (Interrupted()) break;
    const ScenarioResult result =
        testing::RunScenarioFile(file, registry, {.interrupted = &Interrupted});
    ++(result.ok() ? passed : failed);
    any_faults |= TroublesOf(result).HasFaults();
    if (to_json) {
      WriteResult(result, json);
    } else {
      PrintResult(result);
    }
  }
  if (to_json) {
    json.EndArray().Key("passed").Int(passed).Key("failed").Int(failed);
    if (Interrupted()) json.Key("interrupted").Bool(true);
    json.EndObject();
    PrintOut("%s\n", json.text());
  } else {
    PrintOut("%s%s of %s scenarios hold, in %s\n",
             Interrupted() ? Styled(Style::kBad, "Interrupted: ") : "", Thousands(passed),
             Thousands(static_cast<int64_t>(files.size())), ShortDuration(absl::Now() - start));
  }
  if (Interrupted()) return kInterruptedStatus;
  if (failed > 0) return 1;
  return any_faults ? kPluginFaultStatus : 0;
}

}  // namespace berth
