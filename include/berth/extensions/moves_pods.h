// SPDX-License-Identifier: Apache-2.0
// MovesPods: which running pods may be moved for groups that have no place.
#ifndef BERTH_EXTENSIONS_MOVES_PODS_H_
#define BERTH_EXTENSIONS_MOVES_PODS_H_

#include "berth/framework/pod_info.h"

namespace berth {

// Implemented by a group plugin beside GroupPlugin. For a group that has no place, though enough is
// free in pieces, the engine plans to move a few running pods to other nodes. It moves a pod by
// evicting it: its controller makes it again. All calls come from the scheduling thread.
class MovesPods {
 public:
  virtual ~MovesPods() = default;

  // So many pods at most for one group; 0: none are.
  virtual int MostMoves() const = 0;
  // Whether this one, which runs, may be moved. Asked of pods of the plugin's profile that are no
  // more important than the group.
  virtual bool MayMove(const PodInfo& pod) const { return pod.has_owners(); }
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_MOVES_PODS_H_
