// SPDX-License-Identifier: Apache-2.0
// Implementation of mark_warnings.h.
#include "app/mark_warnings.h"

#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "api/group_marks.h"
#include "app/input.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/extensions/unread_fields.h"
#include "berth/gpu/request_marks.h"
#include "engine/framework_set.h"
#include "engine/rejection_reasons.h"

namespace berth {
namespace {

// Marks of a pod that some plugin reads.
struct PodMarks {
  const GroupMark* group = nullptr;  // that names its gang
  absl::string_view gpus;            // the annotation that asks for GPUs
};

// None of a pod that is not pending.
PodMarks MarksOfPending(const PackedPod& pod) {
  PodMarks marks;
  pod.ReadOwn([&](const api::Pod& own) {
    if (!own.spec().node_name().empty() || HasEnded(own.status())) return;
    marks.group = GroupMarkOf(own.metadata(), pod.shape()->spec());
    if (marks.group != nullptr && marks.group->reader.empty()) marks.group = nullptr;
    if (own.metadata().annotations().empty()) return;
    const auto gpus = absl::c_find_if(kGpuRequestMarks, [&](absl::string_view mark) {
      return own.metadata().annotations().contains(std::string(mark));
    });
    if (gpus != std::end(kGpuRequestMarks)) marks.gpus = *gpus;
  });
  return marks;
}

bool ReadsGpuRequests(const Framework& framework) {
  return absl::c_any_of(framework.plugins().filter, [](const Hook<FilterPlugin>& hook) {
    return hook.name.view() == kGpuRequestReader;
  });
}

// One warning a profile and mark.
class MarkWarnings {
 public:
  // `why` makes the message of the first.
  template <class Why>
  void Add(const Framework& framework, absl::string_view mark, const Object& object,
           const Why& why) {
    Unread& unread = unread_[{framework.profile().scheduler_name, mark}];
    if (unread.objects++ > 0) return;
    unread.warning = {.where = object.where(),
                      .subject = object.ToString(),
                      .message = why(),
                      .severity = Severity::kWarning};
  }
  void Print() const {
    Problems warnings;
    for (const auto& [key, unread] : unread_) {
      Problem warning = unread.warning;
      if (unread.objects > 1) {
        absl::StrAppend(&warning.message, " (and ", unread.objects - 1, " more like this)");
      }
      warnings.Add(std::move(warning));
    }
    PrintProblems(warnings);
  }

 private:
  struct Unread {
    Problem warning;  // about the first
    int objects = 0;
  };
  std::map<std::pair<std::string, absl::string_view>, Unread> unread_;
};

// The first plugin of any profile that ignores fields: those that share their objects, as devices,
// have the same arguments in all.
void AddUnreadFields(const KubeSchedulerConfiguration& configuration, const FrameworkSet& profiles,
                     const std::vector<Object>& objects, MarkWarnings& warnings) {
  for (const Profile& profile : configuration.profiles) {
    const Framework* const framework = profiles.Find(Symbol::Intern(profile.scheduler_name));
    for (const Hook<FilterPlugin>& hook : framework->plugins().filter) {
      const auto* const reader = dynamic_cast<const UnreadFields*>(hook.plugin);
      if (reader == nullptr) continue;
      for (const Object& object : objects) {
        for (const UnreadField& field : reader->UnreadIn(object)) {
          warnings.Add(*framework, field.cause, object, [&] { return field.message; });
        }
      }
      return;
    }
  }
}

}  // namespace

void WarnOfUnreadMarks(const KubeSchedulerConfiguration& configuration, const Registry& registry,
                       const std::vector<Object>& objects) {
  const RealClock clock;
  RandomSequence random(0);
  const ClusterState cluster;
  Problems problems;
  const std::unique_ptr<FrameworkSet> profiles =
      FrameworkSet::Create(configuration, registry, cluster, clock, random, nullptr, problems);
  if (profiles == nullptr) return;  // that is said elsewhere
  MarkWarnings warnings;
  for (const Object& object : objects) {
    if (object.kind() != Kind::kPod) continue;
    const std::shared_ptr<const PackedPod> pod = object.packed();
    const std::string& named = pod->shape()->spec().scheduler_name();
    const Framework* framework =
        profiles->Find(Symbol::Intern(named.empty() ? "default-scheduler" : named));
    if (framework == nullptr) continue;
    const PodMarks marks = MarksOfPending(*pod);
    if (marks.group != nullptr) {
      const auto info = PodInfo::Create(pod);
      const std::string why = info.ok() ? WhyAlone(*framework, **info) : "";
      if (!why.empty()) {
        warnings.Add(*framework, marks.group->name, object,
                     [&] { return absl::StrCat("is placed on its own: ", why); });
      }
    }
    if (!marks.gpus.empty() && !ReadsGpuRequests(*framework)) {
      warnings.Add(*framework, marks.gpus, object, [&] {
        return absl::StrCat("is given no GPU: it asks by the annotation ", marks.gpus, ", which ",
                            framework->profile().Title(), " does not read; enable ",
                            kGpuRequestReader, " in it");
      });
    }
  }
  AddUnreadFields(configuration, *profiles, objects, warnings);
  warnings.Print();
}

}  // namespace berth
