// SPDX-License-Identifier: Apache-2.0
// The made-up plugins.
#include "tests/config/fake_registry.h"

#include <utility>

#include "absl/status/status.h"
#include "berth/api/core_v1.pb.h"
#include "berth/framework/handle.h"

namespace berth {

const FieldTable& GangArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<GangArgs>("GangArgs", "Arguments of Gang.")
          .Field("waitSeconds", &GangArgs::wait_seconds, "How long to wait.", AtLeast(0))
          .Field("rejectPercentage", &GangArgs::reject_percentage, "When.", InRange(0, 100)));
  return table;
}

const FieldTable& NeedyArgs::Fields() {
  static const FieldTable& table =
      *new FieldTable(DescribeFields<NeedyArgs>("NeedyArgs", "Arguments of Needy.")
                          .Field("url", &NeedyArgs::url, "Without it there is nothing to do.")
                          .Check([](const NeedyArgs& args, FieldProblems& problems) {
                            if (args.url.empty()) problems.Required("url", "where to ask");
                          }));
  return table;
}

const FieldTable& PackResource::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<PackResource>("PackResource", "A resource and what it counts.")
          .Field("name", &PackResource::name, "Its name.")
          .Field("weight", &PackResource::weight, "Its weight; 0 means 1.", InRange(1, 100))
          .Complete([](PackResource& resource) {
            if (resource.weight == 0) resource.weight = 1;
          }));
  return table;
}

const FieldTable& PackArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<PackArgs>("PackArgs", "Arguments of Pack.")
          .Field("strict", &PackArgs::strict, "")
          .Field("nodes", &PackArgs::nodes, "", GreaterThan(0))
          .Field("bytes", &PackArgs::bytes, "")
          .Field("ratio", &PackArgs::ratio, "", InRange(0, 1))
          .Field("mode", &PackArgs::mode, "", OneOf({"Least", "Most"}))
          .Field("timeout", &PackArgs::timeout, "", AtLeast(1))
          .Field("main", &PackArgs::main, "")
          .Field("limit", &PackArgs::limit, "", AtLeast(0))
          .Field("spare", &PackArgs::spare, "")
          .Field("ignored", &PackArgs::ignored, "", OneOf({"cpu", "memory"}))
          .Field("resources", &PackArgs::resources, "")
          .Field("byName", &PackArgs::by_name, "")
          .Field("ratios", &PackArgs::ratios, "", InRange(0, 1))
          .Field("affinity", &PackArgs::affinity, "")
          .Check([](const PackArgs& args, FieldProblems& problems) {
            if (args.resources.empty()) problems.Required("resources", "name at least one");
            if (args.strict && args.nodes > 100) {
              problems.Invalid("nodes", args.nodes, "must be at most 100 when strict");
            }
          }));
  return table;
}

const Registry& FakeRegistry() {
  static const Registry& registry = *[] {
    const PluginFactory factory = [](const PluginArgs&, Handle&) {
      return absl::UnimplementedError("made up");
    };
    Registry::Builder builder;
    for (const char* name : {"SchedulingGates",
                             "PrioritySort",
                             "NodeUnschedulable",
                             "NodeName",
                             "TaintToleration",
                             "NodeAffinity",
                             "NodePorts",
                             "NodeResourcesFit",
                             "VolumeRestrictions",
                             "NodeVolumeLimits",
                             "VolumeBinding",
                             "VolumeZone",
                             "PodTopologySpread",
                             "InterPodAffinity",
                             "DynamicResources",
                             "DefaultPreemption",
                             "NodeResourcesBalancedAllocation",
                             "ImageLocality",
                             "DefaultBinder",
                             "Sort",
                             "Plain"}) {
      builder.Add(name, factory);
    }
    builder.Add("Gang", factory, GangArgs::Fields());
    builder.Add("Pack", factory, PackArgs::Fields());
    builder.Add("Needy", factory, NeedyArgs::Fields());
    return new Registry(std::move(builder).Build().value());
  }();
  return registry;
}

}  // namespace berth
