// SPDX-License-Identifier: Apache-2.0
// The quick check of a PodGroup's minResources against what is free in the whole cluster.
#ifndef BERTH_PLUGINS_COSCHEDULING_MIN_RESOURCES_H_
#define BERTH_PLUGINS_COSCHEDULING_MIN_RESOURCES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/group.h"

namespace berth {

class ExtendedResourceClasses;

// What of the group's minResources (and of minMember pods) the nodes lack when the group's own
// pods are left out; "" if nothing. An upper bound: it sums over nodes and knows no fragments.
// scheduler-plugins pkg/coscheduling/core CheckClusterResource, its text included. With `classes`,
// of a resource that a node does not list the devices count that stand for it there and that no
// claim has (DRAExtendedResource); the text then says of which class, and how many there are.
std::string MinResourcesGap(const api::PodGroup& pod_group, const GroupMembers* members,
                            const NodeTable& nodes,
                            const ExtendedResourceClasses* classes = nullptr);

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_MIN_RESOURCES_H_
