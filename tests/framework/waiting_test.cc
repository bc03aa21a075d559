// SPDX-License-Identifier: Apache-2.0
// Why a pod waits, as a sentence.
#include "berth/extensions/waiting.h"

#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(WaitingFor, ARejectionWithoutAReasonSaysThat) {
  WaitingFor waiting;
  waiting.reason = WaitingReason::kRejected;
  waiting.nodes = waiting.rejecting_nodes = 2;
  EXPECT_EQ(waiting.ToString(), "rejected without a reason on 2 of 2 nodes");
  waiting.plugin = "Picky";
  EXPECT_EQ(waiting.ToString(), "rejected by Picky without a reason on 2 of 2 nodes");
  waiting.alone = "of its mark";
  EXPECT_EQ(waiting.ToString(),
            "rejected by Picky without a reason on 2 of 2 nodes; placed on its own: of its mark");
}

}  // namespace
}  // namespace berth
