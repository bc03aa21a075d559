// SPDX-License-Identifier: Apache-2.0
// QuotaReporter: what quotas guarantee, allow and have in use.
#ifndef BERTH_EXTENSIONS_QUOTA_REPORT_H_
#define BERTH_EXTENSIONS_QUOTA_REPORT_H_

#include <optional>
#include <string>
#include <vector>

namespace berth {

// One resource of one quota, in the unit that quantities of the resource have: CPUs, bytes, pieces.
struct QuotaFigure {
  std::string quota;               // "team-a"; of a kind with namespaces "namespace/name"; "": all
  std::string resource;            // as the quota names it: "cpu", "nvidia.com/gpu"
  std::optional<double> min, max;  // absent if the quota does not say
  double used = 0;                 // what pods with a node are charged, at and below the quota
};

// Optional, for plugins that keep quotas: what they say is shown as metrics.
class QuotaReporter {
 public:
  virtual ~QuotaReporter() = default;

  // One entry for each resource that a quota names; no two of one quota and resource. Scheduling
  // thread, between attempts; called once a second at most, and only if metrics are kept.
  virtual std::vector<QuotaFigure> ReportQuotas() = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_QUOTA_REPORT_H_
