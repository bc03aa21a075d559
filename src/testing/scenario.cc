// Implementation of scenario.h.
#include "berth/testing/scenario.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/api/time.h"
#include "berth/api/value.h"
#include "berth/configuration.h"
#include "berth/simulation.h"

namespace berth::testing {
namespace {

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string FolderOf(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// Runs one document.
class ScenarioRun {
 public:
  ScenarioRun(const std::string& file, const Registry& registry, ScenarioResult& result)
      : file_(file), registry_(registry), result_(result) {}

  void Run(Value scenario) {
    if (!scenario.IsMap()) return Fail(scenario, "a scenario is a map with name, config and steps");
    result_.name = std::string(scenario.Find("name").text());
    for (const Value::Item& item : scenario.items()) {
      static const std::set<absl::string_view> kKnown = {"name", "description", "config", "steps"};
      if (!kKnown.contains(item.key)) Fail(item.value, absl::StrCat("unknown field ", item.key));
    }
    if (!Start(scenario)) return;
    if (!scenario.Find("steps").IsSequence()) return Fail(scenario, "steps: a list is needed");
    for (const Value step : scenario.Find("steps").elements()) {
      if (!step.IsMap() || step.size() == 0) {
        Fail(step, "a step is a map: create, delete, finish, advance, settle or expect");
        continue;
      }
      RunStep(step);
    }
  }

 private:
  void Fail(Value at, absl::string_view message) {
    result_.failures.push_back(absl::StrCat(at.where().ToString(), ": ", message));
  }
  void Fail(const Problems& problems) {
    for (const Problem& problem : problems) {
      if (problem.severity == Severity::kError) result_.failures.push_back(problem.ToString());
    }
  }
  void Note(absl::string_view text) {
    absl::StrAppend(&result_.timeline,
                    "t=", DurationToString(simulation_->now() - absl::UnixEpoch()), " ", text,
                    "\n");
  }

  // The configuration: its text, or the name of a file.
  bool Start(Value scenario) {
    const std::string config(scenario.Find("config").text());
    LoadedConfiguration loaded;
    if (config.empty()) {
      loaded.configuration = DefaultConfiguration(registry_);
    } else if (absl::StrContains(config, '\n')) {
      loaded = ParseConfiguration(config, absl::StrCat(file_, " config"), registry_);
    } else {
      loaded = LoadConfigurationFile(absl::StrCat(FolderOf(file_), "/", config), registry_);
    }
    Fail(loaded.problems);
    if (!loaded.problems.ok()) return false;
    absl::StatusOr<std::unique_ptr<Simulation>> created =
        Simulation::Create({.configuration = std::move(loaded.configuration),
                            .registry = &registry_,
                            .objects = {},
                            .seed = 1,
                            .start = absl::UnixEpoch()});
    if (!created.ok()) {
      Fail(scenario, created.status().message());
      return false;
    }
    simulation_ = *std::move(created);
    return true;
  }

  void RunStep(Value step) {
    for (const Value::Item& item : step.items()) {
      if (item.key == "create") {
        Create(item.value, step.Find("copies"));
      } else if (item.key == "copies") {
        if (!step.Find("create")) Fail(item.value, "copies goes with create");
      } else if (item.key == "delete") {
        ForEachName(item.value, [&](const std::string& name) { Delete(item.value, name); });
      } else if (item.key == "finish") {
        ForEachName(item.value, [&](const std::string& name) {
          if (!simulation_->cluster().Finish(name)) {
            Fail(item.value, absl::StrCat("there is no pod ", name));
          }
          Note(absl::StrCat("pod ", name, " finished"));
        });
      } else if (item.key == "failBinds") {
        FailBinds(item.value);
      } else if (item.key == "advance") {
        const absl::StatusOr<absl::Duration> by = ParseDuration(item.value.text());
        if (!by.ok()) {
          Fail(item.value, by.status().message());
          continue;
        }
        simulation_->Advance(*by);
        NoteChanges();
      } else if (item.key == "settle") {
        simulation_->RunUntilQuiet();
        NoteChanges();
      } else if (item.key == "expect") {
        Expect(item.value);
      } else {
        Fail(item.value, absl::StrCat("unknown step ", item.key));
      }
    }
  }

  template <class Visit>
  void ForEachName(Value names, Visit visit) {
    if (names.IsSequence()) {
      for (const Value name : names.elements()) visit(std::string(name.text()));
    } else {
      visit(std::string(names.text()));
    }
  }

  // Manifests as text; with `copies: N` N times, "$(i)" standing for 0 .. N-1. Names a file if it
  // is one line that ends in .yaml, .json or .jsonl.
  void Create(Value manifests, Value copies) {
    std::string text(manifests.text());
    if (!absl::StrContains(text, '\n') &&
        (absl::EndsWith(text, ".yaml") || absl::EndsWith(text, ".json") ||
         absl::EndsWith(text, ".jsonl"))) {
      std::optional<std::string> content = ReadFile(absl::StrCat(FolderOf(file_), "/", text));
      if (!content.has_value()) return Fail(manifests, absl::StrCat("cannot read ", text));
      text = *std::move(content);
    }
    const int64_t count = copies ? copies.AsInt64().value_or(-1) : 1;
    if (count < 1) return Fail(copies, "copies is a number, 1 or more");
    for (int64_t i = 0; i < count; ++i) {
      const std::string copy =
          copies ? absl::StrReplaceAll(text, {{"$(i)", absl::StrCat(i)}}) : text;
      Manifests read = ParseManifest(copy, absl::StrCat(manifests.where().ToString(), " manifests"),
                                     {.admission = &admission_});
      Fail(read.problems);
      for (Object& object : read.objects) {
        Note(absl::StrCat("create ", object.ToString()));
        simulation_->cluster().Set(std::move(object));
      }
    }
  }

  // "Kind namespace/name" or "Kind name".
  void Delete(Value at, const std::string& what) {
    const size_t space = what.find(' ');
    const std::string kind_name = what.substr(0, space);
    for (const Kind kind : AllKinds()) {
      if (KindName(kind) != kind_name || space == std::string::npos) continue;
      if (!simulation_->cluster().Delete(kind, what.substr(space + 1))) {
        Fail(at, absl::StrCat("there is no ", what));
      }
      Note(absl::StrCat("delete ", what));
      return;
    }
    Fail(at, absl::StrCat("\"", what, "\" is not \"Kind namespace/name\""));
  }

  // {pod: how often}: the next bindings of the pod fail.
  void FailBinds(Value faults) {
    auto left = std::make_shared<std::map<std::string, int64_t>>();
    for (const Value::Item& fault : faults.items()) {
      (*left)[std::string(fault.key)] = fault.value.AsInt64().value_or(1);
    }
    simulation_->cluster().SetBindFault([left](const PodReference& pod, const std::string&) {
      const auto it = left->find(absl::StrCat(pod.namespace_name, "/", pod.name));
      if (it == left->end() || it->second-- <= 0) return absl::OkStatus();
      return absl::UnavailableError("the scenario lets this binding fail");
    });
  }

  void NoteChanges() {
    const auto bindings = simulation_->cluster().Bindings();
    for (; noted_bindings_ < bindings.size(); ++noted_bindings_) {
      Note(absl::StrCat("bound ", bindings[noted_bindings_].first, " to ",
                        bindings[noted_bindings_].second));
    }
    const auto evictions = simulation_->cluster().Evictions();
    for (; noted_evictions_ < evictions.size(); ++noted_evictions_) {
      Note(absl::StrCat("evicted ", evictions[noted_evictions_]));
    }
  }

  // --- Expectations ---

  std::string NodeOf(const std::string& pod) {
    const auto found =
        std::static_pointer_cast<const api::Pod>(simulation_->cluster().Find(Kind::kPod, pod));
    if (found == nullptr) return "(no such pod)";
    return found->spec().node_name();
  }

  int64_t BoundCount() {
    int64_t bound = 0;
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      if (!object.As<api::Pod>().spec().node_name().empty()) ++bound;
    }
    return bound;
  }

  void Expect(Value expectations) {
    for (const Value::Item& item : expectations.items()) {
      if (item.key == "placed") {
        ExpectPlaced(item.value);
      } else if (item.key == "pending") {
        ExpectPending(item.value);
      } else if (item.key == "together" || item.key == "apart") {
        ExpectNodes(item.value, item.key == "together");
      } else if (item.key == "bound") {
        ExpectNumber(item.value, "pods with a node", BoundCount());
      } else if (item.key == "unbound") {
        ExpectNumber(item.value, "pods without a node",
                     static_cast<int64_t>(simulation_->scheduler().Unbound().size()));
      } else if (item.key == "evictions") {
        ExpectNumber(item.value, "evictions",
                     static_cast<int64_t>(simulation_->cluster().Evictions().size()));
      } else if (item.key == "evicted") {
        ExpectEvicted(item.value);
      } else if (item.key == "attempts") {
        ExpectNumber(item.value, "attempts", simulation_->scheduler().counters().attempts);
      } else {
        Fail(item.value, absl::StrCat("unknown expectation ", item.key));
      }
    }
  }

  void ExpectNumber(Value want, absl::string_view what, int64_t got) {
    if (want.AsInt64() != got) {
      Fail(want, absl::StrCat("expected ", want.text(), " ", what, ", there are ", got));
    }
  }

  // {pod: node}; a node of "*" is any.
  void ExpectPlaced(Value pods) {
    for (const Value::Item& pod : pods.items()) {
      const std::string node = NodeOf(std::string(pod.key));
      if (pod.value.text() == "*" ? node.empty() || node[0] == '(' : node != pod.value.text()) {
        Fail(pod.value, absl::StrCat("expected ", pod.key, " on ", pod.value.text(), ", it is ",
                                     node.empty() ? "pending" : absl::StrCat("on ", node),
                                     Reason(std::string(pod.key))));
      }
    }
  }

  std::string Reason(const std::string& pod) {
    for (const UnboundPod& unbound : simulation_->scheduler().Unbound()) {
      if (unbound.pod == pod && !unbound.message.empty()) {
        return absl::StrCat(" (", unbound.plugin, ": ", unbound.message, ")");
      }
    }
    return "";
  }

  // {pod: part of the reason}, or a list of pods.
  void ExpectPending(Value pods) {
    std::map<std::string, UnboundPod> unbound;
    for (UnboundPod& pod : simulation_->scheduler().Unbound()) {
      const std::string key = pod.pod;
      unbound[key] = std::move(pod);
    }
    const auto expect = [&](Value at, const std::string& pod, absl::string_view reason) {
      const auto it = unbound.find(pod);
      if (it == unbound.end()) {
        Fail(at, absl::StrCat("expected ", pod, " pending, it is on ", NodeOf(pod)));
      } else if (!absl::StrContains(it->second.message, reason)) {
        Fail(at, absl::StrCat("expected ", pod, " to wait with \"", reason, "\", the reason is \"",
                              it->second.message, "\" by ", it->second.plugin));
      }
    };
    if (pods.IsSequence()) {
      for (const Value pod : pods.elements()) expect(pod, std::string(pod.text()), "");
    } else {
      for (const Value::Item& pod : pods.items()) {
        expect(pod.value, std::string(pod.key), pod.value.text());
      }
    }
  }

  // Lists of pods: each list on one node, or each pod of a list on a node of its own.
  void ExpectNodes(Value lists, bool together) {
    for (const Value list : lists.elements()) {
      std::map<std::string, int> pods_on;
      for (const Value pod : list.elements()) ++pods_on[NodeOf(std::string(pod.text()))];
      const bool placed = !pods_on.contains("") && !pods_on.contains("(no such pod)");
      const bool holds = together ? pods_on.size() == 1 : pods_on.size() == list.size();
      if (!placed || !holds) {
        Fail(list,
             absl::StrCat("expected the pods ", together ? "on one node" : "on different nodes",
                          ", they are on ",
                          absl::StrJoin(pods_on, ", ", [](std::string* out, const auto& entry) {
                            absl::StrAppend(out, entry.first.empty() ? "no node" : entry.first,
                                            " (", entry.second, ")");
                          })));
      }
    }
  }

  void ExpectEvicted(Value names) {
    std::vector<std::string> got = simulation_->cluster().Evictions();
    std::vector<std::string> want;
    for (const Value name : names.elements()) want.emplace_back(name.text());
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    if (got != want) {
      Fail(names, absl::StrCat("expected the evictions [", absl::StrJoin(want, ", "),
                               "], they are [", absl::StrJoin(got, ", "), "]"));
    }
  }

  const std::string file_;
  const Registry& registry_;
  ScenarioResult& result_;
  Admission admission_;  // of all that is created
  std::unique_ptr<Simulation> simulation_;
  size_t noted_bindings_ = 0, noted_evictions_ = 0;
};

}  // namespace

ScenarioResult RunScenario(absl::string_view text, const std::string& file,
                           const Registry& registry) {
  ScenarioResult result;
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(text, file, problems);
  for (const Problem& problem : problems) result.failures.push_back(problem.ToString());
  if (!problems.ok()) return result;
  if (documents.size() != 1) {
    result.failures.push_back(absl::StrCat(file, ": a scenario is one YAML document"));
    return result;
  }
  ScenarioRun(file, registry, result).Run(documents.front().root());
  return result;
}

ScenarioResult RunScenarioFile(const std::string& path, const Registry& registry) {
  const std::optional<std::string> text = ReadFile(path);
  if (!text.has_value()) return {path, {absl::StrCat(path, ": cannot be read")}, ""};
  return RunScenario(*text, path, registry);
}

}  // namespace berth::testing
