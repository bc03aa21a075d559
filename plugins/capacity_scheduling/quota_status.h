// SPDX-License-Identifier: Apache-2.0
// Writes what ClusterQuotas use into their statuses.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATUS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATUS_H_

#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/handle.h"
#include "plugins/capacity_scheduling/quota_book.h"

namespace berth {

// The reason of events and conditions of quotas that contradict themselves or others.
inline constexpr absl::string_view kContradictoryQuota = "ContradictoryQuota";

// Of each quota that contradicts itself or others, by uid: what is wrong, and what was said last,
// by whichever profile.
struct ToldOfQuotas {
  absl::flat_hash_map<std::string, std::string> texts;
  absl::flat_hash_map<std::string, std::string> wrong;
  absl::flat_hash_map<std::string, std::string> classes;  // DeviceClasses
};

// Looks at all quotas some time after something changed, and writes the statuses that differ: of
// each quota at most one in kPause, and of all at most kMostWrites in that time, the longest
// unwritten first. What was not written then follows. The condition Consistent comes with what
// ToldOfQuotas says, and stays, as True, when that is over. One a profile with the plugin; of
// several the second finds nothing to write. Scheduling thread.
class QuotaStatus {
 public:
  static constexpr absl::Duration kPause = absl::Seconds(5);
  static constexpr int kMostWrites = 50;

  // All outlive this; `plugin` is the name that timers are counted under.
  QuotaStatus(Handle& handle, QuotaBook& book, absl::string_view plugin)
      : handle_(handle), book_(book), plugin_(plugin), told_(handle.Shared<ToldOfQuotas>()) {}

  // Everything that exists is known: before that nothing is written.
  void Begin();
  // Something was charged or is wanted.
  void Touch() {
    if (begun_ && !timer_is_set_ && book_.has_tree()) SetTimer();
  }

 private:
  void SetTimer();
  void WriteAll();

  Handle& handle_;
  QuotaBook& book_;
  const std::string plugin_;
  const std::shared_ptr<const ToldOfQuotas> told_;
  bool begun_ = false;
  bool timer_is_set_ = false;
  absl::Time last_ = absl::InfinitePast();
  QuotaId next_ = 1;  // where the next pass begins
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_STATUS_H_
