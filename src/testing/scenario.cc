// SPDX-License-Identifier: Apache-2.0
// Implementation of scenario.h: from a file to a result.
#include "berth/testing/scenario.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/input_file.h"
#include "berth/api/time.h"
#include "berth/api/value.h"
#include "berth/simulation.h"
#include "testing/scenario_reader.h"
#include "testing/scenario_run.h"

namespace berth::testing {
namespace {

std::string ToText(const std::vector<ScenarioEvent>& events) {
  std::string text;
  for (const ScenarioEvent& event : events) {
    absl::StrAppend(&text, "t=", DurationToString(event.time), " ", event.object, " ", event.what,
                    "\n");
  }
  return text;
}

void AddProblems(const Problems& problems, ScenarioResult& result) {
  result.failures.clear();
  result.warnings.clear();
  for (const Problem& problem : problems) {
    const bool is_error = problem.severity == Severity::kError;
    (is_error ? result.failures : result.warnings).push_back(problem.ToString());
  }
}

}  // namespace

ScenarioResult RunScenario(absl::string_view text, const std::string& file,
                           const Registry& registry, const ScenarioOptions& options) {
  ScenarioResult result;
  result.file = file;
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(text, file, problems);
  if (problems.ok() && documents.size() != 1) {
    problems.AddError({Symbol::Intern(file)}, "", "a scenario is one YAML document");
  }
  AddProblems(problems, result);
  if (!problems.ok()) return result;

  Script script = ScenarioReader(file, absl::StrSplit(text, '\n'), registry, options, problems)
                      .Read(documents.front().root());
  result.name = script.name;
  AddProblems(problems, result);
  if (!problems.ok() || script.refused) return result;
  absl::StatusOr<std::unique_ptr<Simulation>> created =
      Simulation::Create({.configuration = std::move(script.configuration),
                          .registry = &registry,
                          .objects = {},
                          .seed = 1,
                          .start = absl::UnixEpoch(),
                          .bindings_may_sleep = true});
  if (!created.ok()) {
    result.failures.push_back(absl::StrCat(file, ": ", created.status().message()));
    return result;
  }
  ScenarioRun run(**created, options, result);
  run.Run(script.steps);
  created->reset();  // bindings that still sleep end here, and ask the run about their fate
  result.timeline = ToText(result.events);
  return result;
}

ScenarioResult RunScenarioFile(const std::string& path, const Registry& registry,
                               const ScenarioOptions& options) {
  const absl::StatusOr<std::string> text = ReadInputFile(path);
  if (text.ok()) return RunScenario(*text, path, registry, options);
  ScenarioResult result;
  result.file = path;
  result.failures.push_back(absl::StrCat(path, ": cannot be read: ", text.status().message()));
  return result;
}

}  // namespace berth::testing
