// SPDX-License-Identifier: Apache-2.0
// The binding of DefaultBinder.
#include "plugins/default_binder/default_binder.h"

namespace berth {

absl::StatusOr<std::unique_ptr<Plugin>> DefaultBinder::Create(const PluginArgs&, Handle& handle) {
  return std::make_unique<DefaultBinder>(handle);
}

Status DefaultBinder::Bind(CycleState& state, const PodInfo& pod, absl::string_view node_name) {
  const absl::Status bound = handle_.Bind(pod, node_name, BindMetadataOf(state));
  return bound.ok() ? Status::Success() : Status::Error(bound);
}

}  // namespace berth
