// SPDX-License-Identifier: Apache-2.0
// The full search: it dry-runs one node after another and keeps nothing.
#ifndef BERTH_SRC_PREEMPTION_FULL_SEARCH_H_
#define BERTH_SRC_PREEMPTION_FULL_SEARCH_H_

#include <optional>

#include "berth/framework/handle.h"
#include "preemption/candidate_search.h"

namespace berth {

// As DryRunPreemption of kube-scheduler v1.35 preemption.go. With the default scores it dry-runs
// every potential node, so that it finds the best of all; with scores of the rules' own it begins
// at the offset of SearchRange and ends with as many candidates as are wanted. Never yields.
class FullSearch final : public CandidateSearch {
 public:
  explicit FullSearch(Handle& handle) : handle_(handle) {}

  std::optional<SearchResult> Find(const PreemptionQuery& query) override;

 private:
  Handle& handle_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_FULL_SEARCH_H_
