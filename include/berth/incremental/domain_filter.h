// SPDX-License-Identifier: Apache-2.0
// DomainFilter: what a Filter plugin says of topology domains, so that it stands until a domain
// changes. Plugins state rules (domain_rules.h), from which this follows; it is for those whose
// rules cannot be stated so.
//
// An example: racks a, b and c run 3, 1 and 0 pods of an app, and a rack takes a pod if it has no
// more than 1. The threshold {.max_pods = 1, .above_max = 1} answers 1 ("rack is full") of a, 0
// ("fits") of b and c. A pod that comes to b changes b's answer, so the rows of b are filtered
// again and no others; a second one in b changes no answer, so none are.
#ifndef BERTH_INCREMENTAL_DOMAIN_FILTER_H_
#define BERTH_INCREMENTAL_DOMAIN_FILTER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/domain_counts.h"

namespace berth {

// The verdict of a rule on a domain with n pods: above_max if n > max_pods, else up_to_max. 0 fits;
// each other number is that of one Status, the same in all cycles.
struct DomainThreshold {
  int64_t max_pods = 0;
  uint8_t above_max = 0;
  uint8_t up_to_max = 0;
  uint8_t without_key = 0;  // of nodes that lack the label, and so are in no domain

  uint8_t Of(int64_t pods) const { return pods > max_pods ? above_max : up_to_max; }
  friend bool operator==(const DomainThreshold&, const DomainThreshold&) = default;
};

// An answer for each domain of counts.column(). Counts from a PodTable are tracked change by change
// from cycle to cycle, as long as the rest is the same; others are compared.
struct TrackedThreshold {
  DomainCounts counts;
  DomainThreshold answer;
  int plugin = 0;  // whose rule it is: set by the framework

  // The answer for the domain of a row.
  uint8_t OfRow(NodeRow row) const {
    const uint32_t domain = counts.column().index(row);
    const bool has_label = counts.column().values()[domain].present;
    return has_label ? answer.Of(counts.at(domain)) : answer.without_key;
  }
};

// Optional, for Filter plugins whose verdicts are not cached node by node (sign.h), because
// they depend on other nodes. Pods that they reject cost what changed when they are tried again.
class DomainFilter {
 public:
  virtual ~DomainFilter() = default;

  // Appends the rules of this cycle, in the order in which Filter() applies them: on a node of the
  // table it returns the Status of the first rule that does not let the pod into the node's domain,
  // Success if there is none. `state` is as PreFilter left it, which did not skip. Scheduling
  // thread.
  virtual void DescribeDomains(const CycleState& state,
                               std::vector<TrackedThreshold>& rules) const = 0;

  // Whether Filter() may say something else of `node` without some of its pods, or with some of
  // those `nominated` to it, after RemovePod and AddPod: false spares a search for victims copies
  // of the state. Scheduling thread.
  virtual bool FollowsPodsOf(const CycleState& /*state*/, const PodInfo& /*pod*/,
                             const NodeInfo& /*node*/,
                             absl::Span<const std::shared_ptr<const PodInfo>> /*nominated*/) const {
    return true;
  }
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_DOMAIN_FILTER_H_
