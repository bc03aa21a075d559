// SPDX-License-Identifier: Apache-2.0
// QOSSort: orders the queue by priority, then by quality-of-service class.
#ifndef BERTH_PLUGINS_QOS_SORT_QOS_SORT_H_
#define BERTH_PLUGINS_QOS_SORT_QOS_SORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/queue_sort.h"

namespace berth {

// Higher priority first; then Guaranteed, Burstable, BestEffort; then the pod that was queued
// earlier. As scheduler-plugins qos.
class QosSort final : public Plugin, public QueueSortPlugin {
 public:
  static constexpr absl::string_view kName = "QOSSort";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);

  absl::string_view Name() const override { return kName; }
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_QOS_SORT_QOS_SORT_H_
