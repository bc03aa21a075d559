// SPDX-License-Identifier: Apache-2.0
// Which events each built-in plugin registers: kube-scheduler v1.35's, with queueing hints on. A
// plugin that is not in the table must not be able to requeue a pod.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "berth/builtin_plugins.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/testing/fake_handle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::testing {
namespace {

std::string EventsOf(const PluginRegistration& registration, const std::string& text = "{}") {
  FakeHandle handle;
  const PluginArgs args = registration.args == nullptr
                              ? PluginArgs()
                              : PluginArgs::Parse(text, *registration.args).value();
  const auto plugin = registration.factory(args, handle).value();
  const auto* extensions = dynamic_cast<const EnqueueExtensions*>(plugin.get());
  if (extensions == nullptr) return "everything";
  std::vector<std::string> names;
  for (const ClusterEventWithHint& event : extensions->EventsToRegister()) {
    event.event.AppendNames(names);
    // An event without a hint or a filter always queues.
    if (event.hint == nullptr && event.filter == nullptr) names.back() += "!";
  }
  return absl::StrJoin(names, " ");
}

TEST(Events, AreThoseOfKubeScheduler) {
  const std::map<std::string, std::string> want = {
      // All after ElasticQuota are ours: in a tree of quotas the nodes bound what may be lent and
      // where pods can take it back, and devices are counted as what they are once a claim has
      // them.
      {"CapacityScheduling",
       "Pod/Delete Pod/UpdatePodScaleDown! ElasticQuota/* ClusterQuota/* Node/Add "
       "Node/UpdateNodeAllocatable Node/UpdateNodeLabel Node/UpdateNodeTaint ResourceClaim/Add "
       "ResourceClaim/Update ResourceSlice/* DeviceClass/*"},
      {"Coscheduling",
       // The PodGroups of scheduler-plugins, Volcano and Kubernetes.
       "PodGroup/Add PodGroup/Update PodGroup/Add PodGroup/Update PodGroup/Add PodGroup/Update "
       "CompositePodGroup/Add CompositePodGroup/Update Workload/Add Workload/Update "
       "AssignedPod/Delete AssignedPod/UpdatePodScaleDown Node/Add Node/UpdateNodeAllocatable"},
      // Upstream's Pod/Delete, which never is reason enough, has its gate asked again.
      {"DefaultPreemption", ""},
      // AssignedPod/Delete is ours: what a pod was promised comes back without a claim that
      // changes.
      {"DynamicResources",
       "Node/Add Node/UpdateNodeAllocatable Node/UpdateNodeLabel! ResourceClaim/Add "
       "ResourceClaim/Update Pod/UpdatePodGeneratedResourceClaim AssignedPod/Delete "
       "DeviceClass/Add DeviceClass/Update! ResourceSlice/Add ResourceSlice/Update!"},
      // Pod/Add is the engine's to notice: it asks about a group whenever its members change.
      {"GangScheduling",
       "PodGroup/Add PodGroup/Update CompositePodGroup/Add CompositePodGroup/Update Workload/Add "
       "Workload/Update"},
      {"GpuDevices",
       "Pod/Delete! Node/Add Node/UpdateNodeAllocatable Node/UpdateNodeLabel "
       "Node/UpdateNodeAnnotation! Device/Add Device/Update!"},
      // Node/Delete is ours: with a node its pods leave the count.
      {"InterPodAffinity",
       "Pod/Add Pod/Delete Pod/UpdatePodLabel Node/Add Node/Delete Node/UpdateNodeLabel"},
      {"NodeAffinity", "Node/Add Node/UpdateNodeLabel"},
      {"NodeName", "Node/Add!"},
      {"NodePorts", "Pod/Delete Node/Add!"},
      {"NodeResourcesFit", "Pod/Delete Pod/UpdatePodScaleDown Node/Add Node/UpdateNodeAllocatable"},
      {"NodeUnschedulable", "Node/Add Node/UpdateNodeTaint Pod/UpdatePodToleration"},
      {"NodeVolumeLimits",
       "CSINode/Add! CSINode/Update Pod/Delete PersistentVolumeClaim/Add VolumeAttachment/Delete"},
      {"PodTopologySpread",
       "Pod/Add Pod/Delete Pod/UpdatePodLabel Pod/UpdatePodToleration Node/Add Node/Delete "
       "Node/UpdateNodeLabel Node/UpdateNodeTaint"},
      {"SchedulingGates", "Pod/UpdatePodSchedulingGatesEliminated"},
      {"TaintToleration", "Node/Add Node/UpdateNodeTaint Pod/UpdatePodToleration"},
      {"TopologyPlacementGenerator",
       "Node/Add Node/UpdateNodeLabel! Topology/*! Topology/*! ClusterNetworkTopology/*!"},
      {"VolumeBinding",
       "StorageClass/Add StorageClass/Update PersistentVolumeClaim/Add "
       "PersistentVolumeClaim/Update PersistentVolume/Add PersistentVolume/Update! Node/Add "
       "Node/UpdateNodeLabel! CSINode/Add CSINode/Update CSIDriver/Update CSIStorageCapacity/Add "
       "CSIStorageCapacity/Update"},
      {"VolumeRestrictions", "Pod/Delete Node/Add! PersistentVolumeClaim/Add"},
      {"VolumeZone",
       "StorageClass/Add Node/Add Node/UpdateNodeLabel! PersistentVolumeClaim/Add "
       "PersistentVolumeClaim/Update PersistentVolume/Add PersistentVolume/Update"},
  };
  static const Registry& registry = *new Registry(BuiltinRegistry().value());
  std::map<std::string, std::string> got;
  for (const auto& [name, registration] : registry.plugins()) {
    const std::string events = EventsOf(registration);
    if (events != "everything") got[name] = events;
  }
  EXPECT_EQ(got, want);

  // Upstream's pods hear of slices whose taints a rule changed.
  EXPECT_EQ(EventsOf(registry.plugins().at("DynamicResources"),
                     "{featureGates: {DRADeviceTaints: true, DRADeviceTaintRules: true}}"),
            want.at("DynamicResources") + " DeviceTaintRule/*");
}

}  // namespace
}  // namespace berth::testing
