// SPDX-License-Identifier: Apache-2.0
// What a filter plugin gives the members of a group besides room on their nodes.
#ifndef BERTH_EXTENSIONS_MEMBER_CHOICES_H_
#define BERTH_EXTENSIONS_MEMBER_CHOICES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {

// What members need that can be counted and that no column of the node table has: devices. For sums
// that say without a try that a group has no place. Of each sort whole numbers.
class CountedNeeds {
 public:
  virtual ~CountedNeeds() = default;

  virtual size_t sorts() const = 0;
  // What the member of that position takes at least: as many numbers as there are sorts.
  virtual absl::Span<const int64_t> Of(size_t member) const = 0;
  // What the node has for members at most, if its pods of a lower priority than `gone_below` were
  // gone: as many numbers. With the lowest of all, as it is.
  virtual void FreeOn(const NodeInfo& node, int32_t gone_below, absl::Span<int64_t> free) const = 0;
};

// Optional, implemented by a Filter plugin beside Filter. Without it members only compete for what
// nodes have, as far as this plugin knows, and a search over all nodes is a proof. Scheduling
// thread.
class MemberChoices {
 public:
  virtual ~MemberChoices() = default;

  // Names of what the pod shares with others, so that the first of them to be placed says where the
  // others can go: claims that are not allocated. Empty for most.
  virtual std::vector<std::string> SharedBy(const PodInfo& pod) const = 0;

  // Whether pods on other nodes might have what this running pod holds, as devices of a network:
  // where it stays after all, members may be short of it on any node.
  virtual bool HoldsForOtherNodes(const PodInfo& pod) const = 0;

  // Why the pod's group may have a place although each member was tried on each node: what others
  // were given was not exchanged. A sentence without a full stop; empty if all was tried.
  virtual std::string WhyNotAllTried(const PodInfo& pod) const = 0;

  // Null if nothing can be counted that these pods, pending members of one group, need. Used while
  // the attempt lasts.
  virtual std::unique_ptr<CountedNeeds> CountNeeds(
      absl::Span<const std::shared_ptr<const PodInfo>> pods) const {
    (void)pods;
    return nullptr;
  }
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_MEMBER_CHOICES_H_
