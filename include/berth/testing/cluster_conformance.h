// SPDX-License-Identifier: Apache-2.0
// Whether a backend keeps the promises of berth/cluster.h: checks for its author to run.
#ifndef BERTH_TESTING_CLUSTER_CONFORMANCE_H_
#define BERTH_TESTING_CLUSTER_CONFORMANCE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/object.h"
#include "berth/cluster.h"

namespace berth::testing {

// A cluster with what the checks need beside the port: what makes objects and takes them
// away. Lives as long as one check.
class ClusterUnderTest {
 public:
  virtual ~ClusterUnderTest() = default;
  virtual Cluster& cluster() = 0;
  // Returns the object as the cluster has it, with its uid, which need not be that of `object`.
  virtual absl::StatusOr<Object> Create(const Object& object) = 0;
  // It is gone at once, whatever its grace period.
  virtual absl::Status Delete(const Object& object) = 0;
  // Whether PatchPodStatus() changes anything.
  virtual bool KeepsStatus() const { return true; }
};

// A promise, and how to find out.
struct ClusterCheck {
  absl::string_view name;  // "BindsOnce": a word, for the names of tests
  // Needs a cluster that is not watched yet. The error says what went wrong. What a cluster need
  // not do counts as kept if it says Unimplemented.
  absl::Status (*run)(ClusterUnderTest& under_test);
};

absl::Span<const ClusterCheck> ClusterChecks();

}  // namespace berth::testing

#endif  // BERTH_TESTING_CLUSTER_CONFORMANCE_H_
