// SPDX-License-Identifier: Apache-2.0
// Implementation of scenario_reader.h: everything but the expectations.
#include "testing/scenario_reader.h"

#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/input_file.h"
#include "berth/api/run_time.h"
#include "berth/api/time.h"
#include "testing/object_patch.h"

namespace berth::testing {
namespace {

// `name` as it is if it begins at the root, or from the folder of `file`.
std::string PathFrom(const std::string& file, const std::string& name) {
  if (absl::StartsWith(name, "/")) return name;
  const size_t slash = file.rfind('/');
  return absl::StrCat(slash == std::string::npos ? "." : file.substr(0, slash), "/", name);
}

bool IsFileName(absl::string_view text) {
  return !absl::StrContains(text, '\n') &&
         (absl::EndsWith(text, ".yaml") || absl::EndsWith(text, ".json") ||
          absl::EndsWith(text, ".jsonl"));
}

}  // namespace

// --- Typed reading -------------------------------------------------------------------------------

std::string WantedCount::ToString() const {
  return absl::StrCat(relation == '=' ? "" : relation == '>' ? "at least " : "at most ", number);
}

void ScenarioReader::Report(SourceLocation at, absl::string_view message) {
  problems_.AddError(at, "", std::string(message));
}

std::string ScenarioReader::Text(Value value, absl::string_view what) {
  if (value.IsMap() || value.IsSequence() || value.IsNull()) {
    Report(value.where(), absl::StrCat(what, " is a text, not ", value.KindText()));
    return "";
  }
  return std::string(value.text());
}

int64_t ScenarioReader::Number(Value value, absl::string_view what, int64_t at_least) {
  const std::optional<int64_t> number = value.AsInt64();
  if (number.has_value() && *number >= at_least) return *number;
  Report(value.where(), absl::StrCat(what, " is a number, ", at_least, " or more"));
  return at_least;
}

double ScenarioReader::Probability(Value value, absl::string_view what) {
  const std::optional<double> number = value.AsDouble();
  if (number.has_value() && *number >= 0 && *number <= 1) return *number;
  Report(value.where(), absl::StrCat(what, " is a number from 0 to 1"));
  return 0;
}

bool ScenarioReader::Truth(Value value, absl::string_view what) {
  const std::optional<bool> truth = value.AsBool();
  if (!truth.has_value()) Report(value.where(), absl::StrCat(what, " is true or false"));
  return truth.value_or(false);
}

absl::Duration ScenarioReader::Duration(Value value, absl::string_view what) {
  const absl::StatusOr<absl::Duration> duration = ParseDuration(value.text());
  if (duration.ok() && *duration >= absl::ZeroDuration()) return *duration;
  Report(value.where(), absl::StrCat(what, " is a duration such as 90s or 1h30m"));
  return absl::ZeroDuration();
}

std::optional<WantedCount> ScenarioReader::Count(Value value, absl::string_view what) {
  WantedCount wanted;
  absl::string_view text = value.text();
  if (absl::StartsWith(text, ">=") || absl::StartsWith(text, "<=")) {
    wanted.relation = text[0];
    text = absl::StripAsciiWhitespace(text.substr(2));
  }
  if (!value.IsMap() && !value.IsSequence() && absl::SimpleAtoi(text, &wanted.number)) {
    return wanted;
  }
  Report(value.where(), absl::StrCat(what, " is a number, \">= N\" or \"<= N\""));
  return std::nullopt;
}

ScenarioReader::Texts ScenarioReader::List(Value value, absl::string_view what) {
  Texts texts;
  if (value.IsSequence()) {
    for (const Value element : value.elements()) {
      texts.emplace_back(Text(element, what), element.where());
    }
  } else {
    texts.emplace_back(Text(value, what), value.where());
  }
  return texts;
}

std::string ScenarioReader::PodKey(absl::string_view name) {
  return absl::StrContains(name, '/') ? std::string(name) : absl::StrCat("default/", name);
}

ScenarioReader::Texts ScenarioReader::Pods(Value value, absl::string_view what) {
  Texts pods = List(value, what);
  for (auto& [name, at] : pods) name = PodKey(name);
  return pods;
}

void ScenarioReader::ForEach(Value map, absl::string_view what,
                             const std::function<void(const Value::Item&)>& visit) {
  if (!map.IsMap()) {
    return Report(map.where(), absl::StrCat(what, " is a map, not ", map.KindText()));
  }
  std::set<absl::string_view> seen;
  for (const Value::Item& item : map.items()) {
    if (!seen.insert(item.key).second) {
      Report(item.where, absl::StrCat(item.key, " stands here twice"));
    }
    visit(item);
  }
}

std::optional<ObjectName> ScenarioReader::Name(absl::string_view text, SourceLocation at) {
  const size_t space = text.find(' ');
  for (const Kind kind : AllKinds()) {
    if (space == absl::string_view::npos) continue;
    const absl::string_view named = text.substr(0, space);
    if (named != KindName(kind) && named != absl::StrCat(KindName(kind), ".", ApiGroup(kind))) {
      continue;
    }
    const absl::string_view name = absl::StripAsciiWhitespace(text.substr(space));
    if (IsNamespaced(kind)) return ObjectName{kind, PodKey(name)};
    return ObjectName{kind, std::string(name)};
  }
  Report(at, absl::StrCat("\"", text, "\" is not \"Kind namespace/name\" of a kind that a ",
                          "scheduler reads"));
  return std::nullopt;
}

// Problems of a text within the file. Of one that begins on the line below, as after "|", the line
// and the column are those of the file.
void ScenarioReader::ReportWithin(Value text, const Problems& problems, Problems& to) const {
  const size_t first = static_cast<size_t>(text.where().line);  // the line after the value begins
  const std::vector<std::string> inner = absl::StrSplit(text.text(), '\n');
  for (const Problem& problem : problems) {
    Problem placed = problem;
    placed.where = text.where();
    const size_t row = problem.where.line < 1 ? 0 : static_cast<size_t>(problem.where.line) - 1;
    if (problem.where.line > 0 && row < inner.size() && first + row < lines_.size() &&
        absl::EndsWith(lines_[first + row], inner[row])) {
      const size_t indent = lines_[first + row].size() - inner[row].size();
      placed.where.line = static_cast<int>(first + row) + 1;
      placed.where.column = problem.where.column + static_cast<int>(indent);
    }
    to.Add(std::move(placed));
  }
}

// --- The scenario --------------------------------------------------------------------------------

Script ScenarioReader::Read(Value scenario) {
  Script script;
  script.configuration = DefaultConfiguration(registry_);
  expects_refusal_ = static_cast<bool>(scenario.Find("refused"));
  if (!scenario.IsMap()) {
    Report(scenario.where(), "a scenario is a map with name, config and steps");
    return script;
  }
  ForEach(scenario, "a scenario", [&](const Value::Item& item) {
    if (item.key == "name") {
      script.name = Text(item.value, "name");
    } else if (item.key == "description") {
      Text(item.value, "description");
    } else if (item.key == "config") {
      ReadConfiguration(item.value, script);
    } else if (item.key == "refused") {
      if (scenario.Find("steps")) Report(item.where, "what is refused has no steps");
    } else if (item.key == "steps" && item.value.IsSequence()) {
      for (const Value step : item.value.elements()) ReadStep(step, script);
    } else if (item.key == "steps") {
      Report(item.value.where(), absl::StrCat("steps is a list, not ", item.value.KindText()));
    } else {
      Report(item.where, absl::StrCat("unknown field ", item.key));
    }
  });
  if (expects_refusal_) {
    ReadRefused(scenario.Find("refused"), script);
  } else if (!scenario.Find("steps")) {
    Report(scenario.where(), "steps are missing");
  }
  return script;
}

// The configuration: its text, or the name of a file.
bool ScenarioReader::ReadConfiguration(Value config, Script& script) {
  const std::string text = Text(config, "config");
  if (text.empty()) return false;
  const bool is_file = !absl::StrContains(text, '\n');
  if (is_file && !options_.files) {
    Report(config.where(), "this scenario may not name files");
    return false;
  }
  const std::string path = PathFrom(file_, text);
  const absl::StatusOr<std::string> content = is_file ? ReadInputFile(path) : std::string(text);
  if (!content.ok()) {
    Report(config.where(), absl::StrCat("cannot read ", path, ": ", content.status().message()));
    return false;
  }
  LoadedConfiguration loaded = ParseConfiguration(*content, is_file ? path : file_, registry_);
  Problems& problems = expects_refusal_ ? refusal_ : problems_;
  if (is_file) {
    for (const Problem& problem : loaded.problems) problems.Add(problem);
  } else {
    ReportWithin(config, loaded.problems, problems);
  }
  script.configuration = std::move(loaded.configuration);
  return loaded.problems.ok();
}

// A list of texts: each is part of one of the configuration's problems, and there are no others.
void ScenarioReader::ReadRefused(Value refused, Script& script) {
  script.refused = true;
  refusal_.SortByLocation();
  std::vector<bool> wanted(refusal_.size(), false);
  for (const auto& [text, at] : List(refused, "refused")) {
    bool found = false;
    for (size_t i = 0; i < refusal_.size(); ++i) {
      if (refusal_.list()[i].severity != Severity::kError) continue;
      if (!absl::StrContains(refusal_.list()[i].ToString(), text)) continue;
      found = wanted[i] = true;
    }
    if (!found) Report(at, absl::StrCat("the configuration has no problem with \"", text, "\""));
  }
  for (size_t i = 0; i < refusal_.size(); ++i) {
    if (!wanted[i]) problems_.Add(refusal_.list()[i]);
  }
}

void ScenarioReader::ReadStep(Value step, Script& script) {
  ScenarioStep& read = script.steps.emplace_back();
  read.where = step.where();
  if (!step.IsMap() || step.size() == 0) {
    return Report(step.where(), "a step is a map, such as {settle: true}");
  }
  ForEach(step, "a step", [&](const Value::Item& item) {
    if (item.key == "at") {
      read.at = Duration(item.value, "at");
      read.where = item.where;
    } else if (item.key == "expect") {
      ReadExpectations(item.value, read.actions);
    } else if (!ReadObjectOperation(step, item, read.actions) &&
               !ReadNodeOperation(item, read.actions) && !ReadBindOperation(item, read.actions) &&
               !ReadTimeOperation(item, read.actions)) {
      Report(item.where, absl::StrCat("unknown step ", item.key));
    }
  });
}

// --- Objects -------------------------------------------------------------------------------------

ScenarioTemplate ScenarioReader::Template(Value value) {
  ScenarioTemplate made{.text = Text(value, "manifests"), .file = file_, .admission = admission_};
  if (!IsFileName(made.text)) return made;
  if (!options_.files) {
    Report(value.where(), "this scenario may not name files");
    made.text.clear();
    return made;
  }
  made.file = PathFrom(file_, made.text);
  absl::StatusOr<std::string> content = ReadInputFile(made.file);
  if (!content.ok()) {
    Report(value.where(),
           absl::StrCat("cannot read ", made.file, ": ", content.status().message()));
  }
  made.text = std::move(content).value_or("");
  return made;
}

std::vector<Object> ScenarioReader::Objects(const ScenarioTemplate& made, int64_t number,
                                            Value at) {
  Problems problems;
  std::vector<Object> objects = MakeCopy(made, number, problems);
  // What is said of the first copy goes for all.
  if (number > 0 && problems.ok()) return objects;
  if (made.file == file_) {
    ReportWithin(at, problems, problems_);
  } else {
    for (const Problem& problem : problems) problems_.Add(problem);
  }
  return objects;
}

// {create: text, copies: N, as: name, runTime: 30s}; "$(i)" stands for 0 .. N-1.
void ScenarioReader::ReadCreate(Value step, std::vector<ScenarioAction>& actions) {
  const Value text = step.Find("create");
  const Value copies = step.Find("copies");
  ScenarioTemplate made = Template(text);
  if (const Value run_time = step.Find("runTime")) {
    const absl::StatusOr<absl::Duration> duration = ParseRunTime(run_time.text());
    if (duration.ok()) {
      made.run_time = DurationToString(*duration);
    } else {
      Report(run_time.where(), "runTime is a duration of more than 0 such as 90s or 1h30m");
    }
  }
  const int64_t count = copies ? Number(copies, "copies", step.Find("as") ? 0 : 1) : 1;
  copies_ += count;
  if (copies_ > options_.max_objects) {
    return Report(copies ? copies.where() : text.where(),
                  absl::StrCat("more than ", options_.max_objects, " copies"));
  }
  std::vector<Object> objects;
  const int errors = problems_.errors();
  for (int64_t i = 0; i < count && problems_.errors() == errors; ++i) {
    for (Object& object : Objects(made, i, text)) objects.push_back(std::move(object));
  }
  if (const Value name = step.Find("as")) {
    if (count == 0) Objects(made, 0, text);
    actions.push_back([set = Text(name, "as"), made, count](ScenarioRun& run) {
      run.DefineSet(set, made, count);
    });
  }
  actions.push_back([at = text.where(), objects = std::move(objects)](ScenarioRun& run) {
    run.Create(at, objects);
  });
}

bool ScenarioReader::ReadObjectOperation(Value step, const Value::Item& item,
                                         std::vector<ScenarioAction>& actions) {
  const auto goes_with = [&](absl::string_view other) {
    if (!step.Find(other)) Report(item.where, absl::StrCat(item.key, " goes with ", other));
  };
  if (item.key == "create") {
    ReadCreate(step, actions);
  } else if (item.key == "copies" || item.key == "as" || item.key == "runTime") {
    goes_with("create");
  } else if (item.key == "gracefully") {
    goes_with("delete");
    Truth(item.value, "gracefully");
  } else if (item.key == "delete") {
    const Value gracefully = step.Find("gracefully");
    const auto grace = gracefully && gracefully.AsBool().value_or(false)
                           ? ScenarioRun::Grace::kAsThePodSays
                           : ScenarioRun::Grace::kNone;
    for (const auto& [text, at] : List(item.value, "delete")) {
      const std::optional<ObjectName> name = Name(text, at);
      if (!name.has_value()) continue;
      actions.push_back(
          [at = at, name = *name, grace](ScenarioRun& run) { run.Delete(at, name, grace); });
    }
  } else if (item.key == "update") {
    ForEach(item.value, "update", [&](const Value::Item& patch) {
      const std::optional<ObjectName> name = Name(patch.key, patch.where);
      if (!name.has_value()) return;
      CheckPatch(name->kind, patch.value, problems_);
      actions.push_back([at = patch.where, name = *name, value = patch.value](ScenarioRun& run) {
        run.Update(at, name, value);
      });
    });
  } else if (item.key == "scale") {
    ForEach(item.value, "scale", [&](const Value::Item& set) {
      const int64_t copies = Number(set.value, "the number of copies", 0);
      actions.push_back([at = set.where, name = std::string(set.key), copies](ScenarioRun& run) {
        run.Scale(at, name, copies);
      });
    });
  } else if (item.key == "finish") {
    for (const auto& [pod, at] : Pods(item.value, "finish")) {
      actions.push_back([at = at, pod = pod](ScenarioRun& run) { run.Finish(at, pod); });
    }
  } else {
    return false;
  }
  return true;
}

// --- Nodes ---------------------------------------------------------------------------------------

bool ScenarioReader::ReadNodeOperation(const Value::Item& item,
                                       std::vector<ScenarioAction>& actions) {
  using Operation = void (*)(ScenarioRun&, SourceLocation, const std::string&);
  static const auto& operations = *new std::map<absl::string_view, Operation>{
      {"cordon",
       [](ScenarioRun& run, SourceLocation at, const std::string& node) {
         run.UpdateNode(at, node, "cordoned",
                        [](api::Node& n) { n.mutable_spec()->set_unschedulable(true); });
       }},
      {"uncordon",
       [](ScenarioRun& run, SourceLocation at, const std::string& node) {
         run.UpdateNode(at, node, "uncordoned",
                        [](api::Node& n) { n.mutable_spec()->set_unschedulable(false); });
       }},
      {"drain",
       [](ScenarioRun& run, SourceLocation at, const std::string& node) { run.Drain(at, node); }},
      {"loseNode", [](ScenarioRun& run, SourceLocation at,
                      const std::string& node) { run.LoseNode(at, node); }},
      {"failNode", [](ScenarioRun& run, SourceLocation at,
                      const std::string& node) { run.FailNode(at, node); }},
      {"restoreNode", [](ScenarioRun& run, SourceLocation at,
                         const std::string& node) { run.RestoreNode(at, node); }},
  };
  if (const auto operation = operations.find(item.key); operation != operations.end()) {
    for (const auto& [node, at] : List(item.value, item.key)) {
      actions.push_back([at = at, node = node, operation = operation->second](ScenarioRun& run) {
        operation(run, at, node);
      });
    }
    return true;
  }
  if (item.key == "taint") {
    ReadTaints(item.value, actions);
  } else if (item.key == "untaint") {
    ForEach(item.value, "untaint", [&](const Value::Item& node) {
      for (const auto& [key, at] : List(node.value, "the key of a taint")) {
        actions.push_back([at = at, name = std::string(node.key), key = key](ScenarioRun& run) {
          run.UpdateNode(at, name, absl::StrCat("untainted ", key), [&](api::Node& n) {
            auto* taints = n.mutable_spec()->mutable_taints();
            for (int i = taints->size() - 1; i >= 0; --i) {
              if (taints->Get(i).key() == key) taints->DeleteSubrange(i, 1);
            }
          });
        });
      }
    });
  } else {
    return false;
  }
  return true;
}

// {node: "key=value:Effect"}, or a list of such.
void ScenarioReader::ReadTaints(Value taints, std::vector<ScenarioAction>& actions) {
  ForEach(taints, "taint", [&](const Value::Item& node) {
    for (const auto& [text, at] : List(node.value, "a taint")) {
      const size_t colon = text.rfind(':');
      const size_t equals = text.find('=');
      const std::string effect = colon == std::string::npos ? "" : text.substr(colon + 1);
      if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
        Report(at, absl::StrCat("\"", text, "\" is not \"key=value:NoSchedule\", nor with ",
                                "PreferNoSchedule or NoExecute"));
        continue;
      }
      api::Taint taint;
      taint.set_key(text.substr(0, std::min(equals, colon)));
      if (equals < colon) taint.set_value(text.substr(equals + 1, colon - equals - 1));
      taint.set_effect(effect);
      actions.push_back(
          [at = at, name = std::string(node.key), text = text, taint](ScenarioRun& run) {
            run.UpdateNode(at, name, absl::StrCat("tainted ", text),
                           [&](api::Node& n) { *n.mutable_spec()->add_taints() = taint; });
          });
    }
  });
}

// --- Bindings ------------------------------------------------------------------------------------

bool ScenarioReader::ReadBindOperation(const Value::Item& item,
                                       std::vector<ScenarioAction>& actions) {
  const auto pod_of = [](const Value::Item& entry) {
    return entry.key == "*" ? std::string("*") : PodKey(entry.key);
  };
  if (item.key == "failBinds") {
    ForEach(item.value, "failBinds", [&](const Value::Item& entry) {
      const int64_t times = Number(entry.value, "how often a binding fails", 0);
      actions.push_back(
          [pod = pod_of(entry), times](ScenarioRun& run) { run.FailBinds(pod, times); });
    });
  } else if (item.key == "slowBinds") {
    ForEach(item.value, "slowBinds", [&](const Value::Item& entry) {
      const absl::Duration delay = Duration(entry.value, "how long a binding takes");
      actions.push_back(
          [pod = pod_of(entry), delay](ScenarioRun& run) { run.SlowBinds(pod, delay); });
    });
  } else if (item.key == "conflict") {
    ForEach(item.value, "conflict", [&](const Value::Item& entry) {
      std::vector<Object> objects;
      if (!entry.value.IsNull()) objects = Objects(Template(entry.value), 0, entry.value);
      actions.push_back([pod = pod_of(entry), objects = std::move(objects)](ScenarioRun& run) {
        run.Conflict(pod, objects);
      });
    });
  } else if (item.key == "bind") {
    ForEach(item.value, "bind", [&](const Value::Item& entry) {
      const std::string node = Text(entry.value, "a node's name");
      actions.push_back([at = entry.where, pod = PodKey(entry.key), node](ScenarioRun& run) {
        run.UpdatePod(at, pod, absl::StrCat("bound to ", node, " by another scheduler"),
                      [&](api::Pod& changed) {
                        changed.mutable_spec()->set_node_name(node);
                        changed.mutable_status()->set_phase("Running");
                      });
      });
    });
  } else if (item.key == "faults") {
    ReadFaults(item.value, actions);
  } else if (item.key == "restart") {
    if (Truth(item.value, "restart")) actions.push_back(&ScenarioRun::Restart);
  } else if (item.key == "relist") {
    if (Truth(item.value, "relist")) {
      actions.push_back([](ScenarioRun& run) { run.cluster().Relist(); });
    }
  } else {
    return false;
  }
  return true;
}

void ScenarioReader::ReadFaults(Value value, std::vector<ScenarioAction>& actions) {
  ClusterFaults faults;
  faults.seed = 1;
  ForEach(value, "faults", [&](const Value::Item& item) {
    const std::map<absl::string_view, double*> chances = {
        {"bindFailure", &faults.bind_failure},
        {"lostAnswer", &faults.lost_answer},
        {"slowBind", &faults.slow_bind},
        {"delayedEvent", &faults.delayed_event},
        {"duplicatedEvent", &faults.duplicated_event},
        {"relist", &faults.relist}};
    const std::map<absl::string_view, absl::Duration*> durations = {
        {"minBindDelay", &faults.min_bind_delay},
        {"maxBindDelay", &faults.max_bind_delay},
        {"maxEventDelay", &faults.max_event_delay}};
    if (const auto chance = chances.find(item.key); chance != chances.end()) {
      *chance->second = Probability(item.value, item.key);
    } else if (const auto duration = durations.find(item.key); duration != durations.end()) {
      *duration->second = Duration(item.value, item.key);
    } else if (item.key == "seed") {
      faults.seed = static_cast<uint64_t>(Number(item.value, "seed", 0));
    } else {
      Report(item.where, absl::StrCat("unknown fault ", item.key));
    }
  });
  if (faults.min_bind_delay > faults.max_bind_delay) faults.min_bind_delay = faults.max_bind_delay;
  actions.push_back([faults](ScenarioRun& run) { run.cluster().SetFaults(faults); });
}

// --- Time ----------------------------------------------------------------------------------------

bool ScenarioReader::ReadTimeOperation(const Value::Item& item,
                                       std::vector<ScenarioAction>& actions) {
  if (item.key == "advance") {
    const absl::Duration by = Duration(item.value, "advance");
    actions.push_back([at = item.value.where(), by](ScenarioRun& run) { run.Advance(at, by); });
  } else if (item.key == "settle") {
    if (Truth(item.value, "settle")) {
      actions.push_back([](ScenarioRun& run) { run.Settle(); });
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace berth::testing
