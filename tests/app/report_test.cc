// The words and tables of reports.
#include "app/simulation_report.h"
#include "app/terminal.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

TEST(DominantReason, IsTheMostFrequentOfTheNodes) {
  EXPECT_EQ(DominantReason("0/9 nodes are available: 2 Insufficient cpu, 7 node(s) had untolerated "
                           "taint(s). preemption: 0/9 nodes are available: 9 Preemption is not "
                           "helpful for scheduling."),
            "node(s) had untolerated taint(s)");
  EXPECT_EQ(DominantReason("PodGroup a/b needs 8 pods at once, 3 can run: 0/2 nodes are available: "
                           "2 Insufficient nvidia.com/gpu."),
            "Insufficient nvidia.com/gpu");
  EXPECT_EQ(DominantReason("PodGroup a/b not found"), "PodGroup a/b not found");
  EXPECT_EQ(DominantReason(""), "");
}

TEST(TextTable, AlignsNumbersRightAndTextLeft) {
  TextTable table({"NAME", "NUMBER", "TEXT"});
  table.AddRow({"a", "1,000", "x"});
  table.AddRow({"bcdef", "7", "longer"});
  EXPECT_EQ(table.ToString(),
            "NAME   NUMBER  TEXT\n"
            "a       1,000  x\n"
            "bcdef       7  longer\n");
}

TEST(Numbers, AreWrittenForPeople) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(8152), "8,152");
  EXPECT_EQ(Thousands(-1234567), "-1,234,567");
  EXPECT_EQ(ShortDuration(absl::Milliseconds(1500)), "1.50 s");
  EXPECT_EQ(ShortDuration(absl::Microseconds(2500)), "2.5 ms");
  EXPECT_EQ(ShortDuration(absl::Microseconds(42)), "42 µs");
}

}  // namespace
}  // namespace berth
