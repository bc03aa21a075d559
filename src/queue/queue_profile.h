// SPDX-License-Identifier: Apache-2.0
// What the queue must know of a profile.
#ifndef BERTH_SRC_QUEUE_QUEUE_PROFILE_H_
#define BERTH_SRC_QUEUE_QUEUE_PROFILE_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "berth/extensions/group.h"
#include "queue/event_table.h"

namespace berth {

// The plugins outlive the queue.
struct QueueProfile {
  Symbol name;  // schedulerName
  // Every plugin that can reject, with its events; only the timeout requeues pods of a plugin that
  // is not listed.
  std::vector<PluginEvents> plugins;
  // All PreEnqueue plugins, `first` (if not empty) before the others; a rejection names its plugin.
  // Absent: no gates.
  std::function<Status(const PodInfo&, Symbol first)> pre_enqueue;
  // Asked for ReadyToSchedule() and for the creation time of groups; null: groups are always ready.
  const GroupPlugin* group_plugin = nullptr;
  Symbol group_plugin_name;
};

// Null if there is none.
inline const QueueProfile* FindProfile(absl::Span<const QueueProfile> profiles, Symbol name) {
  for (const QueueProfile& profile : profiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_QUEUE_PROFILE_H_
