// SPDX-License-Identifier: Apache-2.0
// The builders of berth/testing/objects.h.
#include "berth/testing/objects.h"

#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/api/time.h"

namespace berth::testing {
namespace {

std::string NumberedName(absl::string_view prefix) {
  static std::atomic<int> last{0};
  return absl::StrCat(prefix, "-", ++last);
}

// Protobuf's setters take std::string.
std::string Text(absl::string_view text) { return std::string(text); }

template <class Map>
void SetQuantity(Map* map, absl::string_view resource, absl::string_view quantity) {
  (*map)[Text(resource)].set_string(Text(quantity));
}

void SetLabels(const LabelSet& labels, api::LabelSelector* selector) {
  selector->Clear();
  for (const auto& [key, value] : labels.entries()) {
    (*selector->mutable_match_labels())[Text(key.view())] = Text(value.view());
  }
}

void SetPodAffinityTerm(absl::string_view topology_key, const LabelSet& selector,
                        api::PodAffinityTerm* term) {
  term->set_topology_key(Text(topology_key));
  SetLabels(selector, term->mutable_label_selector());
}

void SetRequirement(absl::string_view key, absl::string_view op, const Strings& values,
                    api::NodeSelectorRequirement* requirement) {
  requirement->set_key(Text(key));
  requirement->set_operator_(Text(op));
  for (const absl::string_view value : values) requirement->add_values(Text(value));
}

// The one required term that NodeAffinityIn() and its like add to.
api::NodeSelectorRequirement* AddRequirement(api::Pod& pod) {
  api::NodeSelector* selector = pod.mutable_spec()
                                    ->mutable_affinity()
                                    ->mutable_node_affinity()
                                    ->mutable_required_during_scheduling_ignored_during_execution();
  if (selector->node_selector_terms().empty()) selector->add_node_selector_terms();
  return selector->mutable_node_selector_terms(0)->add_match_expressions();
}

api::TopologySpreadConstraint* LastConstraint(api::Pod& pod) {
  auto* constraints = pod.mutable_spec()->mutable_topology_spread_constraints();
  BERTH_CHECK(!constraints->empty()) << "call SpreadConstraint() first";
  return constraints->Mutable(constraints->size() - 1);
}

absl::string_view PolicyName(NodeInclusionPolicy policy) {
  return policy == NodeInclusionPolicy::kHonor ? "Honor" : "Ignore";
}

}  // namespace

// --- Pods ----------------------------------------------------------------------------------------

PodBuilder::PodBuilder() : pod_(std::make_unique<api::Pod>()) {
  Name(NumberedName("pod")).Namespace("default").SchedulerName("default-scheduler");
}
PodBuilder::PodBuilder(const PodBuilder& other)
    : pod_(std::make_unique<api::Pod>(*other.pod_)),
      last_is_init_container_(other.last_is_init_container_) {}
PodBuilder& PodBuilder::operator=(const PodBuilder& other) {
  *pod_ = *other.pod_;
  last_is_init_container_ = other.last_is_init_container_;
  return *this;
}
PodBuilder::~PodBuilder() = default;

PodBuilder& PodBuilder::Name(absl::string_view name) {
  pod_->mutable_metadata()->set_name(Text(name));
  return *this;
}
PodBuilder& PodBuilder::Namespace(absl::string_view name) {
  pod_->mutable_metadata()->set_namespace_(Text(name));
  return *this;
}
PodBuilder& PodBuilder::Uid(absl::string_view uid) {
  pod_->mutable_metadata()->set_uid(Text(uid));
  return *this;
}
PodBuilder& PodBuilder::Label(absl::string_view key, absl::string_view value) {
  (*pod_->mutable_metadata()->mutable_labels())[Text(key)] = Text(value);
  return *this;
}
PodBuilder& PodBuilder::Annotation(absl::string_view key, absl::string_view value) {
  (*pod_->mutable_metadata()->mutable_annotations())[Text(key)] = Text(value);
  return *this;
}
PodBuilder& PodBuilder::Created(absl::Time time) {
  SetTime(time, pod_->mutable_metadata()->mutable_creation_timestamp());
  return *this;
}
PodBuilder& PodBuilder::Deleted(absl::Time time) {
  SetTime(time, pod_->mutable_metadata()->mutable_deletion_timestamp());
  return *this;
}
PodBuilder& PodBuilder::ControlledBy(absl::string_view kind, absl::string_view name) {
  api::OwnerReference* owner = pod_->mutable_metadata()->add_owner_references();
  owner->set_kind(Text(kind));
  owner->set_name(Text(name));
  owner->set_uid(absl::StrCat(kind, "/", name));
  owner->set_controller(true);
  return *this;
}

PodBuilder& PodBuilder::Container(absl::string_view image) {
  api::Container* container = pod_->mutable_spec()->add_containers();
  container->set_name(absl::StrCat("c", pod_->spec().containers_size()));
  container->set_image(Text(image));
  last_is_init_container_ = false;
  return *this;
}
PodBuilder& PodBuilder::InitContainer(absl::string_view image) {
  api::Container* container = pod_->mutable_spec()->add_init_containers();
  container->set_name(absl::StrCat("init", pod_->spec().init_containers_size()));
  container->set_image(Text(image));
  last_is_init_container_ = true;
  return *this;
}
PodBuilder& PodBuilder::Sidecar(absl::string_view image) {
  InitContainer(image);
  LastContainer().set_restart_policy("Always");
  return *this;
}
api::Container& PodBuilder::LastContainer() {
  if (last_is_init_container_) {
    return *pod_->mutable_spec()->mutable_init_containers()->rbegin();
  }
  if (pod_->spec().containers().empty()) Container();
  return *pod_->mutable_spec()->mutable_containers()->rbegin();
}
PodBuilder& PodBuilder::Request(absl::string_view resource, absl::string_view quantity) {
  SetQuantity(LastContainer().mutable_resources()->mutable_requests(), resource, quantity);
  return *this;
}
PodBuilder& PodBuilder::Limit(absl::string_view resource, absl::string_view quantity) {
  SetQuantity(LastContainer().mutable_resources()->mutable_limits(), resource, quantity);
  return *this;
}
PodBuilder& PodBuilder::HostPort(int32_t port, absl::string_view protocol, absl::string_view ip) {
  api::ContainerPort* added = LastContainer().add_ports();
  added->set_container_port(port);
  added->set_host_port(port);
  if (!protocol.empty()) added->set_protocol(Text(protocol));
  if (!ip.empty()) added->set_host_ip(Text(ip));
  return *this;
}
PodBuilder& PodBuilder::PodLevelRequest(absl::string_view resource, absl::string_view quantity) {
  SetQuantity(pod_->mutable_spec()->mutable_resources()->mutable_requests(), resource, quantity);
  return *this;
}
PodBuilder& PodBuilder::Overhead(absl::string_view resource, absl::string_view quantity) {
  SetQuantity(pod_->mutable_spec()->mutable_overhead(), resource, quantity);
  return *this;
}

PodBuilder& PodBuilder::SchedulerName(absl::string_view name) {
  pod_->mutable_spec()->set_scheduler_name(Text(name));
  return *this;
}
PodBuilder& PodBuilder::NodeName(absl::string_view name) {
  pod_->mutable_spec()->set_node_name(Text(name));
  return *this;
}
PodBuilder& PodBuilder::Priority(int32_t priority) {
  pod_->mutable_spec()->set_priority(priority);
  return *this;
}
PodBuilder& PodBuilder::PreemptNever() {
  pod_->mutable_spec()->set_preemption_policy("Never");
  return *this;
}
PodBuilder& PodBuilder::SchedulingGate(absl::string_view name) {
  pod_->mutable_spec()->add_scheduling_gates()->set_name(Text(name));
  return *this;
}
PodBuilder& PodBuilder::Toleration(absl::string_view key, absl::string_view value,
                                   TaintEffect effect) {
  api::Toleration* toleration = pod_->mutable_spec()->add_tolerations();
  toleration->set_key(Text(key));
  toleration->set_operator_("Equal");
  toleration->set_value(Text(value));
  toleration->set_effect(Text(TaintEffectName(effect)));
  return *this;
}
PodBuilder& PodBuilder::TolerationExists(absl::string_view key, TaintEffect effect) {
  api::Toleration* toleration = pod_->mutable_spec()->add_tolerations();
  toleration->set_key(Text(key));
  toleration->set_operator_("Exists");
  toleration->set_effect(Text(TaintEffectName(effect)));
  return *this;
}

PodBuilder& PodBuilder::NodeSelector(absl::string_view key, absl::string_view value) {
  (*pod_->mutable_spec()->mutable_node_selector())[Text(key)] = Text(value);
  return *this;
}
PodBuilder& PodBuilder::NodeAffinityIn(absl::string_view key, const Strings& values) {
  SetRequirement(key, "In", values, AddRequirement(*pod_));
  return *this;
}
PodBuilder& PodBuilder::NodeAffinityNotIn(absl::string_view key, const Strings& values) {
  SetRequirement(key, "NotIn", values, AddRequirement(*pod_));
  return *this;
}
PodBuilder& PodBuilder::NodeAffinityExists(absl::string_view key) {
  SetRequirement(key, "Exists", {}, AddRequirement(*pod_));
  return *this;
}
PodBuilder& PodBuilder::PreferredNodeAffinityIn(int32_t weight, absl::string_view key,
                                                const Strings& values) {
  api::PreferredSchedulingTerm* term =
      pod_->mutable_spec()
          ->mutable_affinity()
          ->mutable_node_affinity()
          ->add_preferred_during_scheduling_ignored_during_execution();
  term->set_weight(weight);
  SetRequirement(key, "In", values, term->mutable_preference()->add_match_expressions());
  return *this;
}

PodBuilder& PodBuilder::PodAffinity(absl::string_view topology_key, const LabelSet& selector) {
  SetPodAffinityTerm(topology_key, selector,
                     pod_->mutable_spec()
                         ->mutable_affinity()
                         ->mutable_pod_affinity()
                         ->add_required_during_scheduling_ignored_during_execution());
  return *this;
}
PodBuilder& PodBuilder::PodAntiAffinity(absl::string_view topology_key, const LabelSet& selector) {
  SetPodAffinityTerm(topology_key, selector,
                     pod_->mutable_spec()
                         ->mutable_affinity()
                         ->mutable_pod_anti_affinity()
                         ->add_required_during_scheduling_ignored_during_execution());
  return *this;
}
PodBuilder& PodBuilder::PreferredPodAffinity(int32_t weight, absl::string_view topology_key,
                                             const LabelSet& selector) {
  api::WeightedPodAffinityTerm* term =
      pod_->mutable_spec()
          ->mutable_affinity()
          ->mutable_pod_affinity()
          ->add_preferred_during_scheduling_ignored_during_execution();
  term->set_weight(weight);
  SetPodAffinityTerm(topology_key, selector, term->mutable_pod_affinity_term());
  return *this;
}
PodBuilder& PodBuilder::PreferredPodAntiAffinity(int32_t weight, absl::string_view topology_key,
                                                 const LabelSet& selector) {
  api::WeightedPodAffinityTerm* term =
      pod_->mutable_spec()
          ->mutable_affinity()
          ->mutable_pod_anti_affinity()
          ->add_preferred_during_scheduling_ignored_during_execution();
  term->set_weight(weight);
  SetPodAffinityTerm(topology_key, selector, term->mutable_pod_affinity_term());
  return *this;
}
PodBuilder& PodBuilder::SpreadConstraint(int32_t max_skew, absl::string_view topology_key,
                                         UnsatisfiableAction action, const LabelSet& selector) {
  api::TopologySpreadConstraint* constraint =
      pod_->mutable_spec()->add_topology_spread_constraints();
  constraint->set_max_skew(max_skew);
  constraint->set_topology_key(Text(topology_key));
  constraint->set_when_unsatisfiable(
      action == UnsatisfiableAction::kDoNotSchedule ? "DoNotSchedule" : "ScheduleAnyway");
  SetLabels(selector, constraint->mutable_label_selector());
  return *this;
}
PodBuilder& PodBuilder::MinDomains(int32_t domains) {
  LastConstraint(*pod_)->set_min_domains(domains);
  return *this;
}
PodBuilder& PodBuilder::MatchLabelKeys(const Strings& keys) {
  for (const absl::string_view key : keys) LastConstraint(*pod_)->add_match_label_keys(Text(key));
  return *this;
}
PodBuilder& PodBuilder::NodeAffinityPolicy(NodeInclusionPolicy policy) {
  LastConstraint(*pod_)->set_node_affinity_policy(Text(PolicyName(policy)));
  return *this;
}
PodBuilder& PodBuilder::NodeTaintsPolicy(NodeInclusionPolicy policy) {
  LastConstraint(*pod_)->set_node_taints_policy(Text(PolicyName(policy)));
  return *this;
}

PodBuilder& PodBuilder::Claim(absl::string_view claim_name) {
  api::Volume* volume = pod_->mutable_spec()->add_volumes();
  volume->set_name(Text(claim_name));
  volume->mutable_volume_source()->mutable_persistent_volume_claim()->set_claim_name(
      Text(claim_name));
  return *this;
}
PodBuilder& PodBuilder::EphemeralVolume(absl::string_view volume_name) {
  api::Volume* volume = pod_->mutable_spec()->add_volumes();
  volume->set_name(Text(volume_name));
  volume->mutable_volume_source()->mutable_ephemeral()->mutable_volume_claim_template();
  return *this;
}

PodBuilder& PodBuilder::NominatedNodeName(absl::string_view name) {
  pod_->mutable_status()->set_nominated_node_name(Text(name));
  return *this;
}
PodBuilder& PodBuilder::Phase(absl::string_view phase) {
  pod_->mutable_status()->set_phase(Text(phase));
  return *this;
}
PodBuilder& PodBuilder::Started(absl::Time time) {
  SetTime(time, pod_->mutable_status()->mutable_start_time());
  return *this;
}

api::Pod PodBuilder::Proto() const {
  api::Pod pod = *pod_;
  api::ObjectMeta* metadata = pod.mutable_metadata();
  if (!metadata->has_uid()) {
    metadata->set_uid(absl::StrCat(metadata->namespace_(), "/", metadata->name()));
  }
  return pod;
}
std::shared_ptr<const PodInfo> PodBuilder::Obj() const {
  auto pod = PodInfo::Create(std::make_shared<const api::Pod>(Proto()));
  BERTH_CHECK(pod.ok()) << pod.status().ToString();
  return *std::move(pod);
}
::berth::Object PodBuilder::Object() const {
  return ::berth::Object::Of(std::make_shared<const api::Pod>(Proto()));
}

// --- Nodes ---------------------------------------------------------------------------------------

NodeBuilder::NodeBuilder() : node_(std::make_unique<api::Node>()) {
  Name(NumberedName("node")).Pods(110);
}
NodeBuilder::NodeBuilder(const NodeBuilder& other)
    : node_(std::make_unique<api::Node>(*other.node_)) {}
NodeBuilder& NodeBuilder::operator=(const NodeBuilder& other) {
  *node_ = *other.node_;
  return *this;
}
NodeBuilder::~NodeBuilder() = default;

NodeBuilder& NodeBuilder::Name(absl::string_view name) {
  node_->mutable_metadata()->set_name(Text(name));
  return *this;
}
NodeBuilder& NodeBuilder::Label(absl::string_view key, absl::string_view value) {
  (*node_->mutable_metadata()->mutable_labels())[Text(key)] = Text(value);
  return *this;
}
NodeBuilder& NodeBuilder::Annotation(absl::string_view key, absl::string_view value) {
  (*node_->mutable_metadata()->mutable_annotations())[Text(key)] = Text(value);
  return *this;
}
NodeBuilder& NodeBuilder::Taint(absl::string_view key, absl::string_view value,
                                TaintEffect effect) {
  api::Taint* taint = node_->mutable_spec()->add_taints();
  taint->set_key(Text(key));
  taint->set_value(Text(value));
  taint->set_effect(Text(TaintEffectName(effect)));
  return *this;
}
NodeBuilder& NodeBuilder::Unschedulable() {
  node_->mutable_spec()->set_unschedulable(true);
  return *this;
}
NodeBuilder& NodeBuilder::Capacity(absl::string_view resource, absl::string_view quantity) {
  SetQuantity(node_->mutable_status()->mutable_capacity(), resource, quantity);
  return Allocatable(resource, quantity);
}
NodeBuilder& NodeBuilder::Allocatable(absl::string_view resource, absl::string_view quantity) {
  SetQuantity(node_->mutable_status()->mutable_allocatable(), resource, quantity);
  return *this;
}
NodeBuilder& NodeBuilder::Pods(int count) { return Capacity(kPodsResource, absl::StrCat(count)); }
NodeBuilder& NodeBuilder::Image(absl::string_view name, int64_t size_bytes) {
  api::ContainerImage* image = node_->mutable_status()->add_images();
  image->add_names(Text(name));
  image->set_size_bytes(size_bytes);
  return *this;
}

api::Node NodeBuilder::Proto() const { return *node_; }
std::shared_ptr<const NodeSpec> NodeBuilder::Obj() const {
  auto node = NodeSpec::Create(std::make_shared<const api::Node>(*node_));
  BERTH_CHECK(node.ok()) << node.status().ToString();
  return *std::move(node);
}
::berth::Object NodeBuilder::Object() const {
  return ::berth::Object::Of(std::make_shared<const api::Node>(*node_));
}
NodeInfo NodeBuilder::Info(const std::vector<std::shared_ptr<const PodInfo>>& pods) const {
  NodeInfo node(Obj());
  for (const auto& pod : pods) node.AddPod(pod);
  return node;
}

// --- Tables and manifests ------------------------------------------------------------------------

TestNodes::TestNodes(std::vector<NodeInfo> nodes) : nodes_(std::move(nodes)) {
  std::vector<const NodeInfo*> order;
  for (const NodeInfo& node : nodes_) order.push_back(&node);
  table_.SetOrder(order);
}
void TestNodes::AddPod(NodeRow row, std::shared_ptr<const PodInfo> pod) {
  nodes_[row].AddPod(std::move(pod));
  table_.RefreshRow(row);
}

std::vector<Object> ObjectsFromYaml(absl::string_view yaml) {
  Manifests manifests = ParseManifest(yaml, "test.yaml");
  BERTH_CHECK(manifests.problems.errors() == 0) << manifests.problems.ToString();
  BERTH_CHECK(manifests.ignored_kinds.empty()) << manifests.ignored_kinds.begin()->first;
  return std::move(manifests.objects);
}
std::shared_ptr<const PodInfo> PodFromYaml(absl::string_view yaml) {
  auto pod = PodInfo::Create(FromYaml<api::Pod>(yaml));
  BERTH_CHECK(pod.ok()) << pod.status().ToString();
  return *std::move(pod);
}
NodeInfo NodeFromYaml(absl::string_view yaml) {
  auto node = NodeSpec::Create(FromYaml<api::Node>(yaml));
  BERTH_CHECK(node.ok()) << node.status().ToString();
  return NodeInfo(*std::move(node));
}

}  // namespace berth::testing
