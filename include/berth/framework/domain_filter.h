// DomainFilter: a Filter plugin that judges a node by its topology domains, and says so domain by
// domain, so that what it said stands until a domain changes.
#ifndef BERTH_FRAMEWORK_DOMAIN_FILTER_H_
#define BERTH_FRAMEWORK_DOMAIN_FILTER_H_

#include <cstdint>
#include <vector>

#include "berth/framework/cycle_state.h"
#include "berth/framework/node_table.h"

namespace berth {

// What one rule says of each domain.
struct DomainVerdicts {
  const LabelColumn* column = nullptr;
  // By index in column->values(): 0 lets the pod in; every other number stands for one Status, the
  // same in all cycles.
  std::vector<uint8_t> of_values;
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
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_DOMAIN_FILTER_H_
