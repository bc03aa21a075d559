// SPDX-License-Identifier: Apache-2.0
// UsageReporter: what nodes have left of a resource that pods may have parts of.
#ifndef BERTH_EXTENSIONS_USAGE_H_
#define BERTH_EXTENSIONS_USAGE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

class NodeTable;

// How much is in use of a resource whose units are given away whole or in parts, such as GPUs.
struct ResourceUsage {
  std::string resource;  // "nvidia.com/gpu"
  struct Node {
    int64_t milli_all = 0;   // thousandths of a unit, of the units that may be used
    int64_t milli_used = 0;  // the same, that pods have
    int64_t whole_free = 0;  // units that may be used and of which no pod has a part
  };
  std::vector<Node> nodes;  // those that have such units
};

// Optional, for plugins that give away parts of what a resource counts in whole units: what they
// say is shown where sums of requests would leave the parts out.
class UsageReporter {
 public:
  virtual ~UsageReporter() = default;

  // One entry a resource. Scheduling thread; called only when asked for.
  virtual std::vector<ResourceUsage> Usage(const NodeTable& nodes) = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_USAGE_H_
