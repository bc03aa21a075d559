// SPDX-License-Identifier: Apache-2.0
// The Filter plugin of examples/filter_plugin as a library for `berth --plugin-library`: nodes
// labelled example.com/keep-for=X take only pods whose label example.com/purpose is X.
#include "berth/framework/filter.h"
#include "berth/framework/plugin.h"
#include "berth/plugin_library.h"

namespace {

class KeepFor final : public berth::Plugin, public berth::FilterPlugin {
 public:
  static absl::StatusOr<std::unique_ptr<berth::Plugin>> Create(const berth::PluginArgs&,
                                                               berth::Handle&) {
    return std::make_unique<KeepFor>();
  }

  absl::string_view Name() const override { return "KeepFor"; }

  berth::Status Filter(const berth::CycleState&, const berth::PodInfo& pod,
                       const berth::NodeInfo& node) const override {
    const berth::Symbol* kept_for = node.labels().Find("example.com/keep-for");
    if (kept_for == nullptr) return berth::Status::Success();
    const berth::Symbol* purpose = pod.labels().Find("example.com/purpose");
    if (purpose != nullptr && *purpose == *kept_for) return berth::Status::Success();
    return berth::Status::UnschedulableAndUnresolvable("node(s) were kept for another purpose");
  }
};

}  // namespace

BERTH_PLUGIN_LIBRARY({berth::WithPlugin("KeepFor", &KeepFor::Create)})
