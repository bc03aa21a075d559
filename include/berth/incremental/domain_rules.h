// SPDX-License-Identifier: Apache-2.0
// DomainRulesPlugin: a Filter plugin that rejects a node for how many pods run in its topology
// domains. It lists its rules once, with their reasons; everything else follows from the list:
//
//   Status ListRules(const PodInfo& pod, const NodeTable&, DomainRules& rules) override {
//     rules.Add({.topology_key = rack, .selector = PodsOfTheAppOf(pod)},
//               {.limit = DomainLimit::AtMost(19),
//                .otherwise = {Code::kUnschedulable, "node(s) were in a full rack"},
//                .without_key = {{Code::kUnschedulableAndUnresolvable,
//                                 "node(s) were in no rack"}}});
//     return Status::Success();
//   }
//
// Racks a, b and c run 20, 19 and 0 pods of the app. Filter rejects the nodes of a as
// Unschedulable, accepts those of b and c, and rejects a node without the label as
// UnschedulableAndUnresolvable. In preemption's dry run of a node in a, RemovePod of one of the
// app's pods leaves 19: the node fits.
#ifndef BERTH_INCREMENTAL_DOMAIN_RULES_H_
#define BERTH_INCREMENTAL_DOMAIN_RULES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_scope.h"
#include "berth/columns/node_table.h"
#include "berth/columns/pod_table.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/filter.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/status.h"
#include "berth/incremental/domain_counts.h"
#include "berth/incremental/domain_filter.h"
#include "berth/incremental/filter_inputs.h"

namespace berth {

// --- A rule --------------------------------------------------------------------------------------

// Which pods count: those that `selector` selects, on nodes in `nodes` that have a label of this
// key. The values of the label are the topology domains.
struct DomainPods {
  Symbol topology_key;
  PodSelector selector;
  NodeScope nodes = {};
};

// How many of these pods a domain must or may have, for its nodes to take another pod.
class DomainLimit {
 public:
  static DomainLimit AtMost(int64_t pods) { return {Kind::kAtMost, pods, 0}; }
  // At most so many more than the domain that has the minimum, of the domains with a node in
  // DomainPods::nodes. If there are fewer of these than `min_domains`, the minimum is 0.
  static DomainLimit AtMostAboveMinimum(int64_t pods, int64_t min_domains) {
    return {Kind::kAtMostAboveMinimum, pods, min_domains};
  }
  static DomainLimit AtLeastOne() { return {Kind::kAtLeastOne, 0, 0}; }
  // At least one; or any number, if no rule of the list with this limit counts a pod anywhere: for
  // a pod that counts itself, and may be the first.
  static DomainLimit AtLeastOneOrFirst() { return {Kind::kAtLeastOneOrFirst, 0, 0}; }

 private:
  friend class DomainRules;
  enum class Kind : uint8_t { kAtMost, kAtMostAboveMinimum, kAtLeastOne, kAtLeastOneOrFirst };
  DomainLimit(Kind kind, int64_t pods, int64_t min_domains)
      : kind_(kind), pods_(pods), min_domains_(min_domains) {}

  Kind kind_;
  int64_t pods_;
  int64_t min_domains_;
};

// What Filter returns for a node that breaks a rule. A constant: a plugin has a few of them.
struct DomainRejection {
  Code code;  // Unschedulable, or UnschedulableAndUnresolvable
  absl::string_view reason;
};

struct DomainRule {
  DomainLimit limit;
  DomainRejection otherwise;  // for nodes in a domain that is not within the limit
  // The rejection of nodes that are in no domain. Absent: they take the pod.
  std::optional<DomainRejection> without_key = std::nullopt;
};

// --- The rules of a pod --------------------------------------------------------------------------

// The rules that apply to one pod, in order, and the pods that count. The first rule that rejects a
// node gives it its status. Kept in the CycleState.
class DomainRules final : public StateData {
 public:
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<DomainRules>(*this); }

  // The table of nodes counts `pods`, and in dry runs they are counted along.
  void Add(DomainPods pods, const DomainRule& rule);
  // Those that a dry run counts along, where others count in the table.
  void Add(DomainPods pods, DomainCounts counts, const DomainRule& rule);
  // Pods that the plugin counts along, in CountOtherPods().
  void Add(DomainCounts counts, const DomainRule& rule);

  const NodeTable& nodes() const { return *nodes_; }
  int size() const { return static_cast<int>(rules_.size()); }
  const DomainCounts& counts(int i) const { return rules_[i].counts; }
  // Whether rule `i` rejects nodes so.
  bool Rejects(int i, const DomainRejection& otherwise) const;
  // `difference` pods more, on `node`: for dry runs, in which pods of one node come and go.
  void AddPods(int i, const NodeInfo& node, int64_t difference);

 private:
  friend class DomainRulesPlugin;
  using Limit = DomainLimit::Kind;

  // The number of a rejection, from 1; 0: the pod fits.
  using RejectionNumber = uint8_t;
  // By number; the same in all cycles of a plugin.
  class Rejections {
   public:
    RejectionNumber NumberOf(const DomainRejection& rejection);
    const Status& status(RejectionNumber number) const { return statuses_[number - 1]; }
    bool too_many() const { return too_many_; }

   private:
    std::vector<Status> statuses_;
    bool too_many_ = false;  // of a plugin that makes up reasons as it goes
  };

  struct Rule {
    std::shared_ptr<const DomainPods> pods;  // null: the plugin counts along
    DomainLimit limit;
    RejectionNumber otherwise;
    RejectionNumber without_key;
    DomainCounts counts;
    // Before dry runs added something; of limits that ask.
    MinimumPods minimum = {};
    int64_t total = 0;
  };

  DomainRules(const NodeTable& nodes, Rejections& rejections)
      : nodes_(&nodes), rejections_(&rejections) {}

  void Add(std::shared_ptr<const DomainPods> pods, DomainCounts counts, const DomainRule& rule);
  // The verdict of `rule` at the moment, as numbers of rejections. Every form of Filter uses this
  // one.
  DomainThreshold ThresholdOf(const Rule& rule) const;
  int64_t Minimum(const Rule& rule) const;
  bool MayBeFirst() const;

  void CountPod(const PodInfo& changed, const NodeInfo& node, int64_t difference);
  RejectionNumber Evaluate(const LabelSet& node_labels) const;
  void Evaluate(NodeVerdicts& verdicts) const;

  const NodeTable* nodes_;
  Rejections* rejections_;
  absl::InlinedVector<Rule, 2> rules_;
  int64_t changes_ = 0;  // rules added, and pods added to them
};

// --- The plugin ----------------------------------------------------------------------------------

class DomainRulesPlugin : public PreFilterPlugin,
                          public PreFilterExtensions,
                          public FilterPlugin,
                          public DomainFilter {
 public:
  // Adds the rules that apply to `pod`. What it returns is what PreFilter returns; without a rule
  // that is Skip. Scheduling thread.
  virtual Status ListRules(const PodInfo& pod, const NodeTable& nodes, DomainRules& rules) = 0;

  // `changed` came to `node` (1) or went from it (-1) in a dry run: adds it where it counts, to
  // rules whose pods the plugin counts itself, or to new rules: nothing, if every rule was added
  // with its DomainPods, which the framework counts. If pods are missing here, dry runs are wrong.
  virtual void CountOtherPods(const PodInfo& pod, const PodInfo& changed, const NodeInfo& node,
                              int64_t difference, DomainRules& rules) const = 0;

  // The list, after PreFilter that did not say Skip: for Score.
  absl::StatusOr<const DomainRules*> RulesIn(const CycleState& state) const {
    return state.Read(key_);
  }

  // --- What follows from the list ---

  Status PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                   PreFilterResult&) override;
  Status AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                const NodeInfo& node) override;
  Status RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                   const NodeInfo& node) override;
  Status Filter(const CycleState& state, const PodInfo&, const NodeInfo& node) const override;
  Status FilterNodes(const CycleState& state, const PodInfo&, const NodeTable&,
                     NodeVerdicts& verdicts) const override;
  void DescribeDomains(const CycleState& state,
                       std::vector<TrackedThreshold>& rules) const override;
  bool FollowsPodsOf(const CycleState& state, const PodInfo& pod, const NodeInfo& node,
                     absl::Span<const std::shared_ptr<const PodInfo>> nominated) const override;

 private:
  Status CountPod(CycleState& state, const PodInfo& pod, const PodInfo& changed,
                  const NodeInfo& node, int64_t difference) const;

  const StateKey<DomainRules> key_{"domain rules"};
  DomainRules::Rejections rejections_;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_DOMAIN_RULES_H_
