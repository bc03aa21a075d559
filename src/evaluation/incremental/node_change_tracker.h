// SPDX-License-Identifier: Apache-2.0
// What changed of the nodes, of the pods nominated to them, and of what plugins keep of them,
// between two pods of a class.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGE_TRACKER_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGE_TRACKER_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/columns/aspects.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/node_changes.h"
#include "framework/framework.h"
#include "framework/nominated_rows.h"
#include "table/far_behind.h"

namespace berth {

// For caches by row. Scheduling thread.
class NodeChangeTracker {
 public:
  // For the verdicts and scores of `plugins`, and perhaps of others that depend on objects.
  NodeChangeTracker(const Framework& framework, PluginMask plugins) {
    for (const Signer& hook : framework.plugins().signers) {
      if ((MaskOf(hook) & plugins) == 0) continue;
      const auto* const source = dynamic_cast<const NodeChangeSource*>(hook.plugin);
      if (source != nullptr) sources_.push_back({source, MaskOf(hook)});
    }
  }

  struct Question {
    const NodeTable& nodes;
    const Nominator& nominator;
    const PodInfo& evaluated_pod;
    Aspects depends_on;  // of the cache
    PluginMask skipped;  // by PreFilter
    bool all_nominated;  // each row to which a pod is nominated counts as changed
  };
  // Reports what happened since the last call:
  //   change(row)           the cache depends on what changed of the node, or other nominated pods
  //                         count on it for the evaluated pod
  //   move(const RowMove&)  nodes came or went; rows after it have their new numbers
  //   moved()               after the last of several moves
  // False if all rows are to be evaluated again; some changes may have been reported.
  template <class Change, class Move, class Moved>
  bool CatchUp(const Question& question, Change change, Move move, Moved moved) {
    const NodeTable& nodes = question.nodes;
    const Nominator& nominator = question.nominator;
    const PodInfo& evaluated_pod = question.evaluated_pod;
    const Aspects depends_on = question.depends_on;
    const uint64_t version = std::exchange(version_, nodes.version());
    const auto nominations =
        nominator.ChangesSince(std::exchange(nominations_version_, nominator.version()));
    const Symbol last_own_node = std::exchange(
        own_node_, Symbol::Find(nominator.NominatedNode(evaluated_pod)).value_or(Symbol()));
    // Priority decides which nominations count.
    const bool other_priority =
        evaluated_pod.priority() != std::exchange(priority_, evaluated_pod.priority());
    const bool all_nominated = question.all_nominated || other_priority;
    std::vector<Symbol> nodes_of_plugins;
    const bool plugins_followed = ReadSources(question.skipped, nodes_of_plugins);
    if (version == 0 || !nominations.has_value() || !plugins_followed ||
        IsFarBehind(nodes, version)) {
      return false;
    }

    bool has_moved = false;
    bool image_spread_changed = false;  // of all rows
    const bool followed = nodes.Replay(
        version,
        [&](const RowChange& changed) {
          const Aspects aspects = changed.aspects & depends_on;
          image_spread_changed |= (aspects & Aspect::kImageSpread) != 0;
          if (aspects != 0) change(changed.row);
        },
        [&](const RowMove& row_move) {
          has_moved = true;
          move(row_move);
        });
    image_spread_changed |= has_moved && (depends_on & Aspect::kImageSpread) != 0;
    if (!followed || image_spread_changed) return false;
    if (has_moved) moved();
    const auto change_node = [&](Symbol node) {
      const NodeRow row = node.empty() ? -1 : nodes.FindRow(node);
      if (row >= 0) change(row);
    };
    absl::c_for_each(nodes_of_plugins, change_node);
    absl::c_for_each(*nominations, change_node);
    // A pod's own nomination does not count for it.
    change_node(last_own_node);
    change_node(own_node_);
    if (all_nominated) ForEachNominatedRow(nominator, nodes, change);
    return true;
  }

 private:
  // A plugin that says itself which nodes changed.
  struct Source {
    const NodeChangeSource* plugin;
    PluginMask mask;
    uint64_t version = 0;
  };

  // False if any node may have changed.
  bool ReadSources(PluginMask skipped, std::vector<Symbol>& changed) {
    bool followed = true;
    for (Source& source : sources_) {
      if (source.mask & skipped) continue;
      const std::optional<absl::Span<const Symbol>> changes =
          source.plugin->NodeChangesSince(source.version);
      source.version = source.plugin->NodeChangesVersion();
      followed &= changes.has_value();
      if (followed) changed.insert(changed.end(), changes->begin(), changes->end());
    }
    return followed;
  }

  std::vector<Source> sources_;
  uint64_t version_ = 0;  // of the table
  uint64_t nominations_version_ = 0;
  int32_t priority_ = 0;
  Symbol own_node_;  // that the evaluated pod itself was nominated to, or empty
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGE_TRACKER_H_
