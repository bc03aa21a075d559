// SPDX-License-Identifier: Apache-2.0
// The classes of a group's pending members: pods that no plugin can tell apart.
#ifndef BERTH_SRC_ENGINE_GROUP_CLASSES_H_
#define BERTH_SRC_ENGINE_GROUP_CLASSES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/attempt.h"
#include "engine/cluster_state.h"

namespace berth {

using MemberOrder = std::vector<std::shared_ptr<const PodInfo>>;

// Such pods of one part of a group, as they are queued; or a single one.
struct MemberClass {
  MemberOrder pods;
  int part = 0;      // as Quorum counts them
  int feasible = 0;  // nodes on which the first could run now; fewer is harder
  // As AssignmentClass says.
  bool only_competes = false;
};

// Pods that differ in nothing that a plan goes by.
bool AreEquivalent(const PodInfo& a, const PodInfo& b);

// Equal for pods that no plugin can tell apart; absent if they may not be compared.
std::optional<std::string> EquivalenceKey(const Framework& framework,
                                          const Nominations& nominations, const PodInfo& pod);

// The classes, hardest to place first.
std::vector<MemberClass> ClassifyMembers(const AttemptRequest& request, ClusterState& cluster);

// Whether siblings that are placed later may let the pod in. Not if every filter that rejected it
// depends on the node alone and, of the pods there, on what they take.
bool MayFitLater(const Framework& framework, const PodInfo& pod,
                 absl::Span<const Symbol> rejecting_plugins);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_CLASSES_H_
