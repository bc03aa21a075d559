// SPDX-License-Identifier: Apache-2.0
// What went wrong with plugins, for machines and for people.
#ifndef BERTH_SRC_APP_TROUBLE_REPORT_H_
#define BERTH_SRC_APP_TROUBLE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/json.h"
#include "berth/scheduler.h"

namespace berth {

// The exit status when plugins are at fault though everything else went well.
inline constexpr int kPluginFaultStatus = 3;

struct TroubleReport {
  std::vector<PluginTrouble> troubles;
  int64_t unconfirmed = 0;  // SchedulerCounters

  // A plugin threw, or answered what it may not. Being slow is no fault.
  bool HasFaults() const;
  // `status`, or kPluginFaultStatus if that is 0 and there are faults.
  int ExitStatus(int status) const;
  // "troubles":[…],"unconfirmed":n
  void WriteTo(JsonWriter& json) const;
  // A table with a line for each plugin and point, and an empty line; "" if nothing went wrong.
  std::string ToTable() const;
};

}  // namespace berth

#endif  // BERTH_SRC_APP_TROUBLE_REPORT_H_
