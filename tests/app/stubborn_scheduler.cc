// SPDX-License-Identifier: Apache-2.0
// A custom scheduler whose plugin blocks on pods with the annotation "stubborn", and rejects all
// others on nodes that are not named "mine".
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/command.h"
#include "berth/framework/args.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"

namespace {

class Stubborn final : public berth::Plugin, public berth::FilterPlugin {
 public:
  static absl::StatusOr<std::unique_ptr<berth::Plugin>> Create(const berth::PluginArgs&,
                                                               berth::Handle&) {
    return std::make_unique<Stubborn>();
  }
  absl::string_view Name() const override { return "Stubborn"; }
  berth::Status Filter(const berth::CycleState&, const berth::PodInfo& pod,
                       const berth::NodeInfo& node) const override {
    while (pod.object().metadata().annotations().contains("stubborn")) {
      absl::SleepFor(absl::Seconds(1));
    }
    if (node.name().view() == "mine") return berth::Status::Success();
    return berth::Status::Unschedulable("not mine");
  }
};

}  // namespace

int main(int argc, char** argv) {
  return berth::RunSchedulerCommand(argc, argv, {berth::WithPlugin("Stubborn", &Stubborn::Create)});
}
