// SPDX-License-Identifier: Apache-2.0
// Very many short histories of small clusters under the default profile, or with
// PreemptionToleration instead of DefaultPreemption, with and without faults of the cluster, and
// what must hold at every quiet moment of them. BERTH_SEED=N repeats one, BERTH_SEQUENCES=N runs so
// many, from BERTH_SEED on if that is given.
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "berth/api/scheduling_v1.pb.h"
#include "engine/engine.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::NodeBuilder;
using testing::PodBuilder;
using testing::Random;

// An optimised build runs what a release promises; the others, which are slower by an order of
// magnitude or two, a share of it.
#ifdef NDEBUG
constexpr uint64_t kSequences = 100'000;
#else
constexpr uint64_t kSequences = 2'000;
#endif

const KubeSchedulerConfiguration& DefaultProfile() {
  static const KubeSchedulerConfiguration& configuration = *new KubeSchedulerConfiguration([] {
    LoadedConfiguration loaded =
        LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins());
    EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    return loaded.configuration;
  }());
  return configuration;
}

// The same, but a class may spare its pods for a time.
const KubeSchedulerConfiguration& PatientProfile() {
  static const KubeSchedulerConfiguration& configuration = *new KubeSchedulerConfiguration([] {
    LoadedConfiguration loaded = ParseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    postFilter:
      enabled: [{name: PreemptionToleration}]
      disabled: [{name: "*"}]
)",
                                                    "patient", Builtins());
    EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    return loaded.configuration;
  }());
  return configuration;
}

// Pods of it are spared by all but priority 3.
Object PatientClass(int value, int seconds) {
  auto priority_class = std::make_shared<api::PriorityClass>();
  priority_class->mutable_metadata()->set_name(absl::StrCat("patient-", value));
  priority_class->set_value(value);
  auto& annotations = *priority_class->mutable_metadata()->mutable_annotations();
  const std::string prefix = "preemption-toleration.scheduling.x-k8s.io/";
  annotations[prefix + "minimum-preemptable-priority"] = "3";
  annotations[prefix + "toleration-seconds"] = absl::StrCat(seconds);
  return Object::Of(std::move(priority_class));
}

std::unique_ptr<Simulation> NewSimulation(uint64_t seed,
                                          const KubeSchedulerConfiguration& configuration,
                                          absl::Time start, std::vector<Object> objects = {}) {
  auto created = Simulation::Create({.configuration = configuration,
                                     .registry = &Builtins(),
                                     .objects = std::move(objects),
                                     .seed = seed,
                                     .start = start,
                                     // Mostly searches for victims stop at every node.
                                     .work_budget_steps = seed % 3 == 0 ? 0 : 1});
  EXPECT_TRUE(created.ok()) << created.status();
  return *std::move(created);
}

int64_t Cpus(const api::Pod& pod) {
  int64_t cpus = 0;
  const auto& requests = pod.spec().containers(0).resources().requests();
  EXPECT_TRUE(absl::SimpleAtoi(requests.at("cpu").string(), &cpus));
  return cpus;
}

bool Uses(const api::Pod& pod) {
  return !pod.spec().node_name().empty() && pod.status().phase() != "Succeeded";
}

class Sequence {
 public:
  explicit Sequence(uint64_t seed) : random_(seed) {
    faulty_ = random_.Percent(50);
    resources_only_ = random_.Percent(30);
    patient_ = random_.Percent(30);
    simulation_ = NewSimulation(seed, configuration(), absl::UnixEpoch());
    if (patient_) {
      for (int value = 0; value < 3; ++value) Set(PatientClass(value, random_.Below(60)));
    }
    // As the API server sees it when a binding arrives.
    cluster().SetBindFault([this](const Identity& pod, const std::string& node) {
      Note(absl::StrCat("bind ", pod.name(), " to ", node));
      CheckRoom(pod.key(), node);
      return absl::OkStatus();
    });
    if (faulty_) SetFaults(seed);
  }

  using Bindings = std::vector<std::pair<std::string, std::string>>;
  Bindings Run() {
    const int nodes = random_.Between(1, 3);
    for (int i = 0; i < nodes; ++i) AddNode();
    const int steps = random_.Between(4, 16);
    for (int step = 0; step < steps; ++step) {
      Change();
      if (random_.Percent(30)) simulation_->RunUntilIdle();
      if (random_.Percent(20)) simulation_->Advance(absl::Seconds(random_.Below(15)));
    }
    simulation_->RunUntilQuiet();
    CheckQuiet();
    if (!::testing::Test::HasFailure()) return cluster().Bindings();
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      Note(absl::StrCat(pod.pod, " waits, state ", static_cast<int>(pod.state), ", ", pod.plugin,
                        ": ", pod.message));
    }
    for (const RecordedEvent& event : cluster().RecordedEvents()) {
      absl::StrAppend(&timeline_, "  event of ", event.pod->name(), ": ", event.note(), "\n");
    }
    ADD_FAILURE() << (faulty_ ? "with faults\n" : "without faults\n") << timeline_;
    return cluster().Bindings();
  }

 private:
  InMemoryCluster& cluster() { return simulation_->cluster(); }
  const KubeSchedulerConfiguration& configuration() const {
    return patient_ ? PatientProfile() : DefaultProfile();
  }
  // What happened, for people who look for the cause.
  void Note(absl::string_view what) {
    absl::StrAppend(&timeline_, "  ", absl::ToDoubleSeconds(simulation_->now() - absl::UnixEpoch()),
                    "s ", what, "\n");
  }
  void Set(const Object& object) {
    Note(absl::StrCat("set ", object.ToString(), ": ", object.message().ShortDebugString()));
    cluster().Set(object);
  }

  void Delete(Kind kind, const std::string& key) {
    Note(absl::StrCat("delete ", key));
    cluster().Delete(kind, key);
  }

  void SetFaults(uint64_t seed) {
    ClusterFaults faults;
    faults.seed = seed;
    faults.bind_failure = 0.2;
    faults.slow_bind = 0.2;
    faults.lost_answer = random_.Percent(50) ? 0.1 : 0;
    faults.delayed_event = 0.3;
    faults.duplicated_event = 0.3;
    faults.relist = random_.Percent(30) ? 0.05 : 0;
    cluster().SetFaults(faults);
  }

  // --- What happens ---

  void AddNode() {
    const std::string name = absl::StrCat("n", next_++);
    NodeBuilder node;
    node.Name(name).Label("kubernetes.io/hostname", name);
    node.Label("zone", random_.Percent(50) ? "a" : "b");
    node.Allocatable("cpu", absl::StrCat(random_.Between(2, 8))).Allocatable("memory", "64Gi");
    nodes_.emplace(name, node);
    Set(node.Object());
  }

  void AddPod() {
    PodBuilder pod;
    pod.Name(absl::StrCat("p", next_++));
    pod.Request("cpu", absl::StrCat(random_.Between(1, 4)));
    const std::string app = random_.Percent(50) ? "web" : "db";
    pod.Label("app", app);
    if (patient_ && random_.Percent(50)) {
      const std::string name = absl::StrCat("patient-", random_.Below(3));
      pod.Message().mutable_spec()->set_priority_class_name(name);
    } else if (random_.Percent(30)) {
      pod.Priority(random_.Between(1, patient_ ? 3 : 2));
    }
    if (random_.Percent(10)) pod.PreemptNever();
    if (random_.Percent(15)) pod.NodeSelector("zone", "a");
    if (random_.Percent(15)) pod.TolerationExists("dedicated");
    if (random_.Percent(10)) pod.SchedulingGate("wait");
    if (resources_only_) return Set(pod.Object());
    if (random_.Percent(10)) pod.HostPort(8080);
    if (random_.Percent(15)) pod.PodAntiAffinity("kubernetes.io/hostname", {{"app", app}});
    if (random_.Percent(10)) pod.PodAffinity("zone", {{"app", "web"}});
    if (random_.Percent(15)) {
      pod.SpreadConstraint(1, "zone", UnsatisfiableAction::kDoNotSchedule, {{"app", app}});
    }
    Set(pod.Object());
  }

  // A pod that satisfies `wanted`, or none.
  template <class Wanted>
  std::shared_ptr<api::Pod> SomePod(Wanted wanted) {
    std::vector<std::shared_ptr<api::Pod>> pods;
    for (const Object& object : cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (wanted(pod)) pods.push_back(std::make_shared<api::Pod>(pod));
    }
    if (pods.empty()) return nullptr;
    return pods[random_.Below(static_cast<int>(pods.size()))];
  }

  void Change() {
    const auto any = [](const api::Pod&) { return true; };
    const auto pending = [](const api::Pod& pod) { return pod.spec().node_name().empty(); };
    switch (random_.Below(14)) {
      case 0:
        AddNode();
        return;
      case 1:
        LoseNode();
        return;
      case 2:
      case 3:
        ChangeNode();
        return;
      case 4:
        if (const auto pod = SomePod(any)) Delete(Kind::kPod, Key(*pod));
        return;
      case 5:
        if (const auto pod = SomePod(Uses)) {
          Note(absl::StrCat("delete gracefully ", Key(*pod)));
          cluster().DeleteGracefully(Key(*pod));
        }
        return;
      case 6:
        if (const auto pod = SomePod(Uses)) {
          Note(absl::StrCat("finish ", Key(*pod)));
          cluster().Finish(Key(*pod));
        }
        return;
      case 7:
        if (const auto pod = SomePod(pending)) {
          pod->mutable_spec()->clear_scheduling_gates();
          Set(Object::Of(pod));
        }
        return;
      case 8:
        if (const auto pod = SomePod(any)) {
          if (random_.Percent(30)) {  // never more: a binding may be under way
            auto& requests = *pod->mutable_spec()
                                  ->mutable_containers(0)
                                  ->mutable_resources()
                                  ->mutable_requests();
            const int cpus = random_.Between(1, static_cast<int>(Cpus(*pod)));
            requests["cpu"].set_string(absl::StrCat(cpus));
            Set(Object::Of(pod));
            return;
          }
          (*pod->mutable_metadata()->mutable_labels())["app"] = random_.Percent(50) ? "web" : "db";
          Set(Object::Of(pod));
        }
        return;
      case 9:
        if (random_.Percent(50)) {
          Note("restart");
          simulation_->Restart();
        } else if (faulty_) {
          Note("relist");
          cluster().Relist();
        }
        return;
      default:
        AddPod();
        return;
    }
  }

  static std::string Key(const api::Pod& pod) {
    return absl::StrCat(pod.metadata().namespace_(), "/", pod.metadata().name());
  }

  void LoseNode() {
    if (nodes_.empty()) return;
    const auto node = std::next(nodes_.begin(), random_.Below(static_cast<int>(nodes_.size())));
    const std::string name = node->first;
    if (random_.Percent(70)) {  // what ran there goes with it
      for (const Object& object : cluster().List(Kind::kPod)) {
        if (object.As<api::Pod>().spec().node_name() != name) continue;
        Delete(Kind::kPod, std::string(object.key()));
      }
    }
    Delete(Kind::kNode, name);
    if (random_.Percent(30)) {  // and comes back
      Set(node->second.Object());
    } else {
      nodes_.erase(node);
    }
  }

  void ChangeNode() {
    if (nodes_.empty()) return;
    const auto node = std::next(nodes_.begin(), random_.Below(static_cast<int>(nodes_.size())));
    api::Node& message = node->second.Message();
    switch (random_.Below(4)) {
      case 0:
        message.mutable_spec()->set_unschedulable(!message.spec().unschedulable());
        break;
      case 1:
        if (message.spec().taints().empty()) {
          node->second.Taint("dedicated", "x", TaintEffect::kNoSchedule);
        } else {
          message.mutable_spec()->clear_taints();
        }
        break;
      case 2:
        (*message.mutable_metadata()->mutable_labels())["zone"] = random_.Percent(50) ? "a" : "b";
        break;
      default: {  // never less: a binding may be under way to what is there now
        int64_t cpus = 0;
        const std::string& now = message.status().allocatable().at("cpu").string();
        EXPECT_TRUE(absl::SimpleAtoi(now, &cpus));
        node->second.Allocatable("cpu", absl::StrCat(cpus + random_.Below(4)));
        break;
      }
    }
    Set(node->second.Object());
  }

  // --- What must hold ---

  // At a binding: the pod has no node yet, and the node has room for it.
  void CheckRoom(const std::string& key, const std::string& node_name) {
    int64_t used = 0;
    for (const Object& object : cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (object.key() == key) {
        used += Cpus(pod);
        EXPECT_TRUE(pod.spec().node_name().empty()) << key << " is bound twice";
      } else if (Uses(pod) && pod.spec().node_name() == node_name) {
        used += Cpus(pod);
      }
    }
    const auto node = cluster().Find(Kind::kNode, node_name);
    if (node == nullptr) return;  // it went while the binding was under way
    int64_t cpus = 0;
    const auto& allocatable =
        static_cast<const api::Node&>(*node).status().allocatable().at("cpu").string();
    EXPECT_TRUE(absl::SimpleAtoi(allocatable, &cpus));
    EXPECT_LE(used, cpus) << node_name << " is over its allocatable with " << key;
  }

  void CheckQuiet() {
    std::set<std::string> pending;
    for (const Object& object : cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (pod.spec().node_name().empty() && pod.status().phase() != "Succeeded") {
        pending.insert(std::string(object.key()));
      }
    }
    std::set<std::string> known;
    for (const UnboundPod& pod : simulation_->scheduler().Unbound()) {
      EXPECT_TRUE(known.insert(pod.pod).second) << pod.pod << " is pending twice";
    }
    EXPECT_EQ(known, pending) << "the scheduler lost track of pods";

    std::set<std::string> bound;
    for (const auto& [pod, node] : cluster().Bindings()) {
      EXPECT_TRUE(bound.insert(pod).second) << pod << " was bound twice";
    }
    EXPECT_EQ(simulation_->scheduler().counters().unconfirmed, 0)
        << "a batch form was too generous";
    CompareWithCluster();
    if (!pending.empty()) CompareWithFreshScheduler();
  }

  // What the scheduler counts on each node is what the cluster has there, and nothing is assumed.
  void CompareWithCluster() {
    const Cache& cache = static_cast<Engine&>(simulation_->scheduler()).cluster().cache();
    EXPECT_EQ(cache.assumed_count(), 0) << "something is assumed though nothing goes on";
    EXPECT_TRUE(cache.CheckInvariants().ok()) << cache.CheckInvariants();
    std::map<std::string, std::set<std::string>> have;
    std::map<std::string, std::set<std::string>> counted;
    std::map<std::string, int64_t> milli_cpus;
    for (const Object& object : cluster().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (!Uses(pod)) continue;
      have[pod.spec().node_name()].insert(Key(pod));
      milli_cpus[pod.spec().node_name()] += 1000 * Cpus(pod);
    }
    cache.ForEachNode([&](const NodeInfo& node) {
      const std::string name(node.name().view());
      for (const auto& pod : node.pods()) counted[name].insert(pod->key());
      EXPECT_EQ(node.requested().Get(kCpu), milli_cpus[name]) << name;
      EXPECT_EQ(node.has_node(), cluster().Find(Kind::kNode, name) != nullptr) << name;
    });
    EXPECT_EQ(counted, have) << "the scheduler counts other pods than the cluster has";
  }

  // A scheduler that starts now and tries everything must find nothing that fits, and nobody to
  // evict: it should have been bound by now, without the periodic flush.
  void CompareWithFreshScheduler() {
    std::vector<Object> objects;
    for (const Kind kind : {Kind::kPriorityClass, Kind::kNode, Kind::kPod}) {
      for (const Object& object : cluster().List(kind)) objects.push_back(object);
    }
    const std::unique_ptr<Simulation> fresh =
        NewSimulation(1, configuration(), simulation_->now(), std::move(objects));
    fresh->RunUntilIdle();
    for (const auto& [pod, node] : fresh->cluster().Bindings()) {
      ADD_FAILURE() << pod << " waits although it could run on " << node;
    }
    // With more than resources, preemption may become possible by an event that only concerns
    // plugins that it asks, not the ones that rejected the pod: upstream leaves that to the flush.
    if (!resources_only_) return;
    for (const std::string& victim : fresh->cluster().Evictions()) {
      ADD_FAILURE() << "a pod waits although it could run if " << victim << " went";
    }
  }

  Random random_;
  std::unique_ptr<Simulation> simulation_;
  bool faulty_ = false;
  bool patient_ = false;         // pods of some classes are spared for a time
  bool resources_only_ = false;  // no pod has affinity, spread constraints or host ports
  std::string timeline_;
  std::map<std::string, NodeBuilder> nodes_;
  int next_ = 0;
};

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t value = otherwise;
  if (text != nullptr && !absl::SimpleAtoi(text, &value)) ADD_FAILURE() << name;
  return value;
}

TEST(RandomOperations, LoseNoPodAndOverloadNoNode) {
  const uint64_t first = FromEnvironment("BERTH_SEED", 1);
  const uint64_t count =
      FromEnvironment("BERTH_SEQUENCES", std::getenv("BERTH_SEED") ? 1 : kSequences);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    const Sequence::Bindings once = Sequence(seed).Run();
    if (seed % 16 == 0 || count == 1) {
      EXPECT_EQ(Sequence(seed).Run(), once) << "the same seed made other decisions";
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace berth
