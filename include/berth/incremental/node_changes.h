// SPDX-License-Identifier: Apache-2.0
// NodeChangeSource: a plugin that keeps something of each node that neither the Node object nor the
// node's pods say, such as which claims hold its devices, and says when that changed.
#ifndef BERTH_INCREMENTAL_NODE_CHANGES_H_
#define BERTH_INCREMENTAL_NODE_CHANGES_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "berth/api/symbol.h"

namespace berth {

// Optional, for plugins that sign pods (sign.h). Nodes where something changed are evaluated
// again by the plugins that depend on Aspect::kNodeOther. Scheduling thread;
// called after the plugin's PreFilter, which takes in what happened.
class NodeChangeSource {
 public:
  virtual ~NodeChangeSource() = default;

  // Grows with every change.
  virtual uint64_t NodeChangesVersion() const = 0;
  // The names of nodes that changed after `version`, oldest first, a node once for each change.
  // Absent if it may be any node.
  virtual std::optional<absl::Span<const Symbol>> NodeChangesSince(uint64_t version) const = 0;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_NODE_CHANGES_H_
