// SPDX-License-Identifier: Apache-2.0
// The declared fields of CoschedulingArgs.
#include "plugins/coscheduling/coscheduling_args.h"

namespace berth {

const FieldTable& CoschedulingArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<CoschedulingArgs>("CoschedulingArgs", "Arguments of Coscheduling.")
          .Field("permitWaitingTimeSeconds", &CoschedulingArgs::permit_waiting_time_seconds,
                 "How long a placed pod waits for the rest of its group when the PodGroup has no "
                 "scheduleTimeoutSeconds. Groups are placed whole, so nothing waits in practice.",
                 AtLeast(0))
          .Field("podGroupBackoffSeconds", &CoschedulingArgs::pod_group_backoff_seconds,
                 "How long a group is left alone after it did not fit, 0 for the queue's own "
                 "backoff only.",
                 AtLeast(0))
          .Field("podGroupRejectPercentage", &CoschedulingArgs::pod_group_reject_percentage,
                 "Missing members, in percent of minMember, up to which the rest of a group is "
                 "not rejected with a member that does not fit.",
                 InRange(0, 100))
          .Field("stalenessGracePeriodSeconds", &CoschedulingArgs::staleness_grace_period_seconds,
                 "How long members of a group may run while fewer than its minimum do, before they "
                 "are evicted and the group starts again as a whole; negative: for ever. The "
                 "annotation scheduling.berth.dev/staleness-grace-period of a PodGroup, or of pods "
                 "that define their group, says it for one group.",
                 AtLeast(-1))
          .Field("reserveAfterSeconds", &CoschedulingArgs::reserve_after_seconds,
                 "How long a group waits before nodes are reserved for it, from the earliest time "
                 "at which pods that say how long they run leave room for it; 0: none are. Other "
                 "pods use these nodes meanwhile if they end before that time.",
                 AtLeast(0))
          .Field("mostMoves", &CoschedulingArgs::most_moves,
                 "So many running pods, at most, are moved to other nodes if that leaves room in "
                 "one piece for a group that has none; 0: none are. A pod is moved by evicting it, "
                 "once it is known that the group and each pod that is moved have a place. Only "
                 "pods with an owner are, of no higher priority than the group.",
                 InRange(0, 8)));
  return table;
}

}  // namespace berth
