// SPDX-License-Identifier: Apache-2.0
// What a filter plugin gives the members of a group besides room on their nodes.
#ifndef BERTH_EXTENSIONS_MEMBER_CHOICES_H_
#define BERTH_EXTENSIONS_MEMBER_CHOICES_H_

#include <string>
#include <vector>

#include "berth/framework/pod_info.h"

namespace berth {

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
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_MEMBER_CHOICES_H_
