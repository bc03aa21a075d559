// DomainFilter: a Filter plugin that judges a node by its topology domains, and says so domain by
// domain, so that what it said stands until a domain changes.
#ifndef BERTH_FRAMEWORK_DOMAIN_FILTER_H_
#define BERTH_FRAMEWORK_DOMAIN_FILTER_H_

#include <cstdint>
#include <vector>

#include "berth/framework/cycle_state.h"
#include "berth/framework/filter_basis.h"
#include "berth/framework/node_table.h"
#include "berth/framework/pod_info.h"

namespace berth {

// What one rule says of each domain.
struct DomainVerdicts {
  const LabelColumn* column = nullptr;
  // By index in column->values(): 0 lets the pod in; every other number stands for one Status, the
  // same in all cycles.
  std::vector<uint8_t> of_values;
};

// How far one rule is from saying something else of each domain.
struct DomainNumbers {
  const LabelColumn* column = nullptr;
  // By index in column->values(): 0 if the rule lets the pod in, and would if pods of one node went
  // and came back.
  std::vector<int32_t> of_values;
};

// Optional, for Filter plugins whose verdicts are not remembered node by node (sign.h), because
// they depend on other nodes. Pods that they reject cost what changed when they are tried again.
class DomainFilter {
 public:
  virtual ~DomainFilter() = default;

  // Appends the rules of this cycle, in the order in which Filter() goes by them: on a node of the
  // table it returns the Status of the first rule that does not let the pod into the node's domain,
  // Success if there is none. `state` is as PreFilter left it, which did not say Skip. Scheduling
  // thread.
  virtual void JudgeDomains(const CycleState& state, std::vector<DomainVerdicts>& rules) const = 0;

  // Optional, for preemption. Appends numbers, a rule at a time, and adds to `basis` what else has
  // to be the same: with equal numbers of the node's domains and an equal basis, Filter() says the
  // same, word for word, of a node that did not change, and of one from which pods went by
  // RemovePod() or to which some of them came back by AddPod(). Returns false if that cannot be
  // said: then dry runs are not remembered. Otherwise as JudgeDomains().
  virtual bool NumberDomains(const CycleState& /*state*/, const PodInfo& /*pod*/,
                             std::vector<DomainNumbers>& /*rules*/, FilterBasis& /*basis*/) const {
    return false;
  }
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_DOMAIN_FILTER_H_
