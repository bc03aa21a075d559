// SPDX-License-Identifier: Apache-2.0
// Reads scenarios: every key, type and value is checked before anything runs.
#ifndef BERTH_SRC_TESTING_SCENARIO_READER_H_
#define BERTH_SRC_TESTING_SCENARIO_READER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/configuration.h"
#include "testing/scenario_run.h"

namespace berth::testing {

struct Script {
  std::string name;
  bool refused = false;  // its configuration was to be refused, and was: there is nothing to run
  KubeSchedulerConfiguration configuration;
  std::vector<ScenarioStep> steps;
};

// A count that is asked for: 3, ">= 3" or "<= 3".
struct WantedCount {
  char relation = '=';  // '=', '>' for at least, '<' for at most
  int64_t number = 0;
  bool Holds(int64_t count) const {
    return relation == '=' ? count == number : relation == '>' ? count >= number : count <= number;
  }
  std::string ToString() const;
};

// Typed reading with problems. What cannot be read is reported and left out.
class ScenarioReader {
 public:
  // `lines` are those of the file, for the places of what is wrong in texts within it.
  ScenarioReader(std::string file, std::vector<std::string> lines, const Registry& registry,
                 const ScenarioOptions& options, Problems& problems)
      : file_(std::move(file)),
        lines_(std::move(lines)),
        registry_(registry),
        options_(options),
        problems_(problems) {}

  Script Read(Value scenario);

  void Report(SourceLocation at, absl::string_view message);
  std::string Text(Value value, absl::string_view what);
  int64_t Number(Value value, absl::string_view what, int64_t at_least);
  double Probability(Value value, absl::string_view what);
  bool Truth(Value value, absl::string_view what);
  absl::Duration Duration(Value value, absl::string_view what);
  std::optional<WantedCount> Count(Value value, absl::string_view what);
  // One text, or a list of them, each with its place.
  using Texts = std::vector<std::pair<std::string, SourceLocation>>;
  Texts List(Value value, absl::string_view what);
  // The same for pods: "p" is "default/p".
  Texts Pods(Value value, absl::string_view what);
  static std::string PodKey(absl::string_view name);
  // Calls `visit` for each entry of a map.
  void ForEach(Value map, absl::string_view what,
               const std::function<void(const Value::Item&)>& visit);
  std::optional<ObjectName> Name(absl::string_view text, SourceLocation at);
  // Kinds of `text` and their objects, checked; reports what is wrong at its place in the file.
  ScenarioTemplate Template(Value text);
  std::vector<Object> Objects(const ScenarioTemplate& made, int64_t number, Value at);

  // --- expectation_reader.cc ---
  void ReadExpectations(Value expectations, std::vector<ScenarioAction>& actions);

 private:
  bool ReadConfiguration(Value config, Script& script);
  void ReadRefused(Value refused, Script& script);
  void ReadStep(Value step, Script& script);
  void ReadCreate(Value step, std::vector<ScenarioAction>& actions);
  bool ReadNodeOperation(const Value::Item& item, std::vector<ScenarioAction>& actions);
  bool ReadBindOperation(const Value::Item& item, std::vector<ScenarioAction>& actions);
  bool ReadObjectOperation(Value step, const Value::Item& item,
                           std::vector<ScenarioAction>& actions);
  bool ReadTimeOperation(const Value::Item& item, std::vector<ScenarioAction>& actions);
  void ReadTaints(Value taints, std::vector<ScenarioAction>& actions);
  void ReadFaults(Value faults, std::vector<ScenarioAction>& actions);
  void ReportWithin(Value text, const Problems& problems, Problems& to) const;

  const std::string file_;
  const std::vector<std::string> lines_;
  const Registry& registry_;
  const ScenarioOptions& options_;
  Problems& problems_;
  const std::shared_ptr<Admission> admission_ = std::make_shared<Admission>();
  int64_t copies_ = 0;
  bool expects_refusal_ = false;
  Problems refusal_;  // what is wrong with the configuration, if something is expected to be
};

}  // namespace berth::testing

#endif  // BERTH_SRC_TESTING_SCENARIO_READER_H_
