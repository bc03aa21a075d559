// SPDX-License-Identifier: Apache-2.0
// DefaultBinder: binds pods through the cluster backend.
#ifndef BERTH_PLUGINS_DEFAULT_BINDER_DEFAULT_BINDER_H_
#define BERTH_PLUGINS_DEFAULT_BINDER_DEFAULT_BINDER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/framework/args.h"
#include "berth/framework/bind.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace berth {

// As kube-scheduler v1.35 defaultbinder.
class DefaultBinder final : public Plugin, public BindPlugin {
 public:
  static constexpr absl::string_view kName = "DefaultBinder";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit DefaultBinder(Handle& handle) : handle_(handle) {}

  absl::string_view Name() const override { return kName; }
  Status Bind(CycleState& state, const PodInfo& pod, absl::string_view node_name) override;

 private:
  Handle& handle_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DEFAULT_BINDER_DEFAULT_BINDER_H_
