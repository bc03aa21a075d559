// SPDX-License-Identifier: Apache-2.0
// Makes the explanations of framework/waiting.h: after a failed attempt, or when asked for.
#ifndef BERTH_SRC_ENGINE_REJECTION_REASONS_H_
#define BERTH_SRC_ENGINE_REJECTION_REASONS_H_

#include <memory>
#include <string>

#include "absl/types/span.h"
#include "berth/columns/node_verdicts.h"
#include "berth/extensions/waiting.h"
#include "engine/binder.h"
#include "evaluation/diagnosis.h"
#include "framework/framework.h"

namespace berth {

using WaitingPtr = std::shared_ptr<const WaitingFor>;

// A plugin rejected the pod as a whole, holds it back, or failed.
WaitingPtr WhyRejected(const Framework& framework, const PodInfo& pod, const NodeTable& nodes,
                       const Status& status);

// There is no node at all.
WaitingPtr WhyNoNodes();

// No node fits: the reason that most nodes gave counts; among equals one that evictions could
// mend, then the first by its text.
struct NodeFailure {
  Diagnosis& diagnosis;
  const ReasonCounts& reasons;
  Symbol narrowed_by;                       // to blame for nodes that were left out
  absl::Span<const Binder::Member> placed;  // pods of the same group that hold their places
};
WaitingPtr WhyNoNodeFits(const Framework& framework, const PodInfo& pod, const NodeTable& nodes,
                         const NodeFailure& failure);

// A group got only `placeable` of the `needed` places: because of `blocking`, for the reason
// `of_member`. `requests`: what its members ask for of the resource that is short, added up for as
// many as it needs.
WaitingPtr WhyGroupWaits(const WaitingFor& of_member, int needed, int placeable,
                         const std::string& blocking, int64_t requests);
// Why the pod, which names a gang, is placed on its own; empty if it does not, or is in a group.
std::string WhyAlone(const Framework& framework, const PodInfo& pod);
// The pod waits for what `of_pod` says, and preemption would help, but not before `until`.
WaitingPtr WhyVictimsMayNotGoYet(const WaitingFor& of_pod, absl::Time until);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_REJECTION_REASONS_H_
