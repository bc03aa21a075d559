// SPDX-License-Identifier: Apache-2.0
// Implementation of group_warnings.h.
#include "app/group_warnings.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/input.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/group_marks.h"
#include "berth/api/pod_status.h"
#include "engine/profiles.h"
#include "engine/rejection_reasons.h"

namespace berth {
namespace {

// The mark that names the pod's gang, of those that some plugin reads; null if it has none or is
// not pending.
const GroupMark* MarkOfPending(const PackedPod& pod) {
  const GroupMark* mark = nullptr;
  pod.ReadOwn([&](const api::Pod& own) {
    if (!own.spec().node_name().empty() || HasEnded(own.status())) return;
    mark = GroupMarkOf(own.metadata(), pod.shape()->spec());
  });
  return mark != nullptr && !mark->reader.empty() ? mark : nullptr;
}

struct PodsAlone {
  Problem warning;  // about the first
  int pods = 0;
};

}  // namespace

void WarnOfPodsAlone(const KubeSchedulerConfiguration& configuration, const Registry& registry,
                     const std::vector<Object>& objects) {
  const RealClock clock;
  RandomSequence random(0);
  const ClusterState cluster;
  Problems problems;
  const std::unique_ptr<Profiles> profiles =
      Profiles::Create(configuration, registry, cluster, clock, random, nullptr, problems);
  if (profiles == nullptr) return;  // that is said elsewhere
  std::map<std::pair<std::string, absl::string_view>, PodsAlone> found;
  for (const Object& object : objects) {
    if (object.kind() != Kind::kPod) continue;
    const std::shared_ptr<const PackedPod> pod = object.packed();
    const std::string& named = pod->shape()->spec().scheduler_name();
    const Framework* framework =
        profiles->Find(Symbol::Intern(named.empty() ? "default-scheduler" : named));
    if (framework == nullptr || framework->group_plugin() != nullptr) continue;
    const GroupMark* mark = MarkOfPending(*pod);
    if (mark == nullptr) continue;
    PodsAlone& alone = found[{framework->profile().scheduler_name, mark->name}];
    if (alone.pods++ > 0) continue;
    const auto info = PodInfo::Create(pod);
    alone.warning = {.where = object.where(),
                     .subject = object.ToString(),
                     .message = absl::StrCat("is placed on its own: ",
                                             info.ok() ? WhyAlone(*framework, **info) : ""),
                     .severity = Severity::kWarning};
  }
  Problems warnings;
  for (auto& [key, alone] : found) {
    if (alone.pods > 1) {
      absl::StrAppend(&alone.warning.message, " (and ", alone.pods - 1, " more like this)");
    }
    warnings.Add(std::move(alone.warning));
  }
  PrintProblems(warnings);
}

}  // namespace berth
