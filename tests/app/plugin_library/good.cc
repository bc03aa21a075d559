// SPDX-License-Identifier: Apache-2.0
// A library with one plugin, which lets no pod run anywhere.
#include "berth/framework/filter.h"
#include "berth/plugin_library.h"

namespace {

class Nowhere final : public berth::Plugin, public berth::FilterPlugin {
 public:
  static absl::StatusOr<std::unique_ptr<berth::Plugin>> Create(const berth::PluginArgs&,
                                                               berth::Handle&) {
    return std::make_unique<Nowhere>();
  }
  absl::string_view Name() const override { return "Nowhere"; }
  berth::Status Filter(const berth::CycleState&, const berth::PodInfo&,
                       const berth::NodeInfo&) const override {
    return berth::Status::Unschedulable("the library says no");
  }
};

}  // namespace

BERTH_PLUGIN_LIBRARY({berth::WithPlugin("Nowhere", &Nowhere::Create)})
