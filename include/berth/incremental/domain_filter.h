// SPDX-License-Identifier: Apache-2.0
// DomainFilter: what a Filter plugin says of topology domains, so that it stands until a domain
// changes. Plugins state rules (domain_rules.h), from which this follows; it is for those whose
// rules cannot be stated so.
#ifndef BERTH_INCREMENTAL_DOMAIN_FILTER_H_
#define BERTH_INCREMENTAL_DOMAIN_FILTER_H_

#include <cstdint>
#include <vector>

#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/domain_counts.h"
#include "berth/incremental/filter_inputs.h"

namespace berth {

// What a rule says of a topology domain, by how many pods are in it: 0 lets the pod in; every other
// number stands for one Status, the same in all cycles.
struct DomainVerdict {
  int64_t most = 0;           // pods of a domain that is not crowded
  uint8_t above_max = 0;      // of a domain with more
  uint8_t others = 0;         // of one with no more
  uint8_t without_label = 0;  // of nodes that are in no domain

  uint8_t Of(int64_t pods) const { return pods > most ? above_max : others; }
  friend bool operator==(const DomainVerdict&, const DomainVerdict&) = default;
};

// How far a rule is from saying something else of a domain: 0 if it lets the pod in, and would if
// pods of one node went and came back, as it does with no more pods than `most`.
struct DomainExcess {
  int64_t most = 0;
  int64_t whole = -1;         // a domain with just so many is another case
  int32_t without_label = 0;  // of nodes that are in no domain

  int32_t Of(int64_t pods) const {
    return pods > most ? static_cast<int32_t>(2 * (pods - most) + (pods == whole ? 1 : 0)) : 0;
  }
  friend bool operator==(const DomainExcess&, const DomainExcess&) = default;
};

// Said of each domain of counts.column(). Counts from a PodTable are followed change by
// change from cycle to cycle, as long as the rest is the same; others are compared.
template <class Limits>
struct DerivedDomainRule {
  DomainCounts counts;
  Limits limits;
  int plugin = 0;  // whose rule it is: set by the framework

  // Of the domain of a row.
  auto OfRow(NodeRow row) const {
    const uint32_t domain = counts.column().index(row);
    const bool has_label = counts.column().values()[domain].present;
    return has_label ? limits.Of(counts.at(domain)) : limits.without_label;
  }
};
using DomainVerdictRule = DerivedDomainRule<DomainVerdict>;
using DomainExcessRule = DerivedDomainRule<DomainExcess>;

// Optional, for Filter plugins whose verdicts are not cached node by node (sign.h), because
// they depend on other nodes. Pods that they reject cost what changed when they are tried again.
class DomainFilter {
 public:
  virtual ~DomainFilter() = default;

  // Appends the rules of this cycle, in the order in which Filter() goes by them: on a node of the
  // table it returns the Status of the first rule that does not let the pod into the node's domain,
  // Success if there is none. `state` is as PreFilter left it, which did not say Skip. Scheduling
  // thread.
  virtual void FilterDomains(const CycleState& state,
                             std::vector<DomainVerdictRule>& rules) const = 0;

  // Optional, for preemption. Appends numbers, a rule at a time, and adds to `inputs` what else has
  // to be the same: with equal numbers of the node's domains and equal inputs, Filter() says the
  // same, word for word, of a node that did not change, and of one from which pods went by
  // RemovePod() or to which some of them came back by AddPod(). Returns false if that cannot be
  // said: then dry runs are not cached. Otherwise as FilterDomains().
  virtual bool DescribeDomainsForDryRun(const CycleState& /*state*/, const PodInfo& /*pod*/,
                                        std::vector<DomainExcessRule>& /*rules*/,
                                        FilterInputs& /*inputs*/) const {
    return false;
  }
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_DOMAIN_FILTER_H_
