// SPDX-License-Identifier: Apache-2.0
// Follows what plugins keep of nodes beside their objects and pods.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGE_READER_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGE_READER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/incremental/node_changes.h"
#include "framework/framework.h"

namespace berth {

// The NodeChangeSources among some plugins, and how far each has been read. Scheduling thread.
class NodeChangeReader {
 public:
  NodeChangeReader(const Framework& framework, PluginMask plugins) {
    for (const Signer& hook : framework.plugins().signers) {
      if ((MaskOf(hook) & plugins) == 0) continue;
      const auto* const source = dynamic_cast<const NodeChangeSource*>(hook.plugin);
      if (source != nullptr) sources_.push_back({source, MaskOf(hook)});
    }
  }

  // Calls `mark` with the name of each node that changed since the last call, for plugins that are
  // not in `skipped`. False if any may have.
  template <class Mark>
  bool CatchUp(PluginMask skipped, Mark mark) {
    bool followed = true;
    for (Source& source : sources_) {
      if (source.mask & skipped) continue;
      const std::optional<absl::Span<const Symbol>> changes =
          source.plugin->NodeChangesSince(source.version);
      source.version = source.plugin->NodeChangesVersion();
      followed &= changes.has_value();
      if (!followed) continue;
      for (const Symbol node : *changes) mark(node);
    }
    return followed;
  }

 private:
  struct Source {
    const NodeChangeSource* plugin;
    PluginMask mask;
    uint64_t version = 0;
  };
  std::vector<Source> sources_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGE_READER_H_
