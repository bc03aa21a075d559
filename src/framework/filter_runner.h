// SPDX-License-Identifier: Apache-2.0
// PreFilter and Filter of one profile, as if no pod were nominated anywhere.
#ifndef BERTH_SRC_FRAMEWORK_FILTER_RUNNER_H_
#define BERTH_SRC_FRAMEWORK_FILTER_RUNNER_H_

#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/placement.h"
#include "berth/framework/prefilter.h"
#include "framework/hook.h"
#include "framework/profile_plugins.h"

namespace berth {

// The outcome of all PreFilter plugins together.
struct PreFilterOutcome {
  Status status;  // the rejection or error if not Success
  // The nodes left, if any plugin narrowed them, and the reason for the others.
  PreFilterResult narrowed;
  Status excluded;  // UnschedulableAndUnresolvable "node(s) didn't satisfy plugin(s) [..]"
  // The plugins that narrowed the nodes, by name: they share the blame if no node is left.
  std::vector<Symbol> narrowing_plugins;
  // CycleState::placement(): no other node counts. Null: all do.
  const NodePlacement* placement = nullptr;

  // Whether every node of the table may be filtered.
  bool is_everywhere() const { return placement == nullptr && !narrowed.node_names.has_value(); }
  bool Leaves(NodeRow row, const NodeTable& nodes) const;
  // The rows that may be filtered, ascending.
  void ListRows(const NodeTable& nodes, std::vector<NodeRow>& rows) const;
};

// Scheduling thread.
class FilterRunner {
 public:
  // `plugins` outlives this.
  explicit FilterRunner(const ProfilePlugins& plugins) : plugins_(plugins) {}

  // A rejection has the plugin's name, except when several plugins together left no node: then it
  // has none, and narrowing_plugins are to blame.
  // Plugins outside `only` count as if they had said Skip.
  PreFilterOutcome RunPreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                PluginMask only = kAllPlugins) const;
  Status RunPreFilterAddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                            const NodeInfo& node) const;
  Status RunPreFilterRemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                               const NodeInfo& node) const;
  // Whether a plugin that `state` does not skip has AddPod and RemovePod.
  bool HasPreFilterExtensions(const CycleState& state) const;

  // The per-node form, all Filter plugins in order on one node.
  Status RunFilter(const CycleState& state, const PodInfo& pod, const NodeInfo& node,
                   PluginMask only = kAllPlugins) const;
  // The batch form on `rows`, with the plugins in `only`: afterwards verdicts.code(row) and
  // rejector(row) are set for them. Returns Success, or the Error that ends the cycle.
  Status RunFilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                        absl::Span<const NodeRow> rows, NodeVerdicts& verdicts,
                        PluginMask only = kAllPlugins) const;

  // Sets `rows` to the fewest rows that a SelectiveFilter finds, ascending: every other row is
  // rejected by it. False if there are none of at most `most`, or a plugin gave a wrong answer.
  // `state` is as PreFilter left it.
  bool SelectRows(const CycleState& state, const PodInfo& pod, const NodeTable& nodes, int most,
                  std::vector<NodeRow>& rows) const;

 private:
  Status CheckCodes(absl::Span<const NodeRow> rows, const NodeVerdicts& verdicts) const;

  const ProfilePlugins& plugins_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_FILTER_RUNNER_H_
