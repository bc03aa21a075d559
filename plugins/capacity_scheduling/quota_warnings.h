// SPDX-License-Identifier: Apache-2.0
// Tells people of quotas that contradict each other, while the scheduler runs.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_WARNINGS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_WARNINGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/framework/handle.h"
#include "berth/quota/quota_spec.h"
#include "plugins/capacity_scheduling/quota_status.h"

namespace berth {

// Says what `berth validate` says of a set of quotas: in a Warning event about each quota, and so
// in the log; QuotaStatus says it in a condition of ClusterQuotas. Says it once, and again when it
// has changed: of kMostAtOnce quotas in kPause at most, the others follow. Nodes that came or went
// are looked at once in kPauseOfNodes. Also of DeviceClasses that say what their devices count as
// and cannot be read. Scheduling thread.
class QuotaWarnings {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(5);
  static constexpr absl::Duration kPauseOfNodes = absl::Minutes(1);
  static constexpr int kMostAtOnce = 50;

  // All outlive this; `plugin` is the name that timers are counted under.
  QuotaWarnings(Handle& handle, QuotaStatus& status, absl::string_view plugin)
      : handle_(handle), status_(status), plugin_(plugin), told_(handle.Shared<ToldOfQuotas>()) {}

  // Everything that exists is known: before that nothing is said.
  void Begin();
  // Quotas and nodes may be others than before. Costs little if they are not.
  void Look();

 private:
  bool QuotasChanged();
  bool NodesChanged();
  void TellSoon();
  void TellAll();
  void TellOfClasses();
  QuotaAmounts Capacity(absl::Span<const QuotaSpec> specs) const;

  Handle& handle_;
  QuotaStatus& status_;
  const std::string plugin_;
  const std::shared_ptr<ToldOfQuotas> told_;
  bool begun_ = false;
  bool has_quotas_ = false;
  uint64_t elastic_version_ = 0, cluster_version_ = 0, class_version_ = 0;
  std::optional<uint64_t> nodes_version_;
  bool timer_is_set_ = false;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_WARNINGS_H_
