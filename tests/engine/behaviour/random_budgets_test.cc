// SPDX-License-Identifier: Apache-2.0
// No disruption is spent twice: pods that come together, as a gang, as surplus of one, or one by
// one, violate no more PodDisruptionBudgets than they must, by priority and by quotas. All pods
// need one GPU, so that arithmetic says how many they must.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/policy_v1.pb.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::Random;

#ifdef NDEBUG
constexpr int kSeeds = 1500;
#else
constexpr int kSeeds = 500;
#endif

enum class Rules { kPriority, kElasticQuotas, kTreeOfQuotas };
enum class Preemptors { kGang, kSurplus, kSingles };

struct RunningPod {
  int priority = 0;
  std::string app;  // of the budget; empty: of none
};

struct Case {
  Rules rules = Rules::kPriority;
  Preemptors preemptors = Preemptors::kGang;
  std::vector<RunningPod> running;
  int free = 0;                              // GPUs
  int per_node = 1;                          // GPUs; pods run on the first nodes
  std::map<std::string, int> min_available;  // by app
  int coming = 0;
  bool after_a_plan_in_vain = false;  // of a gang of which one member fits nowhere
  int not_lent = 0;  // GPUs of which quotas guarantee none: so many more pods go, on any node

  int gpus() const { return static_cast<int>(running.size()) + free; }
};

std::string Describe(const Case& made) {
  std::string text =
      absl::StrCat("rules ", static_cast<int>(made.rules), ", ", made.coming, " come as ",
                   static_cast<int>(made.preemptors), ", ", made.free, " GPUs free, ",
                   made.per_node, " a node, not lent ", made.not_lent,
                   made.after_a_plan_in_vain ? ", after a plan in vain" : "");
  for (const RunningPod& pod : made.running) {
    absl::StrAppend(&text, "; ", pod.app, " of priority ", pod.priority);
  }
  for (const auto& [app, least] : made.min_available) {
    absl::StrAppend(&text, "; at least ", least, " ", app);
  }
  return text;
}

Case MakeCase(Random& random) {
  Case made;
  made.rules = random.OneOf<Rules>({Rules::kPriority, Rules::kElasticQuotas, Rules::kTreeOfQuotas});
  made.preemptors =
      random.OneOf<Preemptors>({Preemptors::kGang, Preemptors::kSurplus, Preemptors::kSingles});
  for (int n = random.Between(2, 8); n > 0; --n) {
    made.running.push_back({random.Below(3), random.OneOf<std::string>({"", "a", "b"})});
  }
  made.free = random.Below(3);
  made.per_node = random.Between(1, 3);
  for (const char* const app : {"a", "b"}) made.min_available[app] = random.Below(4);
  made.coming = random.Between(1, static_cast<int>(made.running.size()) + made.free);
  made.after_a_plan_in_vain = random.Percent(30);
  if (made.rules != Rules::kPriority) made.not_lent = random.Below(made.gpus() - made.coming + 1);
  return made;
}

int CountOf(const Case& made, const std::string& app) {
  return static_cast<int>(
      absl::c_count_if(made.running, [&](const RunningPod& pod) { return pod.app == app; }));
}

int AllowedOf(const Case& made, const std::string& app) {
  return std::max(0, CountOf(made, app) - made.min_available.at(app));
}

int LeastViolations(const Case& made) {
  int within_budgets = CountOf(made, "");
  for (const auto& [app, least] : made.min_available) within_budgets += AllowedOf(made, app);
  const int going = made.coming - made.free + made.not_lent;
  return std::max(0, going - within_budgets);
}

void Append(const std::string& yaml, std::vector<Object>& objects) {
  for (Object& object : testing::ObjectsFromYaml(yaml)) objects.push_back(std::move(object));
}

void AddQuotas(const Case& made, std::vector<Object>& objects) {
  const int guaranteed = made.gpus() - made.not_lent;
  if (made.rules == Rules::kElasticQuotas) {
    for (const auto& [name, min] : {std::pair("default", guaranteed), std::pair("other", 0)}) {
      Append(absl::StrCat("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: ElasticQuota\n",
                          "metadata: {name: q, namespace: ", name, "}\n",
                          "spec: {min: {nvidia.com/gpu: ", min, "}}\n"),
             objects);
    }
  } else if (made.rules == Rules::kTreeOfQuotas) {
    const auto add = [&](const std::string& name, const std::string& spec) {
      Append(absl::StrCat("apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\n",
                          "metadata: {name: ", name, "}\nspec: {", spec, "}\n"),
             objects);
    };
    add("all", absl::StrCat("max: {nvidia.com/gpu: ", guaranteed, "}"));
    add("default", absl::StrCat("parent: all, namespaces: [default], min: {nvidia.com/gpu: ",
                                guaranteed, "}"));
    add("other", "parent: all, namespaces: [other], min: {nvidia.com/gpu: 0}");
  }
}

std::unique_ptr<Simulation> Simulate(const Case& made, bool incremental) {
  std::vector<Object> objects;
  AddQuotas(made, objects);
  for (int first = 0; first < made.gpus(); first += made.per_node) {
    const int gpus = std::min(made.per_node, made.gpus() - first);
    objects.push_back(MakeGpuNode(absl::StrCat("n", first / made.per_node), gpus));
  }
  for (const auto& [app, least] : made.min_available) {
    auto budget = std::make_shared<api::PodDisruptionBudget>();
    budget->mutable_metadata()->set_name(app);
    budget->mutable_metadata()->set_namespace_("other");
    (*budget->mutable_spec()->mutable_selector()->mutable_match_labels())["app"] = app;
    budget->mutable_spec()->mutable_min_available()->set_int_val(least);
    objects.push_back(Object::Of(std::move(budget)));
  }
  for (size_t i = 0; i < made.running.size(); ++i) {
    auto pod = testing::MakePod().Name(absl::StrCat("v", i)).Namespace("other").Phase("Running");
    pod.NodeName(absl::StrCat("n", i / made.per_node)).Priority(made.running[i].priority);
    pod.Request("nvidia.com/gpu", "1");
    if (!made.running[i].app.empty()) pod.Label("app", made.running[i].app);
    objects.push_back(pod.Object());
  }
  if (made.after_a_plan_in_vain) {
    objects.push_back(MakeGroup("vain", made.coming + 1));
    for (int i = 0; i <= made.coming; ++i) {
      auto pod = testing::MakePod().Name(absl::StrCat("vain", i)).Namespace("default").Priority(10);
      pod.Request("nvidia.com/gpu", "1").Label("scheduling.x-k8s.io/pod-group", "vain");
      if (i == made.coming) pod.NodeSelector("is", "nowhere");
      objects.push_back(pod.Object());
    }
  }
  const bool is_group = made.preemptors != Preemptors::kSingles;
  if (is_group) {
    objects.push_back(MakeGroup("g", made.preemptors == Preemptors::kGang ? made.coming : 1));
  }
  std::vector<Object> coming;
  for (int i = 0; i < made.coming; ++i) {
    auto pod = testing::MakePod().Name(absl::StrCat("p", i)).Namespace("default").Priority(10);
    pod.Request("nvidia.com/gpu", "1");
    if (is_group) pod.Label("scheduling.x-k8s.io/pod-group", "g");
    coming.push_back(pod.Object());
  }
  auto simulation = Simulation::Create({.configuration = made.rules == Rules::kPriority
                                                             ? GangConfiguration()
                                                             : GangAndQuotaConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = std::move(objects),
                                        .incremental = incremental})
                        .value();
  if (made.after_a_plan_in_vain) simulation->RunUntilQuiet();
  for (Object& pod : coming) {
    simulation->cluster().Set(std::move(pod));
    // As in kube-scheduler, victims that are about to go count again for their budget.
    if (!is_group) simulation->RunUntilQuiet();
  }
  simulation->RunUntilQuiet();
  return simulation;
}

TEST(RandomBudgetsTest, NoMoreAreViolatedThanMustBe) {
  int violating = 0, sparing = 0;
  for (const int seed : testing::Seeds(kSeeds)) {
    Random random(seed);
    const Case made = MakeCase(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", Describe(made)));
    const auto simulation = Simulate(made, /*incremental=*/true);
    const std::vector<std::string> evictions = simulation->cluster().Evictions();
    SCOPED_TRACE(absl::StrCat("evicted: ", absl::StrJoin(evictions, " ")));
    std::map<std::string, int> gone;
    for (size_t i = 0; i < made.running.size(); ++i) {
      gone[made.running[i].app] +=
          absl::c_linear_search(evictions, absl::StrCat("other/v", i)) ? 1 : 0;
    }
    int violations = 0;
    for (const auto& [app, least] : made.min_available) {
      violations += std::max(0, gone[app] - AllowedOf(made, app));
    }
    EXPECT_EQ(violations, LeastViolations(made));
    EXPECT_EQ(simulation->cluster().Bindings().size(), made.coming);
    EXPECT_EQ(Simulate(made, /*incremental=*/false)->cluster().Evictions(), evictions);
    violating += violations > 0 ? 1 : 0;
    sparing += violations == 0 && !evictions.empty() && CountOf(made, "") < made.gpus() ? 1 : 0;
    if (HasFailure()) return;
  }
  printf("violating %d, sparing %d\n", violating, sparing);
  EXPECT_GT(violating, kSeeds / 15);
  EXPECT_GT(sparing, kSeeds / 5);
}

}  // namespace
}  // namespace berth
