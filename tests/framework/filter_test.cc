// SPDX-License-Identifier: Apache-2.0
// The batch form of Filter that every plugin has.
#include "berth/framework/filter.h"

#include "berth/columns/node_verdicts.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::TestNodes;

// Gives each node the status that its label "status" names.
class ByLabel final : public FilterPlugin {
 public:
  Status Filter(const CycleState&, const PodInfo&, const NodeInfo& node) const override {
    const Symbol* wanted = node.labels().Find("status");
    if (wanted == nullptr) return Status::Success();
    for (const Code code :
         {Code::kError, Code::kUnschedulable, Code::kUnschedulableAndUnresolvable, Code::kSkip}) {
      if (wanted->view() == CodeName(code)) return Status::Make(code, {"because"});
    }
    return Status::Success();
  }
};

NodeInfo Node(Code code) { return MakeNode().Label("status", CodeName(code)).Info(); }

TEST(FilterPlugin, BatchFormAsksFilterRowByRow) {
  const TestNodes nodes({MakeNode().Info(), Node(Code::kUnschedulable),
                         Node(Code::kUnschedulableAndUnresolvable), Node(Code::kError),
                         Node(Code::kSkip)});
  const auto pod = MakePod().Obj();
  NodeVerdicts verdicts;
  verdicts.Reset(nodes.size());
  verdicts.BeginBlock({0, 1, 2});
  EXPECT_TRUE(ByLabel().FilterNodes({}, *pod, nodes.table(), verdicts).ok());
  EXPECT_EQ(verdicts.code(0), Code::kSuccess);
  EXPECT_EQ(verdicts.code(1), Code::kUnschedulable);
  EXPECT_EQ(verdicts.code(2), Code::kUnschedulableAndUnresolvable);

  verdicts.BeginBlock({3});
  EXPECT_EQ(ByLabel().FilterNodes({}, *pod, nodes.table(), verdicts).ToString(), "Error: because");
  verdicts.BeginBlock({4});
  EXPECT_TRUE(ByLabel().FilterNodes({}, *pod, nodes.table(), verdicts).IsSkip());  // as it is
}

}  // namespace
}  // namespace berth
