// SPDX-License-Identifier: Apache-2.0
// Implementation of trouble_report.h.
#include "app/trouble_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "app/terminal.h"

namespace berth {

bool TroubleReport::HasFaults() const {
  return unconfirmed > 0 || std::any_of(troubles.begin(), troubles.end(),
                                        [](const PluginTrouble& of) { return of.faults > 0; });
}

int TroubleReport::ExitStatus(int status) const {
  return status == 0 && HasFaults() ? kPluginFaultStatus : status;
}

void TroubleReport::WriteTo(JsonWriter& json) const {
  json.Key("troubles").BeginArray();
  for (const PluginTrouble& trouble : troubles) {
    json.BeginObject().Key("plugin").String(trouble.plugin).Key("point").String(trouble.point);
    json.Key("faults").Int(trouble.faults).Key("firstFault").String(trouble.first_fault);
    json.Key("slowCalls").Int(trouble.slow_calls);
    json.Key("slowestSeconds").Double(absl::ToDoubleSeconds(trouble.slowest)).EndObject();
  }
  json.EndArray().Key("unconfirmed").Int(unconfirmed);
}

std::string TroubleReport::ToTable() const {
  std::string text;
  if (!troubles.empty()) {
    TextTable table({"PLUGIN TROUBLE", "AT", "FAULTS", "SLOW CALLS", "SLOWEST", "FIRST FAULT"});
    for (const PluginTrouble& trouble : troubles) {
      table.AddRow({trouble.plugin, trouble.point, Thousands(trouble.faults),
                    Thousands(trouble.slow_calls),
                    trouble.slow_calls > 0 ? ShortDuration(trouble.slowest) : "-",
                    trouble.first_fault.empty() ? "-" : trouble.first_fault});
    }
    absl::StrAppend(&text, table.ToString(), "\n");
  }
  if (unconfirmed > 0) {
    absl::StrAppend(&text, Thousands(unconfirmed), unconfirmed == 1 ? " node was" : " nodes were",
                    " accepted by a plugin's FilterNodes and refused by its Filter\n\n");
  }
  return text;
}

}  // namespace berth
