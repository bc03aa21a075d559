// SPDX-License-Identifier: Apache-2.0
// A gang whose members name claims, for tests that make up the devices and the claims.
#ifndef BERTH_TESTS_ENGINE_GANG_OF_CLAIMS_H_
#define BERTH_TESTS_ENGINE_GANG_OF_CLAIMS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {

// n0, n1, ... with their names as hostnames, and room for all.
inline void AddNodesTo(std::vector<Object>& objects, int nodes) {
  for (int n = 0; n < nodes; ++n) {
    auto node = testing::MakeNode();
    node.Name(absl::StrCat("n", n))
        .Label("kubernetes.io/hostname", absl::StrCat("n", n))
        .Allocatable("cpu", "64")
        .Allocatable("memory", "256Gi");
    objects.push_back(node.Object());
  }
}

// PodGroup g and its members m0, m1, ..., all of which are to run: each with the claims of these
// numbers (c0, c1, ...), and on that node if the number is not negative.
inline void AddGangTo(std::vector<Object>& objects, const std::vector<std::vector<int>>& claims_of,
                      const std::vector<int>& node_of) {
  objects.push_back(MakeGroup("g", static_cast<int>(claims_of.size())));
  for (size_t m = 0; m < claims_of.size(); ++m) {
    auto pod = testing::MakePod();
    pod.Name(absl::StrCat("m", m)).Namespace("default").Request("cpu", "1");
    pod.Label("scheduling.x-k8s.io/pod-group", "g");
    if (node_of[m] >= 0) {
      pod.NodeSelector("kubernetes.io/hostname", absl::StrCat("n", node_of[m]));
    }
    for (const int claim : claims_of[m]) {
      auto& reference = *pod.Message().mutable_spec()->add_resource_claims();
      reference.set_name(absl::StrCat("c", claim));
      reference.set_resource_claim_name(absl::StrCat("c", claim));
    }
    objects.push_back(pod.Object());
  }
}

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_GANG_OF_CLAIMS_H_
