// SPDX-License-Identifier: Apache-2.0
// In which order the members of a group are placed if some need others.
#ifndef BERTH_SRC_ENGINE_MEMBER_DEPENDENCIES_H_
#define BERTH_SRC_ENGINE_MEMBER_DEPENDENCIES_H_

#include <memory>

#include "absl/types/span.h"
#include "engine/group_classes.h"

namespace berth {

// Each member behind those that its required pod affinity needs; among others those first that can
// evict less, so that what is free is theirs: pods that never preempt, then by priority. Empty if
// that is the order of `pods`, or if they are of very many kinds. Labels of namespaces do not
// count.
MemberOrder NeededFirst(absl::Span<const std::shared_ptr<const PodInfo>> pods);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_MEMBER_DEPENDENCIES_H_
