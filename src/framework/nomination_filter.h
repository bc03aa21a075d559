// SPDX-License-Identifier: Apache-2.0
// Filter with regard to the pods that are nominated to a node. As kube-scheduler v1.35
// RunFilterPluginsWithNominatedPods.
#ifndef BERTH_SRC_FRAMEWORK_NOMINATION_FILTER_H_
#define BERTH_SRC_FRAMEWORK_NOMINATION_FILTER_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/cycle_state.h"
#include "framework/filter_runner.h"
#include "framework/hook.h"
#include "framework/nominated_rows.h"
#include "framework/pod_signer.h"
#include "framework/profile_plugins.h"
#include "framework/verdict_dependencies.h"

namespace berth {

// Where pods of at least equal priority are nominated to a node, the filters run twice: with them
// on the node and without. Scheduling thread.
class NominationFilter {
 public:
  // All of these outlive this.
  NominationFilter(const ProfilePlugins& plugins, const FilterRunner& filters,
                   const VerdictDependencies& dependencies, const PodSigner& signer);
  ~NominationFilter();

  // The per-node form.
  Status RunFilterWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) const;
  // The same where a plugin's NominationRules say which nominated pods count: for the node that the
  // pod is nominated to, and in plans of evictions.
  Status RunFilterByNominationRules(const CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) const;
  // Whether `nominated` counts for `pod` by these; of the pod itself it is false.
  bool CountsByRules(const PodInfo& nominated, const PodInfo& pod) const;
  // The batch form on `rows`: afterwards verdicts.code(row) and rejector(row) are set for them. A
  // row with relevant nominated pods gets the verdict of RunFilterWithNominatedPods, the others
  // that of the plugins in `only`. Returns Success, or the Error that ends the cycle.
  Status RunFilterNodesWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                         const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                         NodeVerdicts& verdicts,
                                         PluginMask only = kAllPlugins) const;

  // Where pods are nominated to now. Valid until the next call.
  const NominatedRows& Nominated(const NodeTable& nodes) const {
    nominated_rows_.CatchUp(nodes, plugins_.handle.nominator());
    return nominated_rows_;
  }
  // Parts `rows` into those with nominated pods that count for `pod`, and the others.
  // Valid until the next call.
  struct RowsByNomination {
    absl::Span<const NodeRow> with_nominations, others;
  };
  RowsByNomination SplitByNomination(const PodInfo& pod, const NodeTable& nodes,
                                     absl::Span<const NodeRow> rows) const;

 private:
  using PodList = absl::InlinedVector<std::shared_ptr<const PodInfo>, 2>;
  struct NominatedNode;
  struct FirstResourceFilter;

  // `counts`: whether a pod nominated to the node does for `pod`.
  template <class Counts>
  Status RunFilterBeside(const Counts& counts, const CycleState& state, const PodInfo& pod,
                         const NodeInfo& node) const;
  const NodeInfo& WithNominatedPods(const NodeInfo& node, PodList nominated) const;
  Status RunFilterWith(const PodList& nominated, const CycleState& state, const PodInfo& pod,
                       const NodeInfo& node) const;
  std::optional<FirstResourceFilter> FindFirstResourceFilter(const CycleState& state,
                                                             const PodInfo& pod,
                                                             const NodeTable& nodes) const;
  Status FilterRowsWithNominations(const CycleState& state, const PodInfo& pod,
                                   const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                   NodeVerdicts& verdicts) const;
  std::vector<uint32_t> ShortagesOf(const PodInfo& pod, const NodeTable& nodes,
                                    const std::optional<FirstResourceFilter>& first,
                                    absl::Span<const NodeRow> rows) const;
  Status FilterOneOfEachShortage(const CycleState& state, const PodInfo& pod,
                                 const NodeTable& nodes,
                                 const std::optional<FirstResourceFilter>& first,
                                 NodeVerdicts& verdicts) const;

  const ProfilePlugins& plugins_;
  const FilterRunner& filters_;
  const VerdictDependencies& dependencies_;
  const PodSigner& signer_;
  mutable NominatedRows nominated_rows_;
  mutable std::vector<std::unique_ptr<NominatedNode>> nominated_nodes_;  // by the node's name
  // Scratch of SplitByNomination(), kept so that a cycle allocates nothing.
  mutable std::vector<NodeRow> rows_with_nominations_, rows_without_nominations_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_NOMINATION_FILTER_H_
