// The one list of built-in plugins: a line each.
#include <utility>

#include "berth/builtin_plugins.h"
#include "plugins/default_binder/default_binder.h"
#include "plugins/node_name/node_name.h"
#include "plugins/node_resources/node_resources_fit.h"
#include "plugins/node_unschedulable/node_unschedulable.h"
#include "plugins/priority_sort/priority_sort.h"
#include "plugins/scheduling_gates/scheduling_gates.h"
#include "plugins/taint_toleration/taint_toleration.h"

namespace berth {

void AddBuiltinPlugins(Registry::Builder& builder) {
  builder.Add(DefaultBinder::kName, &DefaultBinder::Create);
  builder.Add(NodeName::kName, &NodeName::Create);
  builder.Add(NodeResourcesFit::kName, &NodeResourcesFit::Create, NodeResourcesFitArgs::Fields());
  builder.Add(NodeUnschedulable::kName, &NodeUnschedulable::Create);
  builder.Add(PrioritySort::kName, &PrioritySort::Create);
  builder.Add(SchedulingGates::kName, &SchedulingGates::Create);
  builder.Add(TaintToleration::kName, &TaintToleration::Create);
}

absl::StatusOr<Registry> BuiltinRegistry(std::vector<PluginRegistration> extra) {
  Registry::Builder builder;
  AddBuiltinPlugins(builder);
  for (PluginRegistration& registration : extra) builder.Add(std::move(registration));
  return std::move(builder).Build();
}

}  // namespace berth
