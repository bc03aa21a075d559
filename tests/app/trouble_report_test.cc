// SPDX-License-Identifier: Apache-2.0
// What is said of plugins that misbehave.
#include "app/trouble_report.h"

#include "api/json.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

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
