// SPDX-License-Identifier: Apache-2.0
// The default profile over a cluster that a test makes up, without a scheduler around it.
#ifndef BERTH_TESTS_EVALUATION_ONE_PROFILE_H_
#define BERTH_TESTS_EVALUATION_ONE_PROFILE_H_

#include <cstdint>
#include <memory>

#include "berth/clock.h"
#include "engine/cluster_state.h"
#include "engine/framework_set.h"
#include "engine/random_sequence.h"
#include "evaluation/node_evaluator.h"
#include "tests/engine/gang_cluster.h"

namespace berth {

class OneProfile {
 public:
  explicit OneProfile(uint64_t seed = 1) : sequence_(seed) {
    const LoadedConfiguration loaded =
        LoadConfigurationFile("config/kube-scheduler-default.yaml", Builtins());
    Problems problems;
    profiles_ = FrameworkSet::Create(loaded.configuration, Builtins(), cluster_, clock_, sequence_,
                                     nullptr, problems);
    EXPECT_TRUE(problems.ok()) << problems.ToString();
    cluster_.SetProfiles(profiles_.get());
  }

  const Framework& framework() const { return *profiles_->all().front(); }
  ClusterState& cluster() { return cluster_; }
  const NodeTable& nodes() {
    cluster_.Refresh();
    return cluster_.nodes();
  }
  // Returns the pod if it is one.
  std::shared_ptr<const PodInfo> Set(const Object& object) {
    return cluster_.Apply({WatchEvent::Type::kSet, object}).change.new_pod;
  }
  // For the cluster as it is now; `state` and `pod` outlive it.
  EvaluationRequest Request(CycleState& state, const std::shared_ptr<const PodInfo>& pod) {
    return {.framework = framework(),
            .state = state,
            .pod = pod,
            .nodes = nodes(),
            .nominator = cluster_.nominations()};
  }
  void Delete(const Object& object) { cluster_.Apply({WatchEvent::Type::kDeleted, object}); }

 private:
  RealClock clock_;
  RandomSequence sequence_;
  ClusterState cluster_;
  std::unique_ptr<FrameworkSet> profiles_;
};

}  // namespace berth

#endif  // BERTH_TESTS_EVALUATION_ONE_PROFILE_H_
