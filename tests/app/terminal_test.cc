// SPDX-License-Identifier: Apache-2.0
// The words and tables of reports.
#include "app/terminal.h"

#include "gtest/gtest.h"

namespace berth {
namespace {

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
