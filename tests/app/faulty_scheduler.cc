// SPDX-License-Identifier: Apache-2.0
// A custom scheduler whose plugin does to each pod what the label "do" says: throws where it is
// asked to, or has the pod tried again and again.
#include <memory>
#include <stdexcept>
#include <string>

#include "berth/columns/node_table.h"
#include "berth/command.h"
#include "berth/framework/args.h"
#include "berth/framework/bind.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/prefilter.h"

namespace {

class Faulty final : public berth::Plugin,
                     public berth::PreFilterPlugin,
                     public berth::FilterPlugin,
                     public berth::PermitPlugin,
                     public berth::PostBindPlugin {
 public:
  explicit Faulty(berth::Handle& handle) : handle_(handle) {}
  static absl::StatusOr<std::unique_ptr<berth::Plugin>> Create(const berth::PluginArgs&,
                                                               berth::Handle& handle) {
    return std::make_unique<Faulty>(handle);
  }
  absl::string_view Name() const override { return "Faulty"; }

  berth::Status PreFilter(berth::CycleState&, const berth::PodInfo& pod, const berth::NodeTable&,
                          berth::PreFilterResult&) override {
    handle_.CounterOf("Faulty/asked").Add();
    if (!Is(pod, "again")) return berth::Status::Success();
    const std::shared_ptr<const berth::PodInfo> same = berth::PodInfo::Create(pod.packed()).value();
    handle_.Activate({&same, 1});
    return berth::Status::Unschedulable("again");
  }
  berth::Status Filter(const berth::CycleState&, const berth::PodInfo& pod,
                       const berth::NodeInfo&) const override {
    if (Is(pod, "filter")) throw std::runtime_error("no filter");
    return berth::Status::Success();
  }
  berth::Status Permit(berth::CycleState&, const berth::PodInfo& pod, absl::string_view,
                       absl::Duration& timeout) override {
    if (!Is(pod, "hold")) return berth::Status::Success();
    timeout = absl::Hours(1);
    return berth::Status::Wait();
  }
  void PostBind(berth::CycleState&, const berth::PodInfo& pod, absl::string_view) override {
    if (Is(pod, "postbind")) throw std::runtime_error("no postbind");
  }

 private:
  static bool Is(const berth::PodInfo& pod, absl::string_view what) {
    const berth::Symbol* const wanted = pod.labels().Find("do");
    return wanted != nullptr && wanted->view() == what;
  }

  berth::Handle& handle_;
};

}  // namespace

int main(int argc, char** argv) {
  return berth::RunSchedulerCommand(argc, argv, {berth::WithPlugin("Faulty", &Faulty::Create)});
}
