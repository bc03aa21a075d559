// SPDX-License-Identifier: Apache-2.0
// A Filter plugin that schedulers ask over gRPC, so that it cannot crash with them: nodes labelled
// example.com/keep-for=X take only pods whose label example.com/purpose is X.
//
//   served_plugin unix:/PATH
#include <iostream>

#include "berth/framework/filter.h"
#include "berth/framework/plugin.h"
#include "berth/framework/registry.h"
#include "berth/remote_plugins.h"

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

int main(int argc, char** argv) {
  const auto server =
      berth::PluginServer::Start({.registration = berth::WithPlugin("KeepFor", &KeepFor::Create),
                                  .version = "1.0",
                                  // What the verdicts read: pods of the same labels share them.
                                  .is_signed = true,
                                  .signature = {"metadata.labels"},
                                  .depends_on = {"NodeLabels"}},
                                 {.address = argc > 1 ? argv[1] : ""});
  if (!server.ok()) {
    std::cerr << server.status() << "\n";
    return 1;
  }
  (*server)->Wait();
}
