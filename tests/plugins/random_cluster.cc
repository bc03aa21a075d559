// SPDX-License-Identifier: Apache-2.0
// Implementation of random_cluster.h. Values come from small pools, so that they meet. Every draw
// is a statement of its own, so that all compilers make the same clusters of a seed.
#include "tests/plugins/random_cluster.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "berth/api/apps_v1.pb.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resources.h"

namespace berth::testing {
namespace {

using Pool = std::vector<std::string>;

const Pool& Resources() {
  static const Pool& pool = *new Pool([] {
    Pool names = {"cpu",           "memory",         "ephemeral-storage", "nvidia.com/gpu",
                  "hugepages-2Mi", "example.com/foo"};
    // The last one is not among the common ones.
    for (size_t i = 0; i + 1 < names.size(); ++i) ResourceIdOf(names[i]);
    for (int i = 0; i < kCommonResources; ++i) ResourceIdOf(absl::StrCat("example.com/other-", i));
    return names;
  }());
  return pool;
}
const Pool& LabelKeys() {
  static const Pool& pool =
      *new Pool{"zone", "disk", "generation", "app", "topology.kubernetes.io/zone"};
  return pool;
}
const Pool& LabelValues() {
  static const Pool& pool = *new Pool{"a", "b", "1", "5", "9", ""};
  return pool;
}
const Pool& TaintKeys() {
  static const Pool& pool = *new Pool{"dedicated", "maintenance"};
  return pool;
}
const Pool& TaintValues() {
  static const Pool& pool = *new Pool{"a", "b"};
  return pool;
}
const Pool& Images() {
  static const Pool& pool = *new Pool{"gcr.io/a:v1", "gcr.io/b:v1", "c:latest", "d"};
  return pool;
}
const std::vector<TaintEffect>& Effects() {
  static const auto& pool = *new std::vector<TaintEffect>{
      TaintEffect::kNoSchedule, TaintEffect::kPreferNoSchedule, TaintEffect::kNoExecute};
  return pool;
}

// An amount of `resource` that a pod may request, in proportion to what nodes have.
std::string Amount(Random& random, absl::string_view resource, int up_to) {
  if (resource == "cpu") return absl::StrCat(random.Between(0, up_to) * 250, "m");
  if (resource == "memory" || resource == "ephemeral-storage") {
    return absl::StrCat(random.Between(0, up_to), "Gi");
  }
  if (resource == "hugepages-2Mi") return absl::StrCat(random.Between(0, up_to) * 2, "Mi");
  return absl::StrCat(random.Between(0, up_to / 4));
}

void AddTaint(Random& random, NodeBuilder& node) {
  const std::string& key = random.OneOf(TaintKeys());
  const std::string& value = random.OneOf(TaintValues());
  node.Taint(key, value, random.OneOf(Effects()));
}

void AddImage(Random& random, const std::string& image, NodeBuilder& node) {
  node.Image(image, int64_t{random.Between(1, 2000)} << 20);
}

void SetAllocatable(Random& random, NodeBuilder& node) {
  for (const std::string& resource : Resources()) {
    if (random.Percent(80)) node.Capacity(resource, Amount(random, resource, 40));
  }
}

LabelSet RandomNodeSelector(Random& random) {
  if (random.Percent(20)) return {};
  const std::string& key = random.OneOf(LabelKeys());
  const std::string& value = random.OneOf(LabelValues());
  return {{key, value}};
}

void AddRequirement(Random& random, api::NodeSelectorRequirement* requirement) {
  static const Pool& operators = *new Pool{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  const std::string& op = random.OneOf(operators);
  requirement->set_key(random.OneOf(LabelKeys()));
  requirement->set_operator_(op);
  if (op == "Gt" || op == "Lt") {
    requirement->add_values(absl::StrCat(random.Below(10)));
  } else if (op == "In" || op == "NotIn") {
    for (int i = random.Between(1, 3); i > 0; --i) {
      requirement->add_values(random.OneOf(LabelValues()));
    }
  }
}

void AddNodeSelectorTerm(Random& random, api::NodeSelectorTerm* term) {
  for (int i = random.Between(0, 2); i > 0; --i) {
    AddRequirement(random, term->add_match_expressions());
  }
  if (random.Percent(20)) {
    api::NodeSelectorRequirement* field = term->add_match_fields();
    field->set_key("metadata.name");
    field->set_operator_(random.Percent(70) ? "In" : "NotIn");
    field->add_values(absl::StrCat("n", random.Below(10)));
  }
}

void AddNodeAffinity(Random& random, PodBuilder& pod) {
  api::NodeAffinity* affinity =
      pod.Message().mutable_spec()->mutable_affinity()->mutable_node_affinity();
  if (random.Percent(50)) {
    api::NodeSelector* required =
        affinity->mutable_required_during_scheduling_ignored_during_execution();
    for (int i = random.Between(1, 2); i > 0; --i) {
      AddNodeSelectorTerm(random, required->add_node_selector_terms());
    }
  } else {
    api::PreferredSchedulingTerm* preferred =
        affinity->add_preferred_during_scheduling_ignored_during_execution();
    preferred->set_weight(random.Between(1, 100));
    AddNodeSelectorTerm(random, preferred->mutable_preference());
  }
}

void AddToleration(Random& random, PodBuilder& pod) {
  if (random.Percent(70)) {
    const std::string& key = random.OneOf(TaintKeys());
    const std::string& value = random.OneOf(TaintValues());
    const bool any_effect = random.Percent(60);
    pod.Toleration(key, value, any_effect ? TaintEffect::kNone : random.OneOf(Effects()));
  } else if (random.Percent(50)) {
    pod.TolerationExists(random.OneOf(TaintKeys()));
  } else {
    pod.TolerationExists("node.kubernetes.io/unschedulable", TaintEffect::kNoSchedule);
  }
}

void AddContainer(Random& random, PodBuilder& pod) {
  const std::string image = random.Percent(50) ? random.OneOf(Images()) : "";
  if (random.Percent(80)) {
    pod.Container(image);
  } else if (random.Percent(50)) {
    pod.InitContainer(image);
  } else {
    pod.Sidecar(image);
  }
  for (const std::string& resource : Resources()) {
    if (random.Percent(30)) pod.Request(resource, Amount(random, resource, 8));
  }
}

void AddInterPodTerm(Random& random, PodBuilder& pod) {
  const std::string& key = random.OneOf(LabelKeys());
  const LabelSet selector = RandomNodeSelector(random);
  const int weight = random.Between(1, 100);
  switch (random.Below(5)) {
    case 0:
      pod.PodAffinity(key, selector);
      break;
    case 1:
      pod.PodAntiAffinity(key, selector);
      break;
    case 2:
      pod.PreferredPodAffinity(weight, key, selector);
      break;
    case 3:
      pod.PreferredPodAntiAffinity(weight, key, selector);
      break;
    default: {
      const int max_skew = random.Between(1, 3);
      const auto action = random.Percent(50) ? UnsatisfiableAction::kDoNotSchedule
                                             : UnsatisfiableAction::kScheduleAnyway;
      pod.SpreadConstraint(max_skew, key, action, selector);
    }
  }
}

const Pool& ReplicaSets() {
  static const Pool& pool = *new Pool{"set-1", "set-2"};
  return pool;
}

void AddController(Random& random, PodBuilder& pod) {
  auto* metadata = pod.Message().mutable_metadata();
  if (metadata->owner_references_size() > 0) return;
  api::OwnerReference* owner = metadata->add_owner_references();
  owner->set_api_version("apps/v1");
  owner->set_kind("ReplicaSet");
  owner->set_name(random.OneOf(ReplicaSets()));
  owner->set_controller(true);
}

// What PodTopologySpread finds default constraints by.
std::vector<Object> MakeWorkloads(Random& random) {
  std::vector<Object> objects;
  for (int i = random.Between(0, 3); i > 0; --i) {
    auto service = std::make_shared<api::Service>();
    service->mutable_metadata()->set_name(absl::StrCat("service-", i));
    service->mutable_metadata()->set_namespace_(random.Percent(70) ? "default" : "other");
    const std::string& key = random.OneOf(LabelKeys());
    (*service->mutable_spec()->mutable_selector())[key] = random.OneOf(LabelValues());
    objects.push_back(Object::Of(std::move(service)));
  }
  for (const std::string& name : ReplicaSets()) {
    if (random.Percent(40)) continue;
    auto set = std::make_shared<api::ReplicaSet>();
    set->mutable_metadata()->set_name(name);
    set->mutable_metadata()->set_namespace_("default");
    const std::string& key = random.OneOf(LabelKeys());
    auto* labels = set->mutable_spec()->mutable_selector()->mutable_match_labels();
    (*labels)[key] = random.OneOf(LabelValues());
    objects.push_back(Object::Of(std::move(set)));
  }
  return objects;
}

}  // namespace

std::vector<NodeInfo> RandomCluster::Infos() const {
  std::vector<NodeInfo> infos;
  for (size_t i = 0; i < nodes.size(); ++i) infos.push_back(nodes[i].Info(pods[i]));
  return infos;
}

RandomCluster MakeRandomCluster(Random& random, int max_nodes) {
  RandomCluster cluster;
  const int count = random.Between(1, max_nodes);
  for (int i = 0; i < count; ++i) {
    NodeBuilder node = MakeNode().Name(absl::StrCat("n", i));
    SetAllocatable(random, node);
    if (random.Percent(80)) node.Pods(random.Between(1, 8));
    for (const std::string& key : LabelKeys()) {
      if (random.Percent(60)) node.Label(key, random.OneOf(LabelValues()));
    }
    for (int t = random.Percent(40) ? random.Between(1, 2) : 0; t > 0; --t) {
      AddTaint(random, node);
    }
    if (random.Percent(90)) node.Label("kubernetes.io/hostname", absl::StrCat("n", i));
    if (random.Percent(15)) node.Unschedulable();
    for (const std::string& image : Images()) {
      if (random.Percent(40)) AddImage(random, image, node);
    }
    cluster.nodes.push_back(node);
    cluster.pods.emplace_back();
    for (int p = random.Between(0, 5); p > 0; --p) {
      const std::string name = absl::StrCat("n", i, "-pod-", p);
      PodBuilder pod = MakeRandomPod(random, name).NodeName(absl::StrCat("n", i));
      if (random.Percent(20)) pod.Deleted();
      cluster.pods.back().push_back(pod.Obj());
    }
  }
  cluster.objects = MakeWorkloads(random);
  return cluster;
}

PodBuilder MakeRandomPod(Random& random, absl::string_view name) {
  PodBuilder pod = MakePod().Name(name);
  for (int i = random.Between(0, 2); i > 0; --i) AddContainer(random, pod);
  for (int i = random.Between(0, 5); i > 0; --i) ChangePod(random, pod);
  return pod;
}

void ChangePod(Random& random, PodBuilder& pod) {
  ChangePod(random, pod, random.Below(kPodChanges));
}

void ChangePod(Random& random, PodBuilder& pod, int change) {
  switch (change) {
    case kAddsLabel: {
      const std::string& key = random.OneOf(LabelKeys());
      pod.Label(key, random.OneOf(LabelValues()));
      break;
    }
    case 1: {
      const std::string& key = random.OneOf(LabelKeys());
      pod.Annotation(key, random.OneOf(LabelValues()));
      break;
    }
    case 2:
      pod.Priority(random.Between(-5, 5));
      break;
    case 3:
    case 14:
      AddToleration(random, pod);
      break;
    case 4: {
      const std::string& key = random.OneOf(LabelKeys());
      pod.NodeSelector(key, random.OneOf(LabelValues()));
      break;
    }
    case 5:
    case 6:
      AddNodeAffinity(random, pod);
      break;
    case 7: {
      const int port = random.Between(8080, 8083);
      const char* const protocol = random.Percent(50) ? "TCP" : "UDP";
      pod.HostPort(port, protocol, random.Percent(50) ? "" : "127.0.0.1");
      break;
    }
    case 8:
      AddContainer(random, pod);
      break;
    case 9:
      pod.Overhead("cpu", Amount(random, "cpu", 4));
      break;
    case 10:
      pod.PodLevelRequest("memory", Amount(random, "memory", 20));
      break;
    case kAddsInterPodTerm:
    case 12:
      AddInterPodTerm(random, pod);
      break;
    case 13:
      pod.Namespace(random.Percent(50) ? "default" : "other");
      break;
    case 15:
      AddController(random, pod);
      break;
    default:
      pod.Created(absl::FromUnixSeconds(random.Below(1000)));
  }
}

NodeChange ChangeNode(Random& random, RandomCluster& cluster) {
  const int i = random.Below(static_cast<int>(cluster.nodes.size()));
  NodeBuilder& node = cluster.nodes[i];
  switch (random.Below(9)) {
    case 0: {
      const std::string& key = random.OneOf(LabelKeys());
      node.Label(key, random.OneOf(LabelValues()));
      return {i, Aspect::kNodeLabels, Aspect::kOtherNodes};
    }
    case 1:
      AddTaint(random, node);
      return {i, Aspect::kNodeTaints, Aspect::kOtherNodes};
    case 2:
      node.Unschedulable();
      return {i, Aspect::kNodeUnschedulable, Aspect::kOtherNodes};
    case 3:
      SetAllocatable(random, node);
      node.Pods(random.Between(0, 8));
      return {i, Aspect::kNodeAllocatable, Aspect::kNothing};
    case 4:
      AddImage(random, random.OneOf(Images()), node);
      return {i, Aspect::kNodeImages, Aspect::kImageSpread};
    case 5: {
      const std::string& key = random.OneOf(LabelKeys());
      node.Annotation(key, random.OneOf(LabelValues()));
      return {i, Aspect::kNodeOther, Aspect::kNothing};
    }
    case 6:
      node.Name(absl::StrCat("renamed-", i));
      return {i, Aspect::kNodeName, Aspect::kOtherNodes};
    case 7:
      if (!cluster.pods[i].empty()) cluster.pods[i].pop_back();
      break;
    default: {
      const std::string name = absl::StrCat("new-", i, "-", random.Below(1 << 30));
      PodBuilder pod = MakeRandomPod(random, name).NodeName(absl::StrCat("n", i));
      cluster.pods[i].push_back(pod.Obj());
    }
  }
  return {i, Aspect::kNodeRequested | Aspect::kNodePods | Aspect::kNodePorts, Aspect::kOtherNodes};
}

}  // namespace berth::testing
