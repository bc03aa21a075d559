// SPDX-License-Identifier: Apache-2.0
// The fields of PreemptionTolerationArgs.
#include "plugins/preemption_toleration/preemption_toleration_args.h"

namespace berth {

const FieldTable& PreemptionTolerationArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<PreemptionTolerationArgs>("PreemptionTolerationArgs",
                                               "The same as DefaultPreemptionArgs.")
          .Field("minCandidateNodesPercentage",
                 &PreemptionTolerationArgs::min_candidate_nodes_percentage,
                 "How many candidates to compare at most, in percent of the nodes on "
                 "which evicting pods might help.",
                 InRange(0, 100))
          .Field("minCandidateNodesAbsolute",
                 &PreemptionTolerationArgs::min_candidate_nodes_absolute,
                 "The same as a number of nodes; the larger of the two counts.", AtLeast(0))
          .Check([](const PreemptionTolerationArgs& args, FieldProblems& problems) {
            if (args.min_candidate_nodes_percentage != 0 || args.min_candidate_nodes_absolute != 0)
              return;
            problems.Add("minCandidateNodesPercentage",
                         "cannot be zero at the same time as minCandidateNodesAbsolute");
            problems.Add("minCandidateNodesAbsolute",
                         "cannot be zero at the same time as minCandidateNodesPercentage");
          }));
  return table;
}

}  // namespace berth
