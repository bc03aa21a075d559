// SPDX-License-Identifier: Apache-2.0
// Which events a registered one stands for.
#include "berth/framework/enqueue.h"

#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(ClusterEvent, MatchesWhatIsTheSameOrMoreSpecific) {
  using R = EventResource;
  const struct {
    ClusterEvent registered, incoming;
    bool matches;
  } cases[] = {
      {{R::Node(), action::kAdd}, {R::Node(), action::kAdd}, true},
      {{R::Node(), action::kAdd | action::kUpdateNodeLabel},
       {R::Node(), action::kUpdateNodeLabel},
       true},
      {{R::Node(), action::kUpdate}, {R::Node(), action::kUpdateNodeTaint}, true},
      {{R::Node(), action::kUpdate}, {R::Node(), action::kUpdateOther}, true},
      {{R::Node(), action::kUpdateNodeLabel}, {R::Node(), action::kUpdateOther}, false},
      {{R::Node(), action::kUpdateNodeLabel}, {R::Node(), action::kUpdateNodeTaint}, false},
      {{R::Node(), action::kAdd}, {R::Node(), action::kDelete}, false},
      {{R::Node(), action::kAll}, {R::Pod(), action::kAdd}, false},
      {{R::Pod(), action::kDelete}, {R::AssignedPod(), action::kDelete}, true},
      {{R::Pod(), action::kDelete}, {R::UnscheduledPod(), action::kDelete}, true},
      {{R::AssignedPod(), action::kAll}, {R::UnscheduledPod(), action::kAdd}, false},
      {{R::Of(Kind::kPodGroup), action::kAdd}, {R::Of(Kind::kPodGroup), action::kAdd}, true},
      {{R::Of(Kind::kPodGroup), action::kAdd}, {R::Of(Kind::kElasticQuota), action::kAdd}, false},
      {{R::Wildcard(), action::kAll}, {R::Node(), action::kDelete}, true},
      {{R::Wildcard(), action::kAll}, {R::Wildcard(), action::kAll}, true},
      {{R::Wildcard(), action::kAdd}, {R::Node(), action::kDelete}, false},
      {{R::Node(), action::kAll}, {R::Wildcard(), action::kAll}, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.registered.Matches(c.incoming), c.matches)
        << static_cast<int>(c.registered.resource.type) << "/" << c.registered.action << " and "
        << static_cast<int>(c.incoming.resource.type) << "/" << c.incoming.action;
  }
}

}  // namespace
}  // namespace berth
