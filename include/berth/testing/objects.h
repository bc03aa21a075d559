// SPDX-License-Identifier: Apache-2.0
// Builders of pods and nodes for tests: MakePod().Name("p").Request("cpu", "2").Obj().
#ifndef BERTH_TESTING_OBJECTS_H_
#define BERTH_TESTING_OBJECTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/object.h"
#include "berth/api/taints.h"
#include "berth/check.h"
#include "berth/columns/node_table.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth::api {
class Container;
}  // namespace berth::api

namespace berth::testing {

using Strings = std::vector<absl::string_view>;

// A pod in namespace "default" for "default-scheduler", named "pod-1", "pod-2" … and without
// containers. Its uid is "namespace/name" unless given. Copies are independent, so a builder can
// be a template for others.
class PodBuilder {
 public:
  PodBuilder();
  PodBuilder(const PodBuilder& other);
  PodBuilder& operator=(const PodBuilder& other);
  ~PodBuilder();

  PodBuilder& Name(absl::string_view name);
  PodBuilder& Namespace(absl::string_view name);
  PodBuilder& Uid(absl::string_view uid);
  PodBuilder& Label(absl::string_view key, absl::string_view value);
  PodBuilder& Annotation(absl::string_view key, absl::string_view value);
  PodBuilder& Created(absl::Time time);
  PodBuilder& Deleted(absl::Time time = absl::UnixEpoch());  // being deleted since then
  // The object that controls it, such as ("ReplicaSet", "web-1").
  PodBuilder& ControlledBy(absl::string_view kind, absl::string_view name);

  // Each begins a container; Request(), Limit() and HostPort() then add to it. Without one before
  // them they begin a container.
  PodBuilder& Container(absl::string_view image = "");
  PodBuilder& InitContainer(absl::string_view image = "");
  PodBuilder& Sidecar(absl::string_view image = "");  // an init container that keeps running
  PodBuilder& Request(absl::string_view resource, absl::string_view quantity);
  PodBuilder& Limit(absl::string_view resource, absl::string_view quantity);
  PodBuilder& HostPort(int32_t port, absl::string_view protocol = "", absl::string_view ip = "");
  // A request of the pod as a whole (spec.resources).
  PodBuilder& PodLevelRequest(absl::string_view resource, absl::string_view quantity);
  PodBuilder& Overhead(absl::string_view resource, absl::string_view quantity);

  PodBuilder& SchedulerName(absl::string_view name);
  PodBuilder& NodeName(absl::string_view name);
  PodBuilder& Priority(int32_t priority);
  PodBuilder& PreemptNever();
  PodBuilder& SchedulingGate(absl::string_view name);
  PodBuilder& Toleration(absl::string_view key, absl::string_view value, TaintEffect effect);
  // Any value of `key`; of every key if that is empty.
  PodBuilder& TolerationExists(absl::string_view key, TaintEffect effect = TaintEffect::kNone);

  PodBuilder& NodeSelector(absl::string_view key, absl::string_view value);
  // Required; all calls together make one term, whose requirements must all hold.
  PodBuilder& NodeAffinityIn(absl::string_view key, const Strings& values);
  PodBuilder& NodeAffinityNotIn(absl::string_view key, const Strings& values);
  PodBuilder& NodeAffinityExists(absl::string_view key);
  PodBuilder& PreferredNodeAffinityIn(int32_t weight, absl::string_view key, const Strings& values);

  // A term each. `selector` by matchLabels: {{"app", "web"}}; an empty one selects every pod.
  PodBuilder& PodAffinity(absl::string_view topology_key, const LabelSet& selector);
  PodBuilder& PodAntiAffinity(absl::string_view topology_key, const LabelSet& selector);
  PodBuilder& PreferredPodAffinity(int32_t weight, absl::string_view topology_key,
                                   const LabelSet& selector);
  PodBuilder& PreferredPodAntiAffinity(int32_t weight, absl::string_view topology_key,
                                       const LabelSet& selector);
  PodBuilder& SpreadConstraint(int32_t max_skew, absl::string_view topology_key,
                               UnsatisfiableAction action, const LabelSet& selector);
  PodBuilder& MinDomains(int32_t domains);                     // of the last constraint
  PodBuilder& MatchLabelKeys(const Strings& keys);             // of the last constraint
  PodBuilder& NodeAffinityPolicy(NodeInclusionPolicy policy);  // of the last constraint
  PodBuilder& NodeTaintsPolicy(NodeInclusionPolicy policy);    // of the last constraint

  PodBuilder& Claim(absl::string_view claim_name);  // a volume of that PersistentVolumeClaim
  PodBuilder& EphemeralVolume(absl::string_view volume_name);

  PodBuilder& NominatedNodeName(absl::string_view name);
  PodBuilder& Phase(absl::string_view phase);
  PodBuilder& Started(absl::Time time);

  // Include "berth/api/core_v1.pb.h" to use the message. Changing it changes what is built next.
  api::Pod& Message() { return *pod_; }
  api::Pod Proto() const;
  // Ends the process if the pod is not valid.
  std::shared_ptr<const PodInfo> Obj() const;
  ::berth::Object Object() const;

 private:
  // What Request() and its like add to.
  api::Container& LastContainer();

  std::unique_ptr<api::Pod> pod_;
  bool last_is_init_container_ = false;
};

// A node named "node-1", "node-2" … that has room for 110 pods and nothing else.
class NodeBuilder {
 public:
  NodeBuilder();
  NodeBuilder(const NodeBuilder& other);
  NodeBuilder& operator=(const NodeBuilder& other);
  ~NodeBuilder();

  NodeBuilder& Name(absl::string_view name);
  NodeBuilder& Label(absl::string_view key, absl::string_view value);
  NodeBuilder& Annotation(absl::string_view key, absl::string_view value);
  NodeBuilder& Taint(absl::string_view key, absl::string_view value, TaintEffect effect);
  NodeBuilder& Unschedulable();
  // Capacity, and allocatable as well.
  NodeBuilder& Capacity(absl::string_view resource, absl::string_view quantity);
  NodeBuilder& Allocatable(absl::string_view resource, absl::string_view quantity);
  NodeBuilder& Pods(int count);
  NodeBuilder& Image(absl::string_view name, int64_t size_bytes);

  api::Node& Message() { return *node_; }
  api::Node Proto() const;
  // Ends the process if the node is not valid.
  std::shared_ptr<const NodeSpec> Obj() const;
  ::berth::Object Object() const;
  // The node with these pods on it.
  NodeInfo Info(const std::vector<std::shared_ptr<const PodInfo>>& pods = {}) const;

 private:
  std::unique_ptr<api::Node> node_;
};

inline PodBuilder MakePod() { return PodBuilder(); }
inline NodeBuilder MakeNode() { return NodeBuilder(); }

// A table and the nodes that are its rows, in the given order.
class TestNodes {
 public:
  explicit TestNodes(std::vector<NodeInfo> nodes);
  TestNodes(const TestNodes&) = delete;
  TestNodes& operator=(const TestNodes&) = delete;

  const NodeTable& table() const { return table_; }
  const NodeInfo& node(NodeRow row) const { return nodes_[row]; }
  int size() const { return table_.size(); }
  // After it the table knows of the pod.
  void AddPod(NodeRow row, std::shared_ptr<const PodInfo> pod);

 private:
  std::vector<NodeInfo> nodes_;
  NodeTable table_;
};

// The objects of a manifest. Ends the process, saying why, if anything in it cannot be read or has
// a kind that Berth does not know.
std::vector<Object> ObjectsFromYaml(absl::string_view yaml);

// The only object of a manifest: FromYaml<api::Pod>(R"(...)"). Needs the definition of T.
template <class T>
std::shared_ptr<const T> FromYaml(absl::string_view yaml) {
  const std::vector<Object> objects = ObjectsFromYaml(yaml);
  BERTH_CHECK(objects.size() == 1) << objects.size() << " objects in:\n" << yaml;
  return objects[0].Share<T>();
}
std::shared_ptr<const PodInfo> PodFromYaml(absl::string_view yaml);
NodeInfo NodeFromYaml(absl::string_view yaml);

}  // namespace berth::testing

#endif  // BERTH_TESTING_OBJECTS_H_
