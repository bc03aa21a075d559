// SPDX-License-Identifier: Apache-2.0
// Buddies: two pods of a namespace that name each other in the label example.com/buddy are bound
// together. The first to be placed waits up to a minute for the other.
#ifndef BERTH_EXAMPLES_PERMIT_PLUGIN_BUDDIES_H_
#define BERTH_EXAMPLES_PERMIT_PLUGIN_BUDDIES_H_

#include <string>

#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/registry.h"

class Buddies final : public berth::Plugin, public berth::PermitPlugin {
 public:
  static absl::StatusOr<std::unique_ptr<berth::Plugin>> Create(const berth::PluginArgs&,
                                                               berth::Handle& handle) {
    return std::make_unique<Buddies>(handle);
  }
  explicit Buddies(berth::Handle& handle) : handle_(handle) {}

  absl::string_view Name() const override { return "Buddies"; }

  berth::Status Permit(berth::CycleState&, const berth::PodInfo& pod, absl::string_view,
                       absl::Duration& timeout) override {
    const berth::Symbol* buddy = pod.labels().Find("example.com/buddy");
    if (buddy == nullptr) return berth::Status::Success();
    bool placed = false;
    handle_.ForEachWaitingPod([&](berth::WaitingPod& waiting) {
      if (waiting.pod().namespace_name() != pod.namespace_name() ||
          waiting.pod().name() != buddy->view()) {
        return;
      }
      waiting.Allow(Name());
      placed = true;
    });
    if (placed) return berth::Status::Success();
    timeout = absl::Minutes(1);
    return berth::Status::Wait();
  }

 private:
  berth::Handle& handle_;
};

#endif  // BERTH_EXAMPLES_PERMIT_PLUGIN_BUDDIES_H_
