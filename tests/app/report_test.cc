// SPDX-License-Identifier: Apache-2.0
// The words and tables of reports.
#include "api/json.h"
#include "app/terminal.h"
#include "app/trouble_report.h"
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

TEST(Troubles, SlowCallsAndUnconfirmedRowsAreReported) {
  TroubleReport report{{{.plugin = "Lazy", .point = "Score", .slow_calls = 1200}}};
  report.troubles.front().slowest = absl::Milliseconds(2500);
  EXPECT_EQ(report.ExitStatus(0), 0) << "to be slow is no fault";
  EXPECT_EQ(report.ToTable(),
            "PLUGIN TROUBLE  AT     FAULTS  SLOW CALLS  SLOWEST  FIRST FAULT\n"
            "Lazy            Score       0       1,200   2.50 s  -\n\n");
  report.unconfirmed = 3;
  EXPECT_EQ(report.ExitStatus(0), kPluginFaultStatus);
  EXPECT_EQ(report.ExitStatus(1), 1);
  report.troubles.clear();
  EXPECT_EQ(report.ToTable(),
            "3 nodes were accepted by a plugin's FilterNodes and refused by its Filter\n\n");
  JsonWriter json;
  json.BeginObject();
  report.WriteTo(json);
  json.EndObject();
  EXPECT_EQ(json.text(), R"({"troubles":[],"unconfirmed":3})");
}

}  // namespace
}  // namespace berth
