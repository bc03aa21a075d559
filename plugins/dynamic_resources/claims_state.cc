// SPDX-License-Identifier: Apache-2.0
// Implementation of claims_state.h.
#include "plugins/dynamic_resources/claims_state.h"

#include "absl/algorithm/container.h"
#include "berth/api/core_v1.pb.h"

namespace berth {

const ClaimsToAllocate* SpecialClaim::On(const NodeInfo& node,
                                         const ClaimsToAllocate& others) const {
  const std::optional<std::vector<bool>> left = LeftToDevices(resources_, node);
  if (!left.has_value()) return nullptr;
  if (absl::c_none_of(*left, [](bool is_left) { return is_left; })) return &others;
  const MutexLock lock(mutex_);
  const auto [made, is_new] = made_.try_emplace(*left);
  if (is_new) {
    SpecialRequests requests =
        MakeSpecialRequests(pod_->shape()->spec(), resources_, *left, claim_);
    made->second = others;
    made->second.claims.push_back(parse_(std::move(requests.claim)));
    made->second.positions.push_back(position_);
    made->second.mappings = std::move(requests.mappings);
    made->second.problem = std::move(requests.problem);
  }
  return &made->second;
}

}  // namespace berth
