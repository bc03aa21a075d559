// SPDX-License-Identifier: Apache-2.0
// PrioritySort: the default order of the queue.
#ifndef BERTH_PLUGINS_PRIORITY_SORT_PRIORITY_SORT_H_
#define BERTH_PLUGINS_PRIORITY_SORT_PRIORITY_SORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/queue_sort.h"

namespace berth {

// Higher priority first, then the pod that was queued earlier. As kube-scheduler v1.35 queuesort.
class PrioritySort final : public Plugin, public QueueSortPlugin {
 public:
  static constexpr absl::string_view kName = "PrioritySort";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override;
  bool IsByPriorityAndTime() const override { return true; }
};

}  // namespace berth

#endif  // BERTH_PLUGINS_PRIORITY_SORT_PRIORITY_SORT_H_
