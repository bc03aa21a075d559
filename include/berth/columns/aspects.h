// SPDX-License-Identifier: Apache-2.0
// Aspects: which parts of the world a verdict depends on, and which of them a change concerns.
#ifndef BERTH_COLUMNS_ASPECTS_H_
#define BERTH_COLUMNS_ASPECTS_H_

#include <cstdint>

namespace berth {

// A bit set of Aspect constants.
using Aspects = uint32_t;
struct Aspect {
  static constexpr Aspects kNothing = 0;
  static constexpr Aspects kNodeName = 1u << 0;
  static constexpr Aspects kNodeLabels = 1u << 1;
  static constexpr Aspects kNodeTaints = 1u << 2;
  static constexpr Aspects kNodeUnschedulable = 1u << 3;
  static constexpr Aspects kNodeAllocatable = 1u << 4;
  static constexpr Aspects kNodeRequested = 1u << 5;  // requests and number of its pods
  static constexpr Aspects kNodePorts = 1u << 6;
  static constexpr Aspects kNodeImages = 1u << 7;
  static constexpr Aspects kNodePods = 1u << 8;  // anything else about the pods on the node
  // Annotations, conditions ..., and what a NodeChangeSource keeps of the node (node_changes.h).
  static constexpr Aspects kNodeOther = 1u << 9;
  static constexpr Aspects kOtherNodes = 1u << 10;  // pods or labels of other nodes
  static constexpr Aspects kObjects = 1u << 11;     // Services, claims, quotas ...
  // How many nodes there are, how many of them have an image, and its size:
  // NodeTable::image_node_count() and image_size_bytes().
  static constexpr Aspects kImageSpread = 1u << 12;
  static constexpr Aspects kEverything = ~0u;

  // What a change of a node's pods may concern, and what a change of its Node object may.
  static constexpr Aspects kOfPods = kNodeRequested | kNodePorts | kNodePods;
  static constexpr Aspects kOfNodeObject = kNodeName | kNodeLabels | kNodeTaints |
                                           kNodeUnschedulable | kNodeAllocatable | kNodeImages |
                                           kNodeOther;
};

}  // namespace berth

#endif  // BERTH_COLUMNS_ASPECTS_H_
