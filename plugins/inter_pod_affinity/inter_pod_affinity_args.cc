// SPDX-License-Identifier: Apache-2.0
// The fields of InterPodAffinityArgs.
#include "plugins/inter_pod_affinity/inter_pod_affinity_args.h"

namespace berth {

const FieldTable& InterPodAffinityArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<InterPodAffinityArgs>("InterPodAffinityArgs", "Arguments of InterPodAffinity.")
          .Field("hardPodAffinityWeight", &InterPodAffinityArgs::hard_pod_affinity_weight,
                 "What a required affinity term of a running pod weighs when it matches the pod "
                 "being scored.",
                 InRange(0, 100))
          .Field("ignorePreferredTermsOfExistingPods",
                 &InterPodAffinityArgs::ignore_preferred_terms_of_existing_pods,
                 "Whether pods without preferred terms of their own are not scored."));
  return table;
}

}  // namespace berth
