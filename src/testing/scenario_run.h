// SPDX-License-Identifier: Apache-2.0
// One run of a scenario: what its steps do to the cluster.
#ifndef BERTH_SRC_TESTING_SCENARIO_RUN_H_
#define BERTH_SRC_TESTING_SCENARIO_RUN_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/api/value.h"
#include "berth/simulation.h"
#include "berth/testing/scenario.h"
#include "testing/scenario_history.h"

namespace berth::testing {

class ScenarioRun;
// A part of a step, read and checked.
using ScenarioAction = std::function<void(ScenarioRun&)>;

struct ScenarioStep {
  SourceLocation where;
  std::optional<absl::Duration> at;  // since the start; absent: when the step before has ended
  std::vector<ScenarioAction> actions;
};

// Objects made of a text, "$(i)" standing for their number.
struct ScenarioTemplate {
  std::string text;
  std::string file;                      // what problems in the text call it
  std::string run_time;                  // of its pods; empty: they run for ever
  std::shared_ptr<Admission> admission;  // knows the classes of all that is created
};

// The kind, and "namespace/name" or "name".
struct ObjectName {
  Kind kind;
  std::string key;
  std::string ToString() const;
};

class ScenarioRun {
 public:
  ScenarioRun(Simulation& simulation, const ScenarioOptions& options, ScenarioResult& result);

  void Run(const std::vector<ScenarioStep>& steps);

  // --- Operations. `at` is the place of what asks for them, for failures ---

  void Create(SourceLocation at, const std::vector<Object>& objects);
  void Update(SourceLocation at, const ObjectName& name, Value patch);
  void UpdateNode(SourceLocation at, const std::string& name, absl::string_view what,
                  const std::function<void(api::Node&)>& change);
  void UpdatePod(SourceLocation at, const std::string& key, absl::string_view what,
                 const std::function<void(api::Pod&)>& change);
  enum class Grace { kNone, kAsThePodSays };
  void Delete(SourceLocation at, const ObjectName& name, Grace grace);
  void Finish(SourceLocation at, const std::string& pod);
  // Makes `made` the set's template, with so many copies there.
  void DefineSet(const std::string& set, const ScenarioTemplate& made, int64_t copies);
  void Scale(SourceLocation at, const std::string& set, int64_t copies);
  // Deletes the pods on the node gracefully.
  void Drain(SourceLocation at, const std::string& node);
  // The node's object and its pods go, and what comes back with Restore().
  void LoseNode(SourceLocation at, const std::string& node);
  void FailNode(SourceLocation at, const std::string& node);
  void RestoreNode(SourceLocation at, const std::string& node);
  // The next `times` bindings of the pod ("*": of any) are refused.
  void FailBinds(const std::string& pod, int64_t times);
  void SlowBinds(const std::string& pod, absl::Duration delay);
  // Before the pod's next binding `objects` appear, and it is refused.
  void Conflict(const std::string& pod, std::vector<Object> objects);
  // The scheduler ends, and a new one starts.
  void Restart();
  void Advance(SourceLocation at, absl::Duration by);
  void Settle();

  // --- For expectations ---

  void Fail(SourceLocation at, absl::string_view message);
  Simulation& simulation() { return simulation_; }
  InMemoryCluster& cluster() { return simulation_.cluster(); }
  const ScenarioHistory& history() const { return history_; }
  std::shared_ptr<const api::Pod> FindPod(const std::string& key);
  std::optional<UnboundPod> FindUnbound(const std::string& key);

 private:
  // `coming`: objects that are to be set with it.
  bool HasItsUidAlone(SourceLocation at, const Object& object, const std::vector<Object>& coming);
  absl::Duration time() const { return simulation_.now() - absl::UnixEpoch(); }
  void Log(const std::string& object, absl::string_view what);
  absl::Status OnBind(const Identity& pod, const std::string& node);
  std::vector<std::string> PodsOn(const std::string& node);
  void ObserveAttempts();
  bool Ended();
  void CountFigures();
  // Adds what this scheduler says of its plugins to the figures.
  void CountPlugins();

  Simulation& simulation_;
  const ScenarioOptions& options_;
  ScenarioResult& result_;
  ScenarioHistory history_;
  int64_t objects_ = 0;
  struct Set {
    ScenarioTemplate made;
    int64_t copies = 0;
  };
  std::map<std::string, Set> sets_;
  std::map<std::string, std::string> pod_of_uid_;  // keys; of pods of which the manifest says it
  std::map<std::string, Object> lost_nodes_;
  std::map<std::string, int64_t> bind_failures_;
  std::map<std::string, absl::Duration> bind_delays_;
  std::map<std::string, std::vector<Object>> conflicts_;
};

// The objects of copy `number` of a template. Problems are added to `problems`.
std::vector<Object> MakeCopy(const ScenarioTemplate& made, int64_t number, Problems& problems);

}  // namespace berth::testing

#endif  // BERTH_SRC_TESTING_SCENARIO_RUN_H_
