// SPDX-License-Identifier: Apache-2.0
// Implementation of scenario_run.h.
#include "testing/scenario_run.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "berth/api/pod_status.h"
#include "berth/api/run_time.h"
#include "berth/api/time.h"
#include "testing/object_patch.h"

namespace berth::testing {
namespace {

// kube-controller-manager's taint of nodes that it does not hear of.
constexpr char kUnreachable[] = "node.kubernetes.io/unreachable";

void RemoveTaints(api::Node& node, absl::string_view key) {
  auto* taints = node.mutable_spec()->mutable_taints();
  for (int i = taints->size() - 1; i >= 0; --i) {
    if (taints->Get(i).key() == key) taints->DeleteSubrange(i, 1);
  }
}

// The entry of a pod, or of all pods.
template <class Map>
auto FindFor(Map& map, const std::string& pod) {
  const auto it = map.find(pod);
  return it != map.end() ? it : map.find("*");
}

}  // namespace

std::string ObjectName::ToString() const { return absl::StrCat(KindName(kind), " ", key); }

std::vector<Object> MakeCopy(const ScenarioTemplate& made, int64_t number, Problems& problems) {
  Manifests read = ParseManifest(absl::StrReplaceAll(made.text, {{"$(i)", absl::StrCat(number)}}),
                                 made.file, {.admission = made.admission.get()});
  for (const auto& [kind, count] : read.ignored_kinds) {
    problems.AddError({Symbol::Intern(made.file)}, kind, "a scheduler does not read this kind");
  }
  problems.Append(std::move(read.problems));
  if (made.run_time.empty()) return std::move(read.objects);
  for (Object& object : read.objects) {
    if (object.kind() != Kind::kPod) continue;
    auto pod = std::make_shared<api::Pod>(object.As<api::Pod>());
    (*pod->mutable_metadata()->mutable_annotations())[kSimulatedRunTime] = made.run_time;
    object = Object::Of(std::move(pod), object.where());
  }
  return std::move(read.objects);
}

ScenarioRun::ScenarioRun(Simulation& simulation, const ScenarioOptions& options,
                         ScenarioResult& result)
    : simulation_(simulation), options_(options), result_(result), history_(result.events) {
  cluster().Observe(
      [this](const InMemoryCluster::Incident& incident) { history_.OnIncident(incident, time()); });
  ObserveAttempts();
  cluster().SetBindFault(
      [this](const Identity& pod, const std::string& node) { return OnBind(pod, node); });
}

void ScenarioRun::ObserveAttempts() {
  simulation_.scheduler().ObserveAttempts([this](const AttemptRecord& attempt) {
    history_.OnAttempt(attempt, time());
    if (Ended()) simulation_.Stop();
  });
}

void ScenarioRun::Restart() {
  Log("scheduler", "started again");
  CountPlugins();
  simulation_.Restart();
  ObserveAttempts();
}

bool ScenarioRun::Ended() {
  if (simulation_.stopped()) return true;
  if (options_.interrupted != nullptr && options_.interrupted()) {
    result_.interrupted = true;
    return true;
  }
  if (history_.attempts() < options_.max_attempts) return false;
  result_.failures.push_back(absl::StrCat(result_.file, ": gave up after ", options_.max_attempts,
                                          " attempts, at t=", DurationToString(time())));
  return true;
}

void ScenarioRun::Run(const std::vector<ScenarioStep>& steps) {
  for (const ScenarioStep& step : steps) {
    if (Ended()) break;
    if (step.at.has_value()) {
      if (*step.at < time()) {
        Fail(step.where, absl::StrCat("it is ", DurationToString(time()), " already"));
        break;
      }
      Advance(step.where, *step.at - time());
    }
    for (const ScenarioAction& action : step.actions) {
      if (!Ended()) action(*this);
    }
  }
  if (!simulation_.gave_up().empty()) {
    result_.failures.push_back(
        absl::StrCat(result_.file, ": t=", DurationToString(time()), ": ", simulation_.gave_up()));
  }
  CountFigures();
  // Bindings that still sleep end with the simulation, and are no part of the run.
  cluster().Observe(nullptr);
}

void ScenarioRun::CountFigures() {
  ScenarioFigures& figures = result_.figures;
  for (const Object& object : cluster().List(Kind::kPod)) {
    const api::Pod& pod = object.As<api::Pod>();
    ++figures.pods;
    if (HasEnded(pod.status())) continue;
    ++(pod.spec().node_name().empty() ? figures.pending : figures.bound);
  }
  figures.attempts = history_.attempts();
  figures.evictions = static_cast<int64_t>(cluster().Evictions().size());
  figures.simulated = time();
  CountPlugins();
}

void ScenarioRun::CountPlugins() {
  ScenarioFigures& figures = result_.figures;
  const Scheduler& scheduler = simulation_.scheduler();
  const SchedulerCounters counters = scheduler.counters();
  figures.unconfirmed += counters.unconfirmed;
  for (const PluginTrouble& trouble : counters.troubles) AddTrouble(trouble, figures.troubles);
  for (const auto& [name, value] : scheduler.PluginCounters()) {
    figures.plugin_counters[name] += value;
  }
}

void ScenarioRun::Fail(SourceLocation at, absl::string_view message) {
  result_.failures.push_back(absl::StrCat(at.ToString(), ": ", message));
}

void ScenarioRun::Log(const std::string& object, absl::string_view what) {
  history_.Add(time(), object, std::string(what));
}

// --- Objects -------------------------------------------------------------------------------------

void ScenarioRun::Create(SourceLocation at, const std::vector<Object>& objects) {
  objects_ += static_cast<int64_t>(objects.size());
  if (objects_ > options_.max_objects) {
    Fail(at, absl::StrCat("more than ", options_.max_objects, " objects"));
    return simulation_.Stop();
  }
  std::vector<Object> coming;
  std::set<std::string> names;
  for (const Object& object : objects) {
    const std::string name = ObjectName{object.kind(), std::string(object.key())}.ToString();
    const bool is_new = names.insert(name).second;
    if (!is_new || cluster().Find(object.kind(), object.key()) != nullptr) Log(name, "replaced");
    if (HasItsUidAlone(at, object, coming)) coming.push_back(object);
  }
  cluster().Set(std::move(coming));
}

// An API server gives no uid twice. Without one the cluster gives one.
bool ScenarioRun::HasItsUidAlone(SourceLocation at, const Object& object,
                                 const std::vector<Object>& coming) {
  if (object.kind() != Kind::kPod) return true;
  const std::string& uid = object.As<api::Pod>().metadata().uid();
  if (uid.empty()) return true;
  std::string& key = pod_of_uid_[uid];
  if (!key.empty() && key != object.key()) {
    const auto there = cluster().Find(Kind::kPod, key);
    const bool has_uid =
        (there != nullptr && static_cast<const api::Pod&>(*there).metadata().uid() == uid) ||
        absl::c_any_of(coming, [&](const Object& other) {
          return other.kind() == Kind::kPod && other.key() == key && other.uid() == uid;
        });
    if (has_uid) {
      Fail(at, absl::StrCat(object.ToString(), ": its uid \"", uid, "\" is that of Pod ", key));
      return false;
    }
  }
  key = std::string(object.key());
  return true;
}

void ScenarioRun::Update(SourceLocation at, const ObjectName& name, Value patch) {
  const auto message = cluster().Find(name.kind, name.key);
  if (message == nullptr) return Fail(at, absl::StrCat("there is no ", name.ToString()));
  absl::StatusOr<Object> changed = PatchObject(Object(name.kind, message), patch);
  if (!changed.ok()) return Fail(at, changed.status().message());
  Log(name.kind == Kind::kPod ? name.key : name.ToString(), "updated");
  cluster().Set(*std::move(changed));
}

void ScenarioRun::UpdateNode(SourceLocation at, const std::string& name, absl::string_view what,
                             const std::function<void(api::Node&)>& change) {
  const auto message = cluster().Find(Kind::kNode, name);
  if (message == nullptr) return Fail(at, absl::StrCat("there is no Node ", name));
  auto node = std::make_shared<api::Node>(static_cast<const api::Node&>(*message));
  change(*node);
  Log(absl::StrCat("Node ", name), what);
  cluster().Set(Object::Of(std::move(node)));
}

void ScenarioRun::UpdatePod(SourceLocation at, const std::string& key, absl::string_view what,
                            const std::function<void(api::Pod&)>& change) {
  const auto current = FindPod(key);
  if (current == nullptr) return Fail(at, absl::StrCat("there is no pod ", key));
  auto pod = std::make_shared<api::Pod>(*current);
  change(*pod);
  Log(key, what);
  cluster().Set(Object::Of(std::move(pod)));
}

void ScenarioRun::Delete(SourceLocation at, const ObjectName& name, Grace grace) {
  const bool gracefully = grace == Grace::kAsThePodSays && name.kind == Kind::kPod;
  if (gracefully && FindPod(name.key) != nullptr) Log(name.key, "asked to go");
  const bool there =
      gracefully ? cluster().DeleteGracefully(name.key) : cluster().Delete(name.kind, name.key);
  if (!there) Fail(at, absl::StrCat("there is no ", name.ToString()));
}

void ScenarioRun::Finish(SourceLocation at, const std::string& pod) {
  if (!cluster().Finish(pod)) Fail(at, absl::StrCat("there is no pod ", pod));
}

void ScenarioRun::DefineSet(const std::string& set, const ScenarioTemplate& made, int64_t copies) {
  sets_[set] = {made, copies};
}

void ScenarioRun::Scale(SourceLocation at, const std::string& set, int64_t copies) {
  const auto found = sets_.find(set);
  if (found == sets_.end()) return Fail(at, absl::StrCat("no create step is named ", set));
  int64_t& current = found->second.copies;
  Log(set, absl::StrCat("scaled from ", current, " to ", copies));
  const auto objects_of = [&](int64_t number) {
    Problems problems;  // the first copy was read without any
    return MakeCopy(found->second.made, number, problems);
  };
  std::vector<Object> made;
  const auto are_too_many = [&] {
    return objects_ + static_cast<int64_t>(made.size()) > options_.max_objects;
  };
  for (; current < copies && !are_too_many(); ++current) {
    for (Object& object : objects_of(current)) made.push_back(std::move(object));
  }
  if (!made.empty()) Create(at, made);
  for (; current > copies; --current) {
    for (const Object& object : objects_of(current - 1)) {
      const ObjectName name{object.kind(), std::string(object.key())};
      // One that went before is not missed.
      if (cluster().Find(name.kind, name.key) != nullptr) Delete(at, name, Grace::kAsThePodSays);
    }
  }
}

// --- Nodes ---------------------------------------------------------------------------------------

std::vector<std::string> ScenarioRun::PodsOn(const std::string& node) {
  std::vector<std::string> pods;
  for (const Object& object : cluster().List(Kind::kPod)) {
    if (object.As<api::Pod>().spec().node_name() == node) pods.emplace_back(object.key());
  }
  return pods;
}

void ScenarioRun::Drain(SourceLocation at, const std::string& node) {
  UpdateNode(at, node, "drained", [](api::Node& n) { n.mutable_spec()->set_unschedulable(true); });
  for (const std::string& pod : PodsOn(node)) {
    Delete(at, {Kind::kPod, pod}, Grace::kAsThePodSays);
  }
}

void ScenarioRun::LoseNode(SourceLocation at, const std::string& node) {
  const auto message = cluster().Find(Kind::kNode, node);
  if (message == nullptr) return Fail(at, absl::StrCat("there is no Node ", node));
  lost_nodes_.insert_or_assign(node, Object(Kind::kNode, message));
  cluster().Delete(Kind::kNode, node);
  for (const std::string& pod : PodsOn(node)) cluster().Delete(Kind::kPod, pod);
}

void ScenarioRun::FailNode(SourceLocation at, const std::string& node) {
  UpdateNode(at, node, "unreachable", [](api::Node& n) {
    RemoveTaints(n, kUnreachable);
    for (const char* effect : {"NoSchedule", "NoExecute"}) {
      api::Taint* taint = n.mutable_spec()->add_taints();
      taint->set_key(kUnreachable);
      taint->set_effect(effect);
    }
  });
}

void ScenarioRun::RestoreNode(SourceLocation at, const std::string& node) {
  const auto lost = lost_nodes_.find(node);
  if (lost != lost_nodes_.end() && cluster().Find(Kind::kNode, node) == nullptr) {
    cluster().Set(lost->second);
  }
  UpdateNode(at, node, "back", [](api::Node& n) { RemoveTaints(n, kUnreachable); });
}

// --- Bindings ------------------------------------------------------------------------------------

void ScenarioRun::FailBinds(const std::string& pod, int64_t times) { bind_failures_[pod] = times; }

void ScenarioRun::SlowBinds(const std::string& pod, absl::Duration delay) {
  bind_delays_[pod] = delay;
  cluster().SetBindDelay([this](const Identity& reference, const std::string&) {
    const auto found = FindFor(bind_delays_, reference.key());
    return found == bind_delays_.end() ? absl::ZeroDuration() : found->second;
  });
}

void ScenarioRun::Conflict(const std::string& pod, std::vector<Object> objects) {
  conflicts_.insert_or_assign(pod, std::move(objects));
}

absl::Status ScenarioRun::OnBind(const Identity& pod, const std::string& node) {
  const std::string& key = pod.key();
  if (const auto conflict = FindFor(conflicts_, key); conflict != conflicts_.end()) {
    std::vector<Object> objects = std::move(conflict->second);
    conflicts_.erase(conflict);
    cluster().Set(std::move(objects));
    return absl::AbortedError(
        absl::StrCat("conflict: something else has changed pod ", key, " or node ", node));
  }
  if (const auto failure = FindFor(bind_failures_, key); failure != bind_failures_.end()) {
    if (failure->second-- > 0) return absl::UnavailableError("the scenario lets this binding fail");
    bind_failures_.erase(failure);
  }
  return absl::OkStatus();
}

// --- Time ----------------------------------------------------------------------------------------

void ScenarioRun::Advance(SourceLocation at, absl::Duration by) {
  if (time() + by > options_.max_duration) {
    Fail(at,
         absl::StrCat("a scenario lasts ", DurationToString(options_.max_duration), " at most"));
    return simulation_.Stop();
  }
  simulation_.Advance(by);
}

void ScenarioRun::Settle() { simulation_.RunUntilQuiet(); }

// --- Looking -------------------------------------------------------------------------------------

std::shared_ptr<const api::Pod> ScenarioRun::FindPod(const std::string& key) {
  return std::static_pointer_cast<const api::Pod>(cluster().Find(Kind::kPod, key));
}

std::optional<UnboundPod> ScenarioRun::FindUnbound(const std::string& key) {
  for (UnboundPod& pod : simulation_.scheduler().Unbound()) {
    if (pod.pod == key) return std::move(pod);
  }
  return std::nullopt;
}

}  // namespace berth::testing
