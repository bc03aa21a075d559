// SPDX-License-Identifier: Apache-2.0
// What changed of the nodes, and of the pods nominated to them, between two pods of a class.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGES_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGES_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/columns/aspects.h"
#include "berth/columns/node_table.h"
#include "berth/columns/row_move.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "framework/nominated_rows.h"
#include "table/far_behind.h"

namespace berth {

// For caches by row. Scheduling thread.
class NodeChanges {
 public:
  // Reports what happened since the last call, for a cache whose verdicts depend on `depends_on`:
  //   change(row, aspects)  the node's aspects changed; kEverything if other nominated pods count
  //                         on it for `evaluated_pod`
  //   move(const RowMove&)  nodes came or went; rows after it have their new numbers
  //   moved()               after the last of several moves
  // With `all_nominated`, each row to which a pod is nominated has changed. False if all rows are
  // to be evaluated again; some changes may have been reported.
  template <class Change, class Move, class Moved>
  bool CatchUp(const NodeTable& nodes, const Nominator& nominator, const PodInfo& evaluated_pod,
               Aspects depends_on, bool all_nominated, Change change, Move move, Moved moved) {
    const uint64_t version = std::exchange(version_, nodes.version());
    const auto nominations =
        nominator.ChangesSince(std::exchange(nominations_version_, nominator.version()));
    const Symbol last_own_node = std::exchange(
        own_node_, Symbol::Find(nominator.NominatedNode(evaluated_pod)).value_or(Symbol()));
    // Priority decides which nominations count.
    all_nominated |= evaluated_pod.priority() != std::exchange(priority_, evaluated_pod.priority());
    if (version == 0 || !nominations.has_value() || IsFarBehind(nodes, version)) return false;

    bool has_moved = false;
    image_spread_changed_ = false;
    const bool followed = nodes.Replay(
        version,
        [&](const RowChange& changed) {
          const Aspects aspects = changed.aspects & depends_on;
          image_spread_changed_ |= (aspects & Aspect::kImageSpread) != 0;
          if (aspects != 0) change(changed.row, aspects);
        },
        [&](const RowMove& row_move) {
          has_moved = true;
          move(row_move);
        });
    if (!followed) return false;
    if (has_moved) {
      image_spread_changed_ |= (depends_on & Aspect::kImageSpread) != 0;
      moved();
    }
    const auto change_all_of = [&](Symbol node) {
      const NodeRow row = node.empty() ? -1 : nodes.FindRow(node);
      if (row >= 0) change(row, Aspect::kEverything);
    };
    for (const Symbol node : *nominations) change_all_of(node);
    // A pod's own nomination does not count for it.
    change_all_of(last_own_node);
    change_all_of(own_node_);
    if (all_nominated) {
      ForEachNominatedRow(nominator, nodes, [&](NodeRow row) { change(row, Aspect::kEverything); });
    }
    return true;
  }
  // Whether Aspect::kImageSpread, which is of all rows, was among the changes that CatchUp()
  // reported.
  bool image_spread_changed() const { return image_spread_changed_; }

 private:
  uint64_t version_ = 0;  // of the table
  uint64_t nominations_version_ = 0;
  int32_t priority_ = 0;
  Symbol own_node_;  // that the evaluated pod itself was nominated to, or empty
  bool image_spread_changed_ = false;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_NODE_CHANGES_H_
