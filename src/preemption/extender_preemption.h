// SPDX-License-Identifier: Apache-2.0
// What extenders leave of the candidates.
#ifndef BERTH_SRC_PREEMPTION_EXTENDER_PREEMPTION_H_
#define BERTH_SRC_PREEMPTION_EXTENDER_PREEMPTION_H_

#include <vector>

#include "berth/framework/handle.h"
#include "preemption/candidate_search.h"

namespace berth {

// Whether an extender that is interested in the pod wants to see all candidates.
bool ExtendersPreempt(const Handle& handle, const PodInfo& pod);
// Whether any extender is interested in it: then nodes may be rejected for reasons that a dry run
// does not see.
bool AnyExtenderInterested(const Handle& handle, const PodInfo& pod);

// kube-scheduler v1.35 preemption.go callExtenders: asks one after another, each about the
// candidates and victims that those before it left. Success, or the Error of the first that fails
// and is not ignorable. The candidates are in the order of their rows then.
Status CallExtenders(Handle& handle, const PreemptionQuery& query,
                     std::vector<ScoredCandidatePtr>& candidates);

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_EXTENDER_PREEMPTION_H_
