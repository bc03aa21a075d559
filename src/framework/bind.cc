// PreBindPreFlight for plugins that always have something to do.
#include "berth/framework/bind.h"

namespace berth {

Status PreBindPlugin::PreBindPreFlight(CycleState&, const PodInfo&, absl::string_view) {
  return Status::Success();
}

}  // namespace berth
