// SPDX-License-Identifier: Apache-2.0
// The one list of built-in plugins: a line each.
#include <utility>

#include "berth/builtin_plugins.h"
#include "plugins/capacity_scheduling/capacity_scheduling.h"
#include "plugins/coscheduling/coscheduling.h"
#include "plugins/coscheduling/gang_scheduling.h"
#include "plugins/default_binder/default_binder.h"
#include "plugins/default_preemption/default_preemption.h"
#include "plugins/dynamic_resources/dynamic_resources.h"
#include "plugins/gpu/classic_policies.h"
#include "plugins/gpu/gpu_devices.h"
#include "plugins/gpu/gpu_expected_waste.h"
#include "plugins/gpu/gpu_fgd.h"
#include "plugins/image_locality/image_locality.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"
#include "plugins/node_affinity/node_affinity.h"
#include "plugins/node_name/node_name.h"
#include "plugins/node_ports/node_ports.h"
#include "plugins/node_resources/node_resources_allocatable.h"
#include "plugins/node_resources/node_resources_balanced_allocation.h"
#include "plugins/node_resources/node_resources_fit.h"
#include "plugins/node_resources_fit_plus/node_resources_fit_plus.h"
#include "plugins/node_unschedulable/node_unschedulable.h"
#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/pod_state/pod_state.h"
#include "plugins/pod_topology_spread/pod_topology_spread.h"
#include "plugins/preemption_toleration/preemption_toleration.h"
#include "plugins/priority_sort/priority_sort.h"
#include "plugins/qos_sort/qos_sort.h"
#include "plugins/scarce_resource_avoidance/scarce_resource_avoidance.h"
#include "plugins/scheduling_gates/scheduling_gates.h"
#include "plugins/taint_toleration/taint_toleration.h"
#include "plugins/topology_placement_generator/topology_placement_generator.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_restrictions/volume_restrictions.h"
#include "plugins/volume_zone/volume_zone.h"

namespace berth {

void AddBuiltinPlugins(Registry::Builder& builder) {
  builder.Add(CapacityScheduling::kName, &CapacityScheduling::Create);
  builder.Add(Coscheduling::kName, &Coscheduling::Create, CoschedulingArgs::Fields());
  builder.Add(DefaultBinder::kName, &DefaultBinder::Create);
  builder.Add(DefaultPreemption::kName, &DefaultPreemption::Create,
              DefaultPreemptionArgs::Fields());
  builder.Add(DynamicResources::kName, &DynamicResources::Create, DynamicResourcesArgs::Fields());
  builder.Add(GangScheduling::kName, &GangScheduling::Create);
  builder.Add(GpuBestFit::kName, &GpuBestFit::Create);
  builder.Add(GpuClustering::kName, &GpuClustering::Create);
  builder.Add(GpuDevices::kName, &GpuDevices::Create, GpuDevicesArgs::Fields());
  builder.Add(GpuDotProduct::kName, &GpuDotProduct::Create);
  builder.Add(GpuExpectedWaste::kName, &GpuExpectedWaste::Create, GpuMixArgs::Fields());
  builder.Add(GpuFgd::kName, &GpuFgd::Create, GpuMixArgs::Fields());
  builder.Add(GpuPacking::kName, &GpuPacking::Create);
  builder.Add(ImageLocality::kName, &ImageLocality::Create);
  builder.Add(InterPodAffinity::kName, &InterPodAffinity::Create, InterPodAffinityArgs::Fields());
  builder.Add(NodeAffinity::kName, &NodeAffinity::Create, NodeAffinityArgs::Fields());
  builder.Add(NodeName::kName, &NodeName::Create);
  builder.Add(NodePorts::kName, &NodePorts::Create);
  builder.Add(NodeResourcesAllocatable::kName, &NodeResourcesAllocatable::Create,
              NodeResourcesAllocatableArgs::Fields());
  builder.Add(NodeResourcesBalancedAllocation::kName, &NodeResourcesBalancedAllocation::Create,
              NodeResourcesBalancedAllocationArgs::Fields());
  builder.Add(NodeResourcesFit::kName, &NodeResourcesFit::Create, NodeResourcesFitArgs::Fields());
  builder.Add(NodeResourcesFitPlus::kName, &NodeResourcesFitPlus::Create,
              NodeResourcesFitPlusArgs::Fields());
  builder.Add(NodeUnschedulable::kName, &NodeUnschedulable::Create);
  builder.Add(NodeVolumeLimits::kName, &NodeVolumeLimits::Create);
  builder.Add(PodState::kName, &PodState::Create);
  builder.Add(PodTopologySpread::kName, &PodTopologySpread::Create,
              PodTopologySpreadArgs::Fields());
  builder.Add(PreemptionToleration::kName, &PreemptionToleration::Create,
              PreemptionTolerationArgs::Fields());
  builder.Add(PrioritySort::kName, &PrioritySort::Create);
  builder.Add(QosSort::kName, &QosSort::Create);
  builder.Add(ScarceResourceAvoidance::kName, &ScarceResourceAvoidance::Create,
              ScarceResourceAvoidanceArgs::Fields());
  builder.Add(SchedulingGates::kName, &SchedulingGates::Create);
  builder.Add(TaintToleration::kName, &TaintToleration::Create);
  builder.Add(TopologyPlacementGenerator::kName, &TopologyPlacementGenerator::Create,
              TopologyPlacementGeneratorArgs::Fields());
  builder.Add(VolumeBinding::kName, &VolumeBinding::Create, VolumeBindingArgs::Fields());
  builder.Add(VolumeRestrictions::kName, &VolumeRestrictions::Create);
  builder.Add(VolumeZone::kName, &VolumeZone::Create);
}

absl::StatusOr<Registry> BuiltinRegistry(std::vector<PluginRegistration> extra) {
  Registry::Builder builder;
  AddBuiltinPlugins(builder);
  for (PluginRegistration& registration : extra) builder.Add(std::move(registration));
  return std::move(builder).Build();
}

}  // namespace berth
