// SPDX-License-Identifier: Apache-2.0
// PodState: prefers nodes that pods are about to leave to nodes that pods are about to enter.
#ifndef BERTH_PLUGINS_POD_STATE_POD_STATE_H_
#define BERTH_PLUGINS_POD_STATE_POD_STATE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"

namespace berth {

// The number of terminating pods minus that of nominated pods. Does not sign pods: nominations may
// change at any time. As scheduler-plugins podstate.
class PodState final : public Plugin, public ScorePlugin, public ScoreExtensions {
 public:
  static constexpr absl::string_view kName = "PodState";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit PodState(Handle& handle) : handle_(handle) {}

  absl::string_view Name() const override { return kName; }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo&,
                                const NodeInfo& node) const override;
  // From the lowest to the highest score; all 0 if they are equal.
  absl::Status NormalizeScores(const CycleState&, const PodInfo&, absl::Span<const NodeRow>,
                               absl::Span<int64_t> scores) const override;

 private:
  Handle& handle_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_POD_STATE_POD_STATE_H_
